"""What is said of clients, held against the brokers' own word: their logs on disk, their counts of bytes."""

import re
from collections import Counter

import pytest

from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.metadata_lookups.lookups import lookups
from answers.partition_skew.spread import partitions
from collectors.files import discover
from engine.ingest.raw_files import Origin, write_raw
from lab import jvm, topics
from lab.clients.producer import CURRENT_VERSION, Producer, ProducerGroup, Workload
from serving.report.run.gold_of_files import rows_of_files

pytestmark = pytest.mark.live

CHANNEL = "kafka.network.RequestChannel$"
SENT = re.compile(rb"Sending METADATA response to client (\S+) of (\d+) bytes")
PRODUCERS = [
    Producer(arm="old", client_version="2.8.2", properties={"linger.ms": "5"}),
    Producer(arm="today", client_version=CURRENT_VERSION, properties={"linger.ms": "5", "acks": "1"}),
]


@pytest.fixture(scope="module")
def watched(lab, tmp_path_factory):
    """Two releases produce to one topic; of the logs, what was written meanwhile."""
    folder = tmp_path_factory.mktemp("watched")
    logs = {
        broker.id: lab.state / "logs" / f"broker-{broker.id}" / "kafka-request.log" for broker in lab.brokers
    }
    topics.create_load_topic(lab, name="bytes", partitions=6, replication_factor=1)
    for broker in lab.brokers:
        jvm.set_logger(lab.bootstrap_servers, broker.id, CHANNEL, "TRACE")
    began = {broker: log.stat().st_size for broker, log in logs.items()}
    try:
        work = Workload(scenario="bytes", run="b1", topic="bytes", records_per_s=500, for_s=6)
        ProducerGroup(lab, PRODUCERS, work).wait()
    finally:
        for broker in lab.brokers:
            jvm.set_logger(lab.bootstrap_servers, broker.id, CHANNEL, "WARN")
    for broker, log in logs.items():
        written = log.read_bytes()[began[broker] :]
        kept = folder / f"broker-{broker}" / "kafka-request.log"
        kept.parent.mkdir()
        kept.write_bytes(written[: written.rfind(b"\n") + 1])
    return folder


@pytest.fixture(scope="module")
def gold(watched, tmp_path_factory):
    scratch = tmp_path_factory.mktemp("gold")
    origin = Origin(folder=watched, cluster="lab", time_zone="UTC")
    write_raw(discover(watched).understood, origin, scratch / "raw", on_file=lambda _file: None)
    rows = rows_of_files(scratch / "raw", scratch, {})
    return GoldSelection(gold=GoldReader.of_rows(rows), cluster="lab", topic="bytes")


def test_bytes_and_records_agree_with_the_topics_log_to_the_byte(lab, gold):
    leaders = topics.leaders(lab, "bytes")
    on_disk = {
        partition: sum(
            file.stat().st_size
            for file in (lab.state / f"broker-{leader}" / "data" / f"bytes-{partition}").glob("*.log")
        )
        for partition, leader in leaders.items()
    }
    rows = partitions(gold)
    counted, leads = Counter(), {row["partition"]: row["leader_id"] for row in rows}
    for row in rows:
        counted[row["partition"]] += row["bytes"]

    assert {row["client_id"] for row in rows} == {"bytes-old", "bytes-today"}
    assert sum(on_disk.values()) > 2 * 500 * 6 * 512
    assert dict(counted) == on_disk
    assert leads == leaders


def test_records_are_those_of_the_log_but_for_each_partitions_last_batch(lab, gold):
    ends = topics.end_offsets(lab, "bytes")
    rows = partitions(gold)
    counted, unknown = Counter(), Counter()
    for row in rows:
        counted[row["partition"]] += row["records"]
        unknown[row["partition"]] += row["batches"] - row["batches_counted"]

    assert sum(ends.values()) == 2 * 500 * 6
    assert set(unknown.values()) == {1}
    assert all(0 < end - counted[partition] < 200 for partition, end in ends.items())


def test_sizes_of_metadata_answers_are_those_that_the_broker_sent(watched, gold):
    """`RequestChannel` tells at TRACE how many bytes it sends; Plumbline works them out of the answer."""
    sent = Counter()
    for file in watched.glob("broker-*/kafka-request.log"):
        sent.update((client.decode(), int(size)) for client, size in SENT.findall(file.read_bytes()))
    ours = {"bytes-old", "bytes-today"}
    found = {
        client: (
            sum(row["lookups"] for row in lookups(gold) if row["client_id"] == client),
            sum(row["response_bytes"] for row in lookups(gold) if row["client_id"] == client),
        )
        for client in ours
    }
    wanted = {
        client: (
            sum(n for (name, _), n in sent.items() if name == client),
            sum(n * size for (name, size), n in sent.items() if name == client),
        )
        for client in ours
    }
    assert found == wanted
    assert all(n > 0 for n, _ in wanted.values())
