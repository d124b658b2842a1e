"""Fetches of real share consumers: a wait is no latency, whatever it is for, and Kafka's counters agree."""

import re
import time
import urllib.request
from pathlib import Path

import pytest

from answers.fetches.latency import fetches
from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from collectors.files import discover
from engine.ingest.raw_files import Origin, write_raw
from lab import load, topics
from lab.proxy.control import set_delay
from serving.report.run.gold_of_files import rows_of_files
from tests.live.share_consumer import group_stored_elsewhere, share_consumer

pytestmark = [pytest.mark.live, pytest.mark.measures]

IDLE, BUSY, FAR = "idle", "busy", "far"
RECORDS_PER_S = 300.0
MAX_WAIT_MS = 500.0
DELAY_MS = 50.0
OWN_WORK_MS = 25.0
"""More than the brokers' own work on this machine takes at the median, less than any injected wait."""

BEAN = re.compile(
    r'kafka_network_RequestMetrics_(Count|Mean)\{name="(\w+TimeMs)",request="ShareFetch",?\} ([-+.\dE]+)'
)


def produce(lab, topic, duration_s):
    work = load.Load(records_per_s=RECORDS_PER_S, topic=topic, duration_s=duration_s, linger_ms=0)
    load.begin(lab, work).wait()


@pytest.fixture(scope="module")
def recorded(lab, tmp_path_factory):
    """
    Read an empty topic and a busy one, then a third one while every link between brokers is slow.

    The third one has one partition, whose acknowledgements a share coordinator at another broker stores.
    """
    folder = tmp_path_factory.mktemp("share")
    logs = {broker.id: Path(broker.logs) / "kafka-request.log" for broker in lab.brokers}
    for topic, partitions in ((IDLE, 3), (BUSY, 3), (FAR, 1)):
        topics.create_load_topic(lab, name=topic, partitions=partitions, replication_factor=1)
    began = {broker: log.stat().st_size for broker, log in logs.items()}
    with share_consumer(lab, IDLE), share_consumer(lab, BUSY):
        produce(lab, BUSY, 6)
    pairs = list(lab.pairs())
    set_delay(lab.state, dict.fromkeys(pairs, DELAY_MS))
    try:
        with share_consumer(lab, FAR, group_stored_elsewhere(lab, FAR)):
            produce(lab, FAR, 5)
    finally:
        set_delay(lab.state, dict.fromkeys(pairs, 0.0))
    time.sleep(1)  # A request is counted before it is logged.
    pages = {}
    for broker in lab.brokers:
        with urllib.request.urlopen(broker.exporter_url) as page:  # noqa: S310 (the lab's own exporter)
            pages[broker.id] = page.read().decode()
    for broker, log in logs.items():
        written = log.read_bytes()[began[broker] :]
        kept = folder / f"broker-{broker}" / "kafka-request.log"
        kept.parent.mkdir()
        kept.write_bytes(written[: written.rfind(b"\n") + 1])
    return folder, pages


@pytest.fixture(scope="module")
def latency(recorded, tmp_path_factory):
    """Return the rows of `fetch_latency_summary` of kind share, by client and leader."""
    folder, _ = recorded
    scratch = tmp_path_factory.mktemp("gold")
    origin = Origin(folder=folder, cluster="lab", time_zone="UTC")
    write_raw(discover(folder).understood, origin, scratch / "raw", on_file=lambda _file: None)
    gold = GoldReader.of_rows(rows_of_files(scratch / "raw", scratch, {}))
    rows = [row for row in fetches(GoldSelection(gold=gold, cluster="lab")) if row["kind"] == "share"]
    for row in rows:
        names = ("client_id", "leader_id", "n", "n_delayed", "total_p50_ms", "remote_p50_ms")
        print({name: row[name] for name in (*names, "leader_local_p50_ms", "leader_local_p99_ms")})
    return {(row["client_id"].removeprefix("share-"), row["leader_id"]): row for row in rows}


def test_each_share_consumer_has_a_row_at_each_leader(lab, latency):
    assert set(latency) == {(topic, n) for topic in (IDLE, BUSY) for n in lab.broker_ids} | {(FAR, 1)}
    known = {(row["follower_id"], row["n_true"], row["true_p50_ms"]) for row in latency.values()}
    assert known == {(None, 0, None)}


def test_the_wait_on_an_empty_topic_is_no_latency(latency):
    for row in (row for (topic, _), row in latency.items() if topic == IDLE):
        assert row["n_delayed"] == row["n"] > 10
        assert row["total_p50_ms"] > 0.99 * MAX_WAIT_MS
        assert row["leader_local_p50_ms"] < OWN_WORK_MS


def test_with_a_known_load_a_fetch_waits_less_and_takes_the_same_work(latency):
    for row in (row for (topic, _), row in latency.items() if topic == BUSY):
        assert row["total_p50_ms"] < MAX_WAIT_MS / 2
        assert 0 < row["leader_local_p50_ms"] < OWN_WORK_MS


def test_a_slow_share_coordinator_is_a_wait_too(latency):
    """An injected delay between the brokers is in total and in remote, not in the leader's own work."""
    far, busy = latency[FAR, 1], latency[BUSY, 1]

    assert DELAY_MS < far["remote_p50_ms"] < far["total_p50_ms"] < 2 * DELAY_MS
    assert far["leader_local_p50_ms"] - busy["leader_local_p50_ms"] < DELAY_MS / 4


def test_kafkas_own_counters_of_share_fetches_agree(lab, recorded, latency):
    """The beans count every SHARE_FETCH since the brokers started; each time is rounded to whole ms."""
    _, pages = recorded
    for broker in lab.broker_ids:
        beans = {(name, kind): float(value) for kind, name, value in BEAN.findall(pages[broker])}
        rows = [row for (_, leader), row in latency.items() if leader == broker]
        n = sum(row["n"] for row in rows)
        assert n == beans["TotalTimeMs", "Count"] == beans["RemoteTimeMs", "Count"]
        for name, metric in (("TotalTimeMs", "total"), ("RemoteTimeMs", "remote")):
            mean_ms = sum(row[f"{metric}_sum_ms"] for row in rows) / n
            assert beans[name, "Mean"] == pytest.approx(mean_ms, abs=1.0)
