"""Brokers of another release than the lab's own: their logs are read like those of 4.3.1."""

import re
from itertools import permutations

import pytest

from collectors.files import discover
from engine.ingest.raw_files import Origin, write_raw
from lab import cluster, load, topics
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.produce_held import PRODUCE_HELD
from schemas.silver.not_kept import QUARANTINE
from serving.report.run.gold_of_files import rows_of_files
from tests.live.share_consumer import share_consumer

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("c1_brokers")]

VERSION = "4.4.0"
SHARED = "shared"
STACK_TRACE = re.compile(rb"(Caused by: )?[\w.$]+(Exception|Error)(: .*)?")
"""
The lines of a stack trace that docs/quarantine.md leaves in quarantine. On a busy machine the controller
moves, and a client of a broker logs a NotControllerException.
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Produce with acks=all and read as a share group, then build every table of a report from the logs."""
    folder = tmp_path_factory.mktemp("other")
    lab = cluster.start(folder / "lab", kafka_version=VERSION)
    try:
        assert cluster.status(lab.state)["kafka_version"] == VERSION
        topics.create_load_topic(lab, name=SHARED)
        with share_consumer(lab, SHARED):
            load.begin(lab, load.Load(records_per_s=100, topic=SHARED, duration_s=8)).wait()
    finally:
        cluster.stop(lab.state)
    logs = lab.state / "logs"
    for broker in lab.brokers:
        assert f"Kafka version: {VERSION}" in (logs / f"broker-{broker.id}" / "server.log").read_text()
    origin = Origin(folder=logs, cluster="lab", time_zone="UTC")
    found = discover(logs)
    write_raw(found.understood, origin, folder / "raw", on_file=lambda _file: None)
    return rows_of_files(folder / "raw", folder, {})


def test_no_line_is_quarantined_but_heads_of_stack_traces(rows):
    quarantined = [(row["reason"], row["value"]) for row in rows[QUARANTINE].to_pylist()]
    others = [(reason, value) for reason, value in quarantined if not STACK_TRACE.fullmatch(value)]

    assert others == []
    assert {reason for reason, _ in quarantined} <= {"no_timestamp"}


def test_fetches_of_all_kinds_have_a_latency_and_those_of_every_pair_a_true_one(rows):
    fetches = rows[FETCH_LATENCY].to_pylist()

    assert {row["kind"] for row in fetches} == {"follower", "raft", "share"}
    followers = [row for row in fetches if row["kind"] == "follower" and row["n_true"]]
    known = {(row["follower_id"], row["leader_id"]) for row in followers}
    assert known == set(permutations((1, 2, 3), 2))
    assert all(row["leader_local_p50_ms"] > 0 for row in fetches)


def test_followers_that_release_produce_are_named(rows):
    released = [row for row in rows[PRODUCE_HELD].to_pylist() if row["follower_id"] is not None]

    assert {row["topic"] for row in released} == {SHARED}
    assert {row["leader_id"] for row in released if row["n_released"]} == {1, 2, 3}
