"""A client of a real broker that fetches with the id of a replica, over the listener of clients."""

import re
import socket
import struct

import pyarrow.compute as pc
import pyarrow.dataset as ds
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
NO_BROKER = 99
"""The id of no broker."""


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def fetch_of_replica(replica, correlation_id, topic):
    """Return a FETCH of version 11 of partition 0, as a follower sends it without a session."""
    body = struct.pack(">iiiibii", replica, 100, 0, 1 << 20, 0, 0, -1)
    body += struct.pack(">i", 1) + text(topic) + struct.pack(">i", 1)
    body += struct.pack(">iiqqi", 0, -1, 0, 0, 1 << 20) + struct.pack(">i", 0) + text("")
    request = struct.pack(">hhi", 1, 11, correlation_id) + text(CLIENT) + body
    return struct.pack(">i", len(request)) + request


def received(connection, size):
    """Return exactly so many bytes."""
    got = b""
    while len(got) < size:
        more = connection.recv(size - len(got))
        assert more, "the broker closed the connection"
        got += more
    return got


def answered(connection):
    """Return the correlation id of the next response."""
    (size,) = struct.unpack(">i", received(connection, 4))
    return struct.unpack(">i", received(connection, size)[:4])[0]


def logged_ids(log):
    """Return the correlation ids of the client's requests in a request log."""
    lines = [line for line in log.read_bytes().splitlines() if f'"clientId":"{CLIENT}"'.encode() in line]
    return {int(re.search(rb'"correlationId":(\d+)', line)[1]) for line in lines}


@pytest.fixture(scope="module")
def silver(lab, tmp_path_factory):
    """Fetch as replica 2 and as no broker's replica from the leader; return silver of the brokers' logs."""
    topics.create_load_topic(lab, name=TOPIC, partitions=1, replication_factor=3)
    producer = Producer({"bootstrap.servers": lab.bootstrap_servers, "client.id": "honest"})
    producer.produce(TOPIC, b"x")
    assert producer.flush(30) == 0
    leader = topics.leaders(lab, TOPIC)[0]
    replica = next(broker.id for broker in lab.brokers if broker.id != leader)
    port = next(broker.client_port for broker in lab.brokers if broker.id == leader)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        for nth in range(FETCHES):
            connection.sendall(fetch_of_replica(NO_BROKER if nth % 3 == 0 else replica, nth, TOPIC))
            assert answered(connection) == nth
    logs = lab.state / "logs"
    log = logs / f"broker-{leader}" / "kafka-request.log"
    wait_for(lambda: logged_ids(log) == set(range(FETCHES)))
    scratch = tmp_path_factory.mktemp("hostile")
    origin = Origin(folder=logs, cluster="lab", time_zone="UTC")
    write_raw(discover(logs).understood, origin, scratch / "raw", on_file=lambda _file: None)
    rows, _ = parse_files(raw_lines(scratch / "raw"), scratch / "silver", Settings())
    return rows


def test_it_is_in_the_log_as_a_follower_that_the_broker_served(silver):
    logged = [row for row in silver[REQUESTS].to_table().to_pylist() if row["client_id"] == CLIENT]

    assert {row["correlation_id"] for row in logged} == set(range(FETCHES))
    assert {row["listener"] for row in logged} == {"CLIENT"}
    served = {(row["kind"], row["error_code"]) for row in logged if row["correlation_id"] % 3}
    assert served == {("follower", 0)}


def test_it_is_in_no_pair_of_brokers(silver):
    requests = silver[REQUESTS].to_table()
    honest = ds.dataset(requests.filter(pc.fill_null(pc.not_equal(requests["client_id"], CLIENT), True)))
    gold, without = (gold_rows([BUILD], WholeInputs(rows)) for rows in (silver, {**silver, REQUESTS: honest}))

    assert gold[BROKER_RTT].num_rows > 0
    assert NO_BROKER not in gold[BROKER_RTT]["follower_id"].to_pylist()
    assert rows_of(gold[BROKER_RTT]) == rows_of(without[BROKER_RTT])
    assert CLIENT not in gold[FETCH_LATENCY]["client_id"].to_pylist()


def rows_of(table):
    """Return the round trips of a table in one order. A line of any client shows that its broker is heard."""
    coverage = ["nodes_expected", "nodes_reporting", "is_settled"]
    return sorted(map(str, table.drop_columns(coverage).to_pylist()))
