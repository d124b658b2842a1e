"""From a real Prometheus to silver: the same samples bit for bit, and the same series ids as a scrape."""

import math
import random
import struct

import pytest

from collectors.backfill.pages import Pages
from collectors.backfill.prometheus import PrometheusClient
from conf.settings import Prometheus
from schemas.silver.metrics import METRIC_SAMPLES
from tests.collectors.real_prometheus import BASE_S, RealPrometheus
from tests.engine.ingest.parsed import parsed
from tests.transforms.parse.raw_rows import arrow_raw

SPECIAL = ("NaN", "+Inf", "-Inf", "-0.0", "5e-324", "1.7976931348623157e+308", "1e+22", "1.5e-05")
LABELS = r'topic="a\\b\"c\nd-ü"'


@pytest.fixture
def server(tmp_path):
    dice = random.Random(11)
    doubles = [struct.unpack(">d", dice.randbytes(8))[0] for _ in range(1_000)]
    values = [*SPECIAL, *(repr(value) for value in doubles if not math.isnan(value))]
    server = RealPrometheus(tmp_path / "server")
    server.values = values
    server.fill(
        "# TYPE kafka_x gauge",
        *(f'kafka_x{{instance="b1:1",job="k",{LABELS}}} {v} {BASE_S + nth}' for nth, v in enumerate(values)),
    )
    yield server.start()
    server.stop()


def bits(values):
    return ["NaN" if math.isnan(value) else struct.pack(">d", value).hex() for value in values]


def samples(pages, folder):
    silver, _ = parsed(arrow_raw(pages), folder)
    return silver[METRIC_SAMPLES].to_table().sort_by("at").to_pylist()


def test_samples_of_a_server_are_in_silver_with_the_series_id_of_a_scrape(server, tmp_path):
    prometheus = Prometheus(nodes={"b1:1": "broker-1"})
    pages = Pages(prometheus, server.url)
    pages.begin(BASE_S * 1_000, (BASE_S + 3_600) * 1_000)
    series = PrometheusClient(server.url, prometheus).samples(
        ["kafka_x"], BASE_S * 1_000, (BASE_S + 3_600) * 1_000
    )
    lines = [*pages.add(series), *pages.rest()]
    rows = [
        {"value": line.value, "node": line.node, "position": line.position, "kind": "metrics"}
        for line in lines
    ]
    scraped = {
        "value": f"kafka_x{{{LABELS}}} 1\n".encode(),
        "node": "broker-1",
        "position": "broker-1/scrape/1795252768987716710",
        "kind": "metrics",
    }
    filled = samples(rows, tmp_path / "filled")
    [ours] = samples([scraped], tmp_path / "scraped")

    assert bits(row["value"] for row in filled) == bits(float(value) for value in server.values)
    assert {row["series_id"] for row in filled} == {ours["series_id"]}
    assert [row["at"].timestamp() for row in filled] == [BASE_S + nth for nth in range(len(server.values))]
