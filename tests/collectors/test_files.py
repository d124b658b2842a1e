import gzip
from collections import Counter
from pathlib import Path

import pytest

from collectors.files import NO_NODE, NOT_TELEMETRY, SEARCHED_BYTES, NoSuchFolderError, discover
from collectors.own_files import DATA, LAB_STATE

EXAMPLES = {
    "request": b"[2026-11-21 07:15:38,310] DEBUG Completed request:{} (kafka.request.logger)\n",
    "client": b"[2026-11-21 07:15:38,310] DEBUG [ReplicaFetcher replicaId=1, leaderId=3] Sending\n",
}


@pytest.fixture
def logs(tmp_path):
    def written(name: str, content: bytes = b"") -> Path:
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    (tmp_path / "logs").mkdir()
    written.folder = tmp_path / "logs"  # type: ignore[attr-defined]
    return written


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("kafka-request.log", "request-log"),
        ("kafka-request.log.2026-11-21-10", "request-log"),
        ("kafka-request.log.1.gz", "request-log"),
        ("request.log.gz", "request-log"),
        ("kafka-client.log", "client-log"),
        ("network-client.log.3", "client-log"),
        ("jmx.prom", "metrics"),
    ],
)
def test_a_name_that_fits_is_enough_whatever_the_file_holds(logs, name, kind):
    logs(f"broker-1/{name}", b"\x00\xff garbage")

    assert [(file.node, file.kind) for file in discover(logs.folder).understood] == [("broker-1", kind)]


def test_a_file_with_another_name_is_known_by_its_content(logs):
    logs("node2/a.txt", b"a line of another logger\n" + EXAMPLES["request"])
    logs("node2/b.txt.gz", gzip.compress(EXAMPLES["client"]))
    logs("node2/c.txt", b"nothing of interest\n")
    logs("node2/d.txt", b"x" * SEARCHED_BYTES + b"x" * 300_000 + EXAMPLES["request"])
    logs("node2/server.log", b"INFO started (kafka.server.KafkaServer)\n" * 7_000 + EXAMPLES["client"])

    found = discover(logs.folder)

    assert [(file.path.name, file.kind) for file in found.understood] == [
        ("a.txt", "request-log"),
        ("b.txt.gz", "client-log"),
        ("server.log", "client-log"),
    ]
    assert [(path.name, reason) for path, reason in found.not_understood] == [
        ("c.txt", NOT_TELEMETRY),
        ("d.txt", NOT_TELEMETRY),
    ]


def test_the_nearest_folder_that_ends_in_a_number_is_the_node(logs):
    logs("dc1/broker-3/logs/kafka-request.log")
    logs("other/kafka-request.log")

    found = discover(logs.folder)

    assert [file.node for file in found.understood] == ["broker-3"]
    assert [reason for _, reason in found.not_understood] == [NO_NODE]


def test_the_folder_itself_may_be_the_node(logs):
    logs("broker-1/kafka-request.log")

    assert [file.node for file in discover(logs.folder / "broker-1").understood] == ["broker-1"]


@pytest.mark.parametrize("name", ["logs-2026-11-29", "logs.20261129", "2026-11-29T12-30", "2026_11_29_12"])
def test_a_date_is_no_broker(logs, name):
    logs(f"{name}/kafka-request.log")
    logs(f"{name}/broker-1/kafka-request.log")

    found = discover(logs.folder / name)

    assert [file.node for file in found.understood] == ["broker-1"]
    assert [reason for _, reason in found.not_understood] == [NO_NODE]


@pytest.mark.parametrize("name", ["broker-1001", "kafka-0-2029", "b20261329", "rack-2026-31"])
def test_a_number_that_is_no_date_is_a_broker(logs, name):
    logs(f"{name}/kafka-request.log")

    assert [file.node for file in discover(logs.folder).understood] == [name]


def test_a_pattern_wins_over_the_folder(logs):
    logs("broker-3/kafka-request.log")
    logs("east/kafka-request.log")

    found = discover(logs.folder, {"broker-3/*": "7", "east": "broker-8"})

    assert [file.node for file in found.understood] == ["7", "broker-8"]


def test_an_empty_file_is_understood_by_its_name_only(logs):
    logs("broker-1/kafka-request.log")
    logs("broker-1/unknown.txt")

    found = discover(logs.folder)

    assert [file.path.name for file in found.understood] == ["kafka-request.log"]
    assert [reason for _, reason in found.not_understood] == ["empty"]


def test_hidden_files_are_left_alone(logs):
    logs(".git/broker-1/kafka-request.log")
    found = discover(logs.folder)
    assert (found.understood, found.not_understood) == ([], [])


def test_kafkas_other_logs_and_data_are_passed_over_under_one_name_each(logs):
    for broker in (1, 2):
        for name in ("server.log", "server.log.2026-11-21-10", "controller.log", "output.txt", "log4j2.xml"):
            logs(f"broker-{broker}/{name}", b"a line of another logger\n")
    logs("broker-1/data/t-0/00000000000000000000.log", EXAMPLES["request"])  # a record's own bytes
    logs("broker-1/data/meta.properties", b"node.id=1\n")
    logs("broker-1/notes.txt", b"x\n")

    found = discover(logs.folder)

    assert found.understood == []
    assert [path.name for path, _ in found.not_understood] == ["notes.txt"]
    assert Counter(what for _, what in found.passed_over) == {
        "server.log": 4,
        "controller.log": 2,
        "output.txt": 2,
        "log4j2.xml": 2,
        DATA: 2,
    }


def test_a_log_of_kafkas_that_holds_telemetry_is_read(logs):
    """Stock Kafka writes NetworkClient to server.log; what a perf test printed may be called output.txt."""
    logs("broker-1/server.log", EXAMPLES["client"])
    logs("perf/output.txt", b"10 records sent, 2.0 records/sec (0.00 MB/sec), 1.0 ms avg latency\n")

    found = discover(logs.folder)

    assert [(file.path.name, file.kind) for file in found.understood] == [
        ("server.log", "client-log"),
        ("output.txt", "perf-test"),
    ]
    assert found.passed_over == []


def test_of_a_labs_state_its_logs_alone_are_read(logs):
    for name in ("lab.json", "lab.toml", "proxy/applied-1.jsonl", "truth/skew.json", "clients/a.1.log"):
        logs(f"lab/{name}", EXAMPLES["client"])
    logs("lab/logs/broker-1/kafka-request.log", EXAMPLES["request"])
    logs("elsewhere/lab.json", b"{}")  # alone it tells nothing

    found = discover(logs.folder)

    assert [str(file.path.relative_to(logs.folder)) for file in found.understood] == [
        "lab/logs/broker-1/kafka-request.log"
    ]
    assert [what for _, what in found.passed_over] == [LAB_STATE] * 5
    assert [path.parent.name for path, _ in found.not_understood] == ["elsewhere"]


def test_links_are_followed_once_and_a_loop_ends(logs, tmp_path):
    elsewhere = tmp_path / "disk7" / "broker-1"
    elsewhere.mkdir(parents=True)
    (elsewhere / "kafka-request.log").write_bytes(EXAMPLES["request"])
    logs("broker-2/kafka-request.log")
    (logs.folder / "broker-1").symlink_to(elsewhere)
    (logs.folder / "a-link-to-2").symlink_to(logs.folder / "broker-2")
    (logs.folder / "broker-2" / "up").symlink_to(logs.folder)

    found = discover(logs.folder)

    assert [file.node for file in found.understood] == ["broker-1", "broker-2"]


def test_a_missing_folder_is_a_clear_error(tmp_path):
    with pytest.raises(NoSuchFolderError, match="does not exist; give the folder"):
        discover(tmp_path / "gone")
