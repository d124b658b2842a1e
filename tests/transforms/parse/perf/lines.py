"""Lines of ProducerPerformance and of run documents, and their records."""

from tests.transforms.parse.records import record
from transforms.parse.perf import parse

HEADERS = [("run", b"r1"), ("arm", b"sticky")]
AT = b"2026-11-21T09:19:28.987716Z "
WINDOW = b"249963 records sent, 49992.6 records/sec (47.68 MB/sec), 3.2 ms avg latency, 412.0 ms max latency."
SUMMARY = (
    b"1000000 records sent, 49987.503124 records/sec (47.67 MB/sec), 2.91 ms avg latency, 412.00 ms max"
    b" latency, 2 ms 50th, 6 ms 95th, 19 ms 99th, 103 ms 99.9th."
)
STEADY = SUMMARY.replace(b" records sent", b" steady state records sent")
METRIC = b"producer-node-metrics:outgoing-byte-total:{client-id=perf-client, node-id=node-1}    : 1234567.000"
RUN = (
    b'{"plumbline_run":{"run":"r1","arm":"sticky","scenario":"skew","client_version":"3.9.1",'
    b'"started_at":"2026-11-21T09:19:20.5Z","ended_at":"2026-11-21T09:20:00.5Z","exit_code":0,"topic_name":"t",'
    b'"asked_records":100,"asked_records_per_s":2048.0,"record_size_bytes":512,"configuration":["--topic","t"]}}'
)


def parsed(value, **fields):
    """Return the outcome of a line of run r1."""
    return parse(record(value, **{"headers": HEADERS, "kind": "perf-test", "node": "host"} | fields))


def row(table, value, **fields):
    """Return the row of a kept line."""
    found = parsed(value, **fields).rows
    assert found.keys() == {table}
    (only,) = found[table]
    return only


def average(text):
    return WINDOW.replace(b"3.2", text)


def rate(text):
    return WINDOW.replace(b"49992.6", text)
