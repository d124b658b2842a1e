"""Records for parser tests, from lines of running brokers; they need no Spark."""

import json
from pathlib import Path

from transforms.parse.record import Record

DATA = Path(__file__).parents[2] / "data"

REQUEST_LINES = {
    file.stem: file.read_bytes().strip() for file in sorted(DATA.joinpath("request-log").glob("*.txt"))
}
COMPLETED = REQUEST_LINES["FETCH_follower"]
CLIENT_LINES = DATA.joinpath("network-client.txt").read_bytes().splitlines()
HEAD, TAIL = (
    b"2026-11-21T09:19:28.987716710Z 2929988848476 DEBUG Completed request:",
    b" (kafka.request.logger)",
)
DOCUMENT = json.loads(COMPLETED.removeprefix(HEAD).removesuffix(TAIL))

TEXT = (
    b"[2026-11-21 07:15:38,310] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=11, "
    b"clientId=broker-2-fetcher-0, correlationId=17) -- {replica_id=2,max_wait_time=500,min_bytes=1,"
    b"max_bytes=10485760,isolation_level=0,session_id=99,session_epoch=4,topics=[],forgotten_topics_data=[],"
    b"rack_id=},response:{throttle_time_ms=0,error_code=0,session_id=99,responses=[]} from connection "
    b"127.0.0.1:9094-127.0.0.1:61040-0;totalTime:502.42,requestQueueTime:0.112,localTime:2.15,remoteTime:500.0,"
    b"throttleTime:0.0,responseQueueTime:0.04,sendTime:0.118,securityProtocol:SASL_SSL,"
    b"principal:User:CN=a,OU=b,listener:SASL_SSL,clientInformation:ClientInformation("
    b"softwareName=apache-kafka-java, softwareVersion=2.7.0) (kafka.request.logger)"
)
TEXT_27 = TEXT.replace(b"{replica_id=2,", b"FetchRequestData(clusterId=null, replicaId=2, ").replace(
    b"session_id=99,session_epoch=4", b"sessionId=99, sessionEpoch=4"
)
TEXT_PRODUCE = (
    b"[2026-11-21 07:15:38,310] DEBUG Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=8, "
    b"clientId=null, correlationId=6) -- {acks=-1,timeout=30000,partitionSizes=[orders-0=15514]},"
    b"response:null from connection [::1]:9094-[::1]:61040-0;totalTime:2.42,requestQueueTime:0.112,"
    b"localTime:2.15,"
    b"remoteTime:0.0,responseQueueTime:0.04,sendTime:0.118,securityProtocol:PLAINTEXT,principal:User:ANONYMOUS,"
    b"listener:PLAINTEXT (kafka.request.logger)"
)
TEXTS = [TEXT, TEXT_27, TEXT_PRODUCE]


def record(value, **fields):
    """Return the record of a line of broker 1; `value` may be a dict of fields, or text."""
    given = value if isinstance(value, dict) else {"value": value}
    made = {"cluster": "lab", "node": "broker-1", "source": "a.log", "position": "p/0", "time_zone": "UTC"}
    made |= given | fields
    text = made["value"]
    return Record(**made | {"value": text.encode() if isinstance(text, str) else text})


def line(**changes):
    """Return a follower's fetch with changed fields; a dotted name is a path, and `...` removes a field."""
    document = json.loads(json.dumps(DOCUMENT))
    for dotted, value in changes.items():
        *path, last = dotted.split(".")
        place = document
        for name in path:
            place = place[name]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return HEAD + json.dumps(document, separators=(",", ":")).encode() + TAIL
