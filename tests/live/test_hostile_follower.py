"""A client of a real broker that fetches with the id of a replica, over the listener of clients."""

import socket
import struct

import pytest
from confluent_kafka import Producer

from collectors.files import discover
from conf.settings import Settings
from engine.gold.inputs import WholeInputs
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import Origin, write_raw
from lab import topics
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.requests import REQUESTS
from serving.report.run.gold_of_files import gold_rows
from tests.live.test_ingest import wait_for
from transforms.gold.fetch_latency.build import BUILD

pytestmark = pytest.mark.live

CLIENT, TOPIC, FETCHES = "mallory", "hostile", 60


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def fetch_of_replica(replica, correlation_id, topic):
    """Return a FETCH of version 11 of partition 0, as a follower sends it without a session."""
    body = struct.pack(">iiiibii", replica, 100, 0, 1 << 20, 0, 0, -1)
    body += struct.pack(">i", 1) + text(topic) + struct.pack(">i", 1)
    body += struct.pack(">iiqqi", 0, -1, 0, 0, 1 << 20) + struct.pack(">i", 0) + text("")
    request = struct.pack(">hhi", 1, 11, correlation_id) + text(CLIENT) + body
    return struct.pack(">i", len(request)) + request


def answer(connection):
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    return connection.recv(size, socket.MSG_WAITALL)


@pytest.fixture(scope="module")
def silver(lab, tmp_path_factory):
    """Fetch as replica 2 from the leader; return silver of all logs of the brokers."""
    topics.create_load_topic(lab, name=TOPIC, partitions=1, replication_factor=3)
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers, "client.id": "honest"})
    producer.produce(TOPIC, b"x")
    assert producer.flush(30) == 0
    leader = topics.leaders(lab, TOPIC)[0]
    replica = next(broker.id for broker in lab.brokers if broker.id != leader)
    port = next(broker.client_port for broker in lab.brokers if broker.id == leader)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for nth in range(FETCHES):
            connection.sendall(fetch_of_replica(replica, nth, TOPIC))
            answer(connection)
    scratch, logs = tmp_path_factory.mktemp("hostile"), lab.state / "logs"
    log = logs / f"broker-{leader}" / "kafka-request.log"
    # The broker's log is buffered, so the last lines may be missing.
    wait_for(lambda: log.read_bytes().count(f'"clientId":"{CLIENT}"'.encode()) >= FETCHES / 2)
    origin = Origin(folder=logs, cluster="lab", time_zone="UTC")
    write_raw(discover(logs).understood, origin, scratch / "raw", on_file=lambda _file: None)
    rows, _ = parse_files(raw_lines(scratch / "raw"), scratch / "silver", Settings())
    return rows


def test_it_is_in_the_log_as_a_follower_that_the_broker_served_and_not_in_gold(silver):
    logged = [row for row in silver[REQUESTS].to_table().to_pylist() if row["client_id"] == CLIENT]
    gold = gold_rows([BUILD], WholeInputs(silver))

    assert len(logged) >= FETCHES / 2
    assert {(row["kind"], row["listener"], row["error_code"]) for row in logged} == {
        ("follower", "CLIENT", 0)
    }
    assert CLIENT not in gold[FETCH_LATENCY]["client_id"].to_pylist()
    assert "honest" in silver[REQUESTS].to_table()["client_id"].to_pylist()
    assert gold[BROKER_RTT].num_rows > 0
