"""Means from metrics alone equal those of the request logs of real brokers, also across a restart."""

import os
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow.compute as pc
import pytest
from confluent_kafka import Producer

from answers.fetches.leader_local_means import means as means_of
from collectors.files import discover
from collectors.scrape import ScrapeError, scrape
from conf.settings import ScrapedEndpoint, Settings
from engine.gold.inputs import WholeInputs
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import Origin, write_raw
from lab import crash, processes, topics
from lab.layout import LOAD_TOPIC, Lab
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.silver.requests import REQUESTS
from serving.report.run.gold_of_files import gold_rows
from tests.answers.selected import selected
from tests.live.slow_reader import SlowReader
from transforms.gold.leader_local_mean.table import BUILD
from transforms.gold.metrics.counters import increases, with_process_start
from transforms.gold.metrics.facts import load_samples
from transforms.sql import connect

pytestmark = [pytest.mark.live, pytest.mark.measures]

TOPIC, RESTARTED = "slowly-read", 2
EVERY_S, SCRAPES = 10, 7
MANY = 200
# Requests that are counted before they are logged, or that two threads finish at once.
SLACK = 3


def fill(lab):
    """Fill one partition on every broker with more bytes than one fetch returns."""
    topics.create_load_topic(lab, name=TOPIC, partitions=3, replication_factor=1)
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers, "batch.size": 900_000, "linger.ms": 50})
    for nth in range(480):
        producer.produce(TOPIC, value=bytes(20_000), partition=nth % 3)
        producer.poll(0)
    assert producer.flush(60) == 0


def scraped(lab, folder):
    """Save a scrape of every broker that answers; return the duration of each by broker and instant."""
    took_s = {}
    for broker in lab.brokers:
        started = time.monotonic()
        try:
            line = scrape(ScrapedEndpoint(url=broker.exporter_url, node=f"broker-{broker.id}"))
        except ScrapeError:
            continue
        at_ns = int(line.position.rsplit("/", 1)[1])
        took_s[broker.id, at_ns // 1000] = time.monotonic() - started
        page = folder / f"broker-{broker.id}" / f"{at_ns}.prom"
        page.parent.mkdir(exist_ok=True)
        page.write_bytes(line.value)
        os.utime(page, ns=(at_ns, at_ns))
    return took_s


@pytest.fixture(scope="module")
def recorded(lab, tmp_path_factory):
    """Read slowly from every broker, scrape every ten seconds, and restart one broker in the middle."""
    folder = tmp_path_factory.mktemp("means")
    logs = {
        broker.id: lab.state / "logs" / f"broker-{broker.id}" / "kafka-request.log" for broker in lab.brokers
    }
    fill(lab)
    began = {broker: log.stat().st_size for broker, log in logs.items()}
    ports = {broker.id: broker.client_port for broker in lab.brokers}
    readers = [
        SlowReader(ports[leader], TOPIC, partition, longest_ms=60)
        for partition, leader in topics.leaders(lab, TOPIC).items()
    ]
    # An exporter's first answer takes seconds, so its timestamp would not match its counters.
    scraped(lab, tmp_path_factory.mktemp("cold"))
    times, took_s = {"began": datetime.now(UTC)}, {}
    for reader in readers:
        reader.start()
    try:
        first = time.monotonic()
        for nth in range(SCRAPES):
            time.sleep(max(0.0, first + nth * EVERY_S - time.monotonic()))
            took_s |= scraped(lab, folder)
            if nth == SCRAPES // 2:
                time.sleep(EVERY_S / 3)
                times["ended"] = datetime.now(UTC)
                processes.end([Lab.load(lab.state).processes[f"broker-{RESTARTED}"]])
                times["down"] = datetime.now(UTC)
                crash.restart(lab.state, RESTARTED, LOAD_TOPIC)
                times["back"] = datetime.now(UTC)
    finally:
        for reader in readers:
            reader.end()
    for broker, log in logs.items():
        written = log.read_bytes()[began[broker] :]
        log_file = folder / f"broker-{broker}" / "kafka-request.log"
        log_file.write_bytes(written[: written.rfind(b"\n") + 1])
    return folder, times | {"took_s": took_s}


@pytest.fixture(scope="module")
def silver(recorded, tmp_path_factory):
    folder, _ = recorded
    scratch = tmp_path_factory.mktemp("silver")
    write_raw(
        discover(folder).understood,
        Origin(folder=folder, cluster="lab", time_zone="UTC"),
        scratch / "raw",
        on_file=lambda _file: None,
    )
    rows, _ = parse_files(raw_lines(scratch / "raw"), scratch / "silver", Settings())
    return rows


@pytest.fixture(scope="module")
def means(silver):
    return gold_rows([BUILD], WholeInputs(silver))[LEADER_LOCAL_MEAN]


def test_the_mean_from_metrics_alone_equals_that_of_the_request_log(means, recorded):
    _, times = recorded
    # A broker that had just started at the first scrape has a row from its start on, which the log lacks.
    covered = means.filter(pc.field("from_at") > times["began"])
    summary = means_of(selected({LEADER_LOCAL_MEAN: covered}))
    measured = [row for row in summary if row["is_within"] is not None and row["n"] >= MANY]
    for row in measured:
        names = ("node", "request", "n", "leader_local_mean_ms", "log_n", "difference_ms")
        print({name: row[name] for name in names})

    of_readers = [row for row in measured if row["request"] == "FetchConsumer"]
    assert {row["broker_id"] for row in of_readers} == {1, 2, 3}
    assert all(row["leader_local_mean_ms"] > 5 for row in of_readers)
    assert [row for row in measured if not row["is_within"]] == []


def bounds(row, ended, took_s):
    """Return the least and the most requests that ended between two scrapes, which take time themselves."""
    first, last = row["from_at"], row["to_at"]
    first_s, last_s = (
        took_s.get((RESTARTED, round(instant.timestamp() * 1e6)), 0.0) for instant in (first, last)
    )
    assert last_s > 0
    few = sum(first + timedelta(seconds=first_s) < at <= last for at in ended)
    many = sum(first < at <= last + timedelta(seconds=last_s) for at in ended)
    return few, many


def test_a_restart_loses_only_the_interval_of_its_down_time(means, silver, recorded):
    _, times = recorded
    rows = [
        row
        for row in means.sort_by("from_at").to_pylist()
        if (row["request"], row["broker_id"]) == ("FetchConsumer", RESTARTED)
        and row["from_at"] > times["began"]
    ]
    (after,) = [row for row in rows if row["is_reset"]]
    before = max(row["to_at"] for row in rows if row["to_at"] < after["from_at"])

    # Only the time from the last scrape of the old process to the start of the new one has no data.
    lost_s = (after["from_at"] - before).total_seconds()
    down_s = (times["back"] - times["ended"]).total_seconds()
    assert 0 < lost_s < EVERY_S + down_s
    assert times["down"].timestamp() - 1 <= after["from_at"].timestamp() <= times["back"].timestamp()
    apart = [other for one, other in pairwise(rows) if other["from_at"] > one["to_at"]]
    assert apart == [after]
    is_of_consumer = (pc.field("api") == "FETCH") & (pc.field("kind") == "consumer")
    is_counted = is_of_consumer & (pc.field("broker_id") == RESTARTED)
    ended = silver[REQUESTS].to_table(["logged_at"], filter=is_counted)["logged_at"].to_pylist()
    counted = [(row["n"], *bounds(row, ended, times["took_s"])) for row in rows]
    assert all(many > 0 for _, _, many in counted)
    assert [row for row in counted if not row[1] - SLACK <= row[0] <= row[2] + SLACK] == [], counted


def test_no_rate_is_negative(silver):
    inputs = WholeInputs(silver)
    counters = with_process_start(
        "SELECT * FROM samples WHERE statistic = 'count'",
        "SELECT * FROM samples WHERE meaning = 'process_start_s'",
    )
    with connect({}) as db:
        load_samples(db, inputs, "true")
        found = db.sql(increases(counters, "node")).to_arrow_table().to_pylist()

    assert [row for row in found if row["value_increase"] is None or row["value_increase"] < 0] == []
    assert any(row["is_reset"] for row in found)
