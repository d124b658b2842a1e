"""What plain Python reads from a line, held against what a person reads: the judge of the judge."""

import pytest

from tests.transforms.parse import change_lines, perf_lines
from tests.transforms.parse.perf_lines import AT, ENDS, OF_NODE, OF_TOPIC, PRINTED

WINDOW = b"249963 records sent, 49992,6 records/sec (47,68 MB/sec), NaN ms avg latency, 412,0 ms max latency"
STEADY = (
    b"30 steady state records sent, 1000.000000 records/sec (0.49 MB/sec), 17.50 ms avg latency, 32.00 ms max"
    b" latency, 18 ms 50th, 31 ms 95th, 32 ms 99th, 33 ms 99.9th."
)
SAID = {
    AT + b" " + WINDOW + b".\r": (
        "perf_windows",
        {"records": 249963, "is_steady_state": False, "records_per_s": 49992.6, "mib_per_s": 47.68}
        | {"avg_ms": None, "max_ms": 412.0, "logged_at": "2026-11-21 09:19:28.987716"},
    ),
    STEADY: (
        "perf_summaries",
        {"records": 30, "is_steady_state": True, "records_per_s": 1000.0, "mib_per_s": 0.49, "avg_ms": 17.5}
        | {
            "max_ms": 32.0,
            "p50_ms": 18.0,
            "p95_ms": 31.0,
            "p99_ms": 32.0,
            "p999_ms": 33.0,
            "logged_at": None,
        },
    ),
    OF_NODE: (
        "client_metrics",
        {"metric_group": "producer-node-metrics", "metric": "outgoing-byte-total", "value": 1234567.0}
        | {"tags": {"client-id": "perf", "node-id": "node-1"}, "text": "1234567.000", "logged_at": None},
    ),
    OF_TOPIC: (
        "client_metrics",
        {"metric_group": "producer-topic-metrics", "metric": "record-send-rate", "value": 0.125}
        | {"tags": {"client-id": "a, b:c", "topic": "t.1"}, "text": "0,125", "logged_at": None},
    ),
    ENDS: (
        "runs",
        {"run": "r1", "arm": "sticky", "scenario": "skew", "client_version": "3.9.1", "exit_code": 0}
        | {"started_at": "2026-11-21 09:19:20.5", "ended_at": "2026-11-21 09:20:00.000001", "warm_up_s": 5.0}
        | {"client_id": "perf-producer-client", "topic_name": "t", "asked_records": 100, "logged_at": None}
        | {"asked_records_per_s": 2048.0, "record_size_bytes": 512}
        | {
            "configuration": [
                "--topic",
                "t",
                "--num-records=100",
                "--throughput",
                "2048",
                "--record-size",
                "512",
            ]
        },
    ),
    WINDOW[:-1]: None,
    WINDOW + STEADY: None,
    WINDOW.replace(b"47,68", b"47.68"): None,
    STEADY.split(b", 18 ms")[0]: None,
    OF_NODE[:-1]: None,
}


@pytest.mark.parametrize(("line", "said"), SAID.items(), ids=range(len(SAID)))
def test_a_line_says_what_stands_there(line, said):
    assert perf_lines.says(line) == said


def test_each_whole_line_says_something():
    assert [line for line in PRINTED if perf_lines.MARK.search(line) and not perf_lines.says(line)] == []
    assert [
        line for line in change_lines.LINES if change_lines.MARK.search(line) and not change_lines.says(line)
    ] == []


def test_a_change_says_what_stands_there():
    assert change_lines.says(change_lines.FOLLOWER) == (
        "leadership_changes",
        {"role": "follower", "broker_id": 1, "topic_name": "redir-1795251332", "topic_id": None}
        | {"partition_index": 0, "leader_id": 2, "leader_epoch": 1, "first_offset": 349, "partition_epoch": 2}
        | {"previous_leader_id": 1, "previous_leader_epoch": 0},
    )
    assert change_lines.says(change_lines.LEADER + change_lines.FOLLOWER) is None
