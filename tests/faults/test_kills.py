"""
Ingest and gold killed, as by `kill -9`, at every named place: nothing is lost or doubled.

A twin warehouse reads the same topics undisturbed; every row of bronze, silver and gold must be the same.
"""

import random
from pathlib import Path

import pytest

from jobs.fail_points import POINTS
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.gold import BROKER_RTT, BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT, DATA_QUALITY, FETCH_LATENCY
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SKIPPED
from tests.faults import oracles
from tests.faults.site import Line, Site
from tests.jobs import made_logs

pytestmark = [pytest.mark.live, pytest.mark.faults]

INGESTED = (REQUEST_LOG, CLIENT_LOG, REQUESTS, CLIENT_EVENTS, QUARANTINE, SKIPPED)
GOLD = (FETCH_LATENCY, BROKER_RTT, BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT, DATA_QUALITY)
OF_INGEST = tuple(point for point in POINTS if not point.startswith("gold"))
OF_GOLD = tuple(point for point in POINTS if point.startswith("gold"))
SEED, KILLED = 7, -9
OF_ANOTHER_LOGGER = b"2026-11-21T11:04:10Z INFO Rolled new log segment (kafka.log.UnifiedLog)"


def made_lines(folder: Path) -> list[Line]:
    """Two minutes of three brokers, one link slow for the last; bad lines and another logger's in between."""
    made_logs.write_logs(folder, seconds=120, added_ms={(3, 1): 20.0}, onset_s=70)
    dice, lines = random.Random(SEED), list[Line]()
    for path in sorted(folder.rglob("*.log")):
        node, kind = path.parent.name, "request-log" if "request" in path.name else "client-log"
        written = path.read_bytes().splitlines()
        for nth in dice.sample(range(len(written)), 20):
            written[nth] = dice.choice([written[nth][:80], b"\x00\xff\xfe", OF_ANOTHER_LOGGER])
        lines += [Line(kind, node, f"{node}/{kind}/{nth}", line) for nth, line in enumerate(written)]
    dice.shuffle(lines)
    return lines


@pytest.fixture(scope="module")
def site(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    there = Site(lab.telemetry_bootstrap_servers, folder)
    lines = made_lines(folder / "logs")
    there.publish(lines)
    there.publish(random.Random(SEED).sample(lines, 50))  # sent again: gold must not count them twice
    return there


@pytest.fixture(scope="module")
def twin(site):
    """Read everything in one go, undisturbed."""
    written = site.warehouse("twin", batch=100_000)
    for code, told in (written.ingest(), written.build_gold()):
        assert code == 0, told
    return written


def test_killed_at_every_place_it_loses_and_doubles_nothing(site, twin):
    written = site.warehouse("killed", batch=300)
    for point in OF_INGEST:
        code, told = written.ingest(fail_at=f"{point}:2")
        assert code == KILLED, (point, told)
        assert oracles.bad_log(written.root, INGESTED) == [], point
    for moment in (0, 40, 150):
        code, told = written.ingest(fail_at=f"tasks-running:1+{moment}")
        assert code == KILLED, (moment, told)
    code, told = written.ingest()
    assert code == 0, told

    assert oracles.lost_or_doubled(written.root, site.ledger) == []
    assert oracles.unbalanced(written.root) == []
    assert oracles.bad_log(written.root, INGESTED) == []
    assert oracles.other_than_twin(written.root, twin.root, INGESTED) == []

    for point in OF_GOLD:
        code, told = written.build_gold(fail_at=point)
        assert code == KILLED, (point, told)
    code, told = written.build_gold()
    assert code == 0, told
    assert oracles.bad_log(written.root, GOLD) == []
    assert oracles.other_than_twin(written.root, twin.root, GOLD) == []
