"""
Logs of three idle brokers as Kafka 4.3.1 writes them, with round trips of our choosing.

The lines are the layout of real ones; only times and ids are made up. Real brokers are in tests/live.
"""

import json
from collections import defaultdict
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from random import Random

START_NS = int(datetime(2026, 11, 21, 11, 3, tzinfo=UTC).timestamp()) * 1_000_000_000
MS = 1_000_000
FOLLOWER_WORK_MS = 0.2
LEVEL_MS = 0.7
SESSION = 77_000

REQUEST = (
    '{{"isForwarded":false,"requestHeader":{{"requestApiKey":1,"requestApiVersion":18,"correlationId":{id},'
    '"clientId":"broker-{follower}-fetcher-0","requestApiKeyName":"FETCH"}},"request":{{"replicaState":'
    '{{"replicaId":{follower},"replicaEpoch":16}},"maxWaitMs":500,"minBytes":1,"maxBytes":10485760,'
    '"isolationLevel":0,"sessionId":{session},"sessionEpoch":{id},"topics":[],"forgottenTopicsData":[],'
    '"rackId":""}},"response":{{"throttleTimeMs":0,"errorCode":0,"sessionId":{session},"responses":[]}},'
    '"connection":"127.0.0.1:2101{leader}-127.0.0.1:3676{follower}-4-0","totalTimeMs":{total},'
    '"requestQueueTimeMs":0.08,"localTimeMs":0.5,"remoteTimeMs":{remote},"throttleTimeMs":0,'
    '"responseQueueTimeMs":0.09,"sendTimeMs":0.08,"securityProtocol":"PLAINTEXT","principal":'
    '"User:ANONYMOUS","listener":"PEER{follower}","clientInformation":{{"softwareName":"unknown",'
    '"softwareVersion":"unknown"}}}}'
)
HEADER = (
    "RequestHeader(apiKey=FETCH, apiVersion=18, clientId=broker-{follower}-fetcher-0, correlationId={id}, "
    "headerVersion=2)"
)
SENT = (
    "[ReplicaFetcher replicaId={follower}, leaderId={leader}, fetcherId=0] Sending FETCH request with header "
    + HEADER
    + " and timeout 30000 to node {leader}: FetchRequestData(clusterId=null, replicaId=-1, "
    "replicaState=ReplicaState(replicaId={follower}, replicaEpoch=15), maxWaitMs=500, minBytes=1, "
    "maxBytes=10485760, isolationLevel=0, sessionId={session}, sessionEpoch={id}, topics=[], "
    "forgottenTopicsData=[], rackId='')"
)
RECEIVED = (
    "[ReplicaFetcher replicaId={follower}, leaderId={leader}, fetcherId=0] Received FETCH response from node "
    "{leader} for request with header "
    + HEADER
    + ": FetchResponseData(throttleTimeMs=0, errorCode=0, sessionId={session}, responses=[], "
    "nodeEndpoints=[])"
)


def write_logs(
    folder: Path, *, seconds: int, added_ms: dict[tuple[int, int], float], onset_s: int, until_s: int = 10_000
) -> None:
    """Write `broker-N/kafka-request.log` and `broker-N/client.log`; keys are (follower, leader)."""
    lines: defaultdict[Path, list[tuple[int, str]]] = defaultdict(list)
    dice = Random(7)  # the same logs each time
    for follower, leader in permutations((1, 2, 3), 2):
        at_ns = START_NS + int(dice.uniform(0, 500) * MS)
        for nth in range(1, seconds * 2):
            elapsed_s = (at_ns - START_NS) / 1e9
            is_slow = onset_s <= elapsed_s < until_s
            rtt_ms = LEVEL_MS + dice.uniform(-0.05, 0.05)
            rtt_ms += added_ms.get((follower, leader), 0.0) if is_slow else 0.0
            at_ns = _fetch(lines, folder, at_ns, rtt_ms, follower=follower, leader=leader, id=nth)
    for path, written in lines.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line for _, line in sorted(written)))


def _fetch(
    lines: dict[Path, list[tuple[int, str]]], folder: Path, sent_ns: int, rtt_ms: float, **ids: int
) -> int:
    """Write the three lines of one fetch that waited 500 ms; give the instant of the next one."""
    words = {**ids, "session": SESSION + ids["follower"] * 10 + ids["leader"]}
    total_ms, remote_ms = 501.25, 500.5
    started_ns = sent_ns + int(rtt_ms / 2 * MS)
    ended_ns = started_ns + int(total_ms * MS)
    received_ns = ended_ns + int(rtt_ms / 2 * MS)
    asked, answered = folder / f"broker-{ids['follower']}" / "client.log", SENT.format(**words)
    lines[asked].append((sent_ns, _line(sent_ns, answered, "org.apache.kafka.clients.NetworkClient")))
    told = RECEIVED.format(**words)
    lines[asked].append((received_ns, _line(received_ns, told, "org.apache.kafka.clients.NetworkClient")))
    body = REQUEST.format(**words, total=total_ms, remote=remote_ms)
    json.loads(body)
    served = folder / f"broker-{ids['leader']}" / "kafka-request.log"
    lines[served].append((ended_ns, _line(ended_ns, f"Completed request:{body}", "kafka.request.logger")))
    return received_ns + int(FOLLOWER_WORK_MS * MS)


def _line(at_ns: int, message: str, logger: str) -> str:
    seconds, ns = divmod(at_ns, 1_000_000_000)
    instant = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{instant}.{ns:09d}Z {at_ns - START_NS + 10**12} DEBUG {message} ({logger})\n"
