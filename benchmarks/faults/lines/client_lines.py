"""Telemetry about clients: producers of two releases, moving leaders, one performance test per minute."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from benchmarks.faults.site import PublishedLine
from collectors.perf_test.run import RunDescription, document, parse_arguments
from tests.engine.made_logs import START_NS
from tests.transforms.parse.records import DATA

BROKERS, PARTITIONS, TOPIC = (1, 2, 3), (0, 1, 2), "orders"
MOVES_EVERY_S, LOOKS_UP_EVERY_S, RUN_S, WINDOW_S = 20, 10, 60, 5
CLIENTS = ("3.6.0", "4.3.1")
BATCH_BYTES, RECORDS_PER_S = 4_096, 64
TOPIC_ID = base64.urlsafe_b64encode(bytes(range(16))).decode().rstrip("=")
WINDOW = "{n} records sent, {rate:.1f} records/sec (0.03 MB/sec), 2.5 ms avg latency, 31.0 ms max latency."
SUMMARY = (
    "{n} records sent, {rate:.6f} records/sec (0.03 MB/sec), 2.50 ms avg latency, 31.00 ms max latency, "
    "2 ms 50th, 9 ms 95th, 19 ms 99th, 30 ms 99.9th."
)
METRIC = "producer-node-metrics:outgoing-byte-total:{{client-id={client}, node-id=node-{node}}} : 1234567.000"
LEADS = (
    "[Broker id={leader}] Leader orders-{partition} with topic id Some({topic_id}) starts at leader epoch "
    "{epoch} from offset {offset} with partition epoch {epoch}, high watermark {offset}, ISR [1,2,3], adding "
    "replicas [] and removing replicas [] . Previous leader Some({before}) and previous leader epoch was "
    "{was}."
)


def of_clients(seconds: int) -> Iterator[tuple[float, PublishedLine]]:
    """Yield the lines of `seconds` with their instants; they make rows of every table about clients."""
    for number, (at_s, node, kind, text, headers) in enumerate(_entries(seconds)):
        position = f"{node}/{kind}/of-clients-{number}"
        yield START_NS / 1e9 + at_s, PublishedLine(kind, node, position, text.encode(), headers)


ClientLine = tuple[float, str, str, str, tuple[tuple[str, str], ...]]


def _entries(seconds: int) -> Iterator[ClientLine]:
    for second in range(seconds):
        for number, version in enumerate(CLIENTS):
            yield from _client(second + 0.1 * (number + 1), second, number, version)
            yield from _run(second, version)
        if second % MOVES_EVERY_S == 0 and second:
            yield from (_leads(second, partition) for partition in PARTITIONS)


def leader_of(partition: int, second: int) -> int:
    """Return the leader of a partition; all leaders move at the same time."""
    return BROKERS[(partition + second // MOVES_EVERY_S) % len(BROKERS)]


def _client(at_s: float, second: int, number: int, version: str) -> Iterator[ClientLine]:
    """Produce to one partition after another; after a move first to the old leader, which refuses."""
    partition = PARTITIONS[(second + number) % len(PARTITIONS)]
    if second % MOVES_EVERY_S == 0 and second:
        old = leader_of(partition, second - 1)
        yield _request(at_s, old, _produce(version, second, partition, error=6))
        yield _request(at_s + 0.01, old, _lookup(version, second))
        at_s += 0.03
    elif second % LOOKS_UP_EVERY_S == 0:
        yield _request(at_s - 0.01, leader_of(partition, second), _lookup(version, second))
    yield _request(at_s, leader_of(partition, second), _produce(version, second, partition))


def _run(second: int, version: str) -> Iterator[ClientLine]:
    """Yield this second's lines of the minute's run: its document, window figures, and its end."""
    name, within = f"r{second // RUN_S}", second % RUN_S
    run = RunDescription(run=name, arm=version, scenario="faults", client_version=version, warm_up_s=5.0)
    words = ["--topic", TOPIC, "--throughput", str(RECORDS_PER_S), "--record-size", "512"]
    facts = run.facts | parse_arguments([*words, "--producer-props", f"client.id=perf-{version}"])
    facts |= {"started_at": iso(second - within)}
    texts = []
    if within == 0:
        texts.append(document(facts).decode())
    elif within % WINDOW_S == 0:
        texts.append(f"{iso(second)} {WINDOW.format(n=RECORDS_PER_S * WINDOW_S, rate=RECORDS_PER_S)}")
    elif within == RUN_S - 1:
        figures = [SUMMARY.format(n=RECORDS_PER_S * RUN_S, rate=RECORDS_PER_S)]
        figures += [METRIC.format(client=f"perf-{version}", node=broker) for broker in BROKERS]
        texts += [f"{iso(second)} {text}" for text in figures]
        texts.append(document(facts | {"ended_at": iso(second), "exit_code": 0}).decode())
    headers = tuple((header, value.decode()) for header, value in run.headers)
    yield from ((second + 0.5, "client-1", "perf-test", text, headers) for text in texts)


def _leads(second: int, partition: int) -> ClientLine:
    leader, epoch = leader_of(partition, second), second // MOVES_EVERY_S
    text = LEADS.format(
        leader=leader,
        partition=partition,
        topic_id=TOPIC_ID,
        epoch=epoch,
        offset=second,
        before=leader_of(partition, second - 1),
        was=epoch - 1,
    )
    line = logged(second + 0.005, text, "state.change.logger")
    return second + 0.005, f"broker-{leader}", "state-change", line, ()


def _request(at_s: float, broker: int, body: dict[str, Any]) -> ClientLine:
    digit = body["requestHeader"]["clientId"][-1]
    connection = f"127.0.0.1:1909{broker}-127.0.0.1:4196{digit}-1-{digit}"
    text = "Completed request:" + json.dumps(body | {"connection": connection}, separators=(",", ":"))
    return at_s, f"broker-{broker}", "request-log", logged(at_s, text, "kafka.request.logger"), ()


def _produce(version: str, second: int, partition: int, *, error: int = 0) -> dict[str, Any]:
    body = _real("PRODUCE", version, second, 0 if error else 2)
    body["request"]["topicData"] = [
        {"topicId": TOPIC_ID, "partitionData": [{"index": partition, "recordsSizeInBytes": BATCH_BYTES}]}
    ]
    answer = body["response"]["responses"][0]
    answer["topicId"] = TOPIC_ID
    answer["partitionResponses"][0] |= {
        "index": partition,
        "errorCode": error,
        "baseOffset": -1 if error else 10 * second,
    }
    if error and version == CLIENTS[-1]:
        hint = {"leaderId": leader_of(partition, second), "leaderEpoch": second // MOVES_EVERY_S}
        answer["partitionResponses"][0]["currentLeader"] = hint
    return body


def _lookup(version: str, second: int) -> dict[str, Any]:
    body = _real("example-METADATA-many-4.3.1", version, second, 1)
    body["request"]["topics"] = [{"topicId": "A" * 22, "name": TOPIC}]
    body["response"]["topics"][0] |= {"name": TOPIC, "topicId": TOPIC_ID}
    return body


def _real(name: str, version: str, second: int, number: int) -> dict[str, Any]:
    text = (DATA / "request-log" / f"{name}.txt").read_text()
    body: dict[str, Any] = json.loads(text.split("Completed request:", 1)[1].rpartition(" (")[0])
    body["requestHeader"] |= {"clientId": f"perf-{version}", "correlationId": 3 * second + number}
    body["clientInformation"]["softwareVersion"] = version
    return body


def logged(at_s: float, message: str, logger: str) -> str:
    at_ns = START_NS + round(at_s * 1e9)
    return f"{iso(at_s)} {at_ns - START_NS + 10**12} DEBUG {message} ({logger})"


def iso(at_s: float) -> str:
    at = datetime.fromtimestamp(START_NS / 1e9 + at_s, UTC)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
