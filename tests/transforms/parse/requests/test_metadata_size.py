"""The wire size of METADATA responses equals an independent encoder's; `tests/live` uses real brokers."""

import json
import struct

import pytest

from tests.transforms.parse.records import HEAD, REQUEST_LINES, TAIL, record
from transforms.parse.requests import parse

METADATA = next(line for line in REQUEST_LINES.values() if b'"requestApiKeyName":"METADATA"' in line)
DOCUMENT = json.loads(METADATA.split(b"Completed request:", 1)[1].removesuffix(TAIL))
VERSIONS = range(14)


def varint(n):
    written = b""
    while n >= 1 << 7:
        written, n = written + bytes([n & 0x7F | 0x80]), n >> 7
    return written + bytes([n])


def encoded(response, version):
    """Return the bytes of a response by MetadataResponse.json, with length prefix and header."""
    is_flexible = version >= 9
    tags = b"\0" if is_flexible else b""

    def string(text):
        if text is None:
            return varint(0) if is_flexible else struct.pack(">h", -1)
        data = text.encode()
        return (varint(len(data) + 1) if is_flexible else struct.pack(">h", len(data))) + data

    def array(items, write):
        count = varint(len(items) + 1) if is_flexible else struct.pack(">i", len(items))
        return count + b"".join(write(item) for item in items)

    def int32(n):
        return struct.pack(">i", n)

    def since(first, data):
        return data if version >= first else b""

    def broker(one):
        return (
            int32(one["nodeId"])
            + string(one["host"])
            + int32(one["port"])
            + since(1, string(one["rack"]))
            + tags
        )

    def partition(one):
        ids = [array(one["replicaNodes"], int32), array(one["isrNodes"], int32)]
        ids += [array(one["offlineReplicas"], int32)] if version >= 5 else []
        numbers = int32(one["partitionIndex"]) + int32(one["leaderId"]) + since(7, int32(one["leaderEpoch"]))
        return struct.pack(">h", one["errorCode"]) + numbers + b"".join(ids) + tags

    def topic(one):
        head = (
            struct.pack(">h", one["errorCode"]) + string(one["name"]) + since(10, bytes(16)) + since(1, b"\0")
        )
        return head + array(one["partitions"], partition) + since(8, int32(0)) + tags

    body = since(3, int32(0)) + array(response["brokers"], broker) + since(2, string(response["clusterId"]))
    body += since(1, int32(response["controllerId"])) + array(response["topics"], topic)
    body += int32(0) if version in range(8, 11) else b""
    body += since(13, struct.pack(">h", 0)) + tags
    return int32(0) + int32(0) + tags + body


def topics(n, partitions, name="t"):
    ids = {"replicaNodes": [1, 2, 3], "isrNodes": [1, 2], "offlineReplicas": [3]}
    of = [
        {"errorCode": 0, "partitionIndex": i, "leaderId": 1, "leaderEpoch": 0, **ids}
        for i in range(partitions)
    ]
    return [{"errorCode": 0, "name": f"{name}-{i}", "isInternal": False, "partitions": of} for i in range(n)]


RESPONSES = {
    "as it was": {},
    "no topics": {"topics": []},
    "many topics, long and other names": {"topics": topics(200, 3, name="thé-" * 40)},
    "many partitions": {"topics": topics(1, 300)},
    "racks, and no cluster id": {
        "clusterId": None,
        "brokers": [{"nodeId": n, "host": "h" * n, "port": 9092, "rack": "r" * n} for n in range(1, 140)],
    },
}


def request(version, changes):
    document = json.loads(json.dumps(DOCUMENT))
    document["requestHeader"]["requestApiVersion"] = version
    document["response"] |= changes
    (row,) = parse(record(HEAD + json.dumps(document).encode() + TAIL)).rows["requests"]
    return row


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_size_is_that_of_the_encoded_response(version, name):
    changes = RESPONSES[name]

    expected = len(encoded(DOCUMENT["response"] | changes, version))
    assert request(version, changes).response_bytes == expected


@pytest.mark.parametrize("version", [-1, 14])
def test_the_size_of_an_unknown_version_is_none(version):
    assert request(version, {}).response_bytes is None


def test_the_size_of_a_response_without_brokers_is_none():
    assert request(12, {"brokers": None}).response_bytes is None


def test_the_topics_of_the_response_are_counted():
    counts = [request(12, RESPONSES[name]).topics_answered for name in ("many partitions", "no topics")]

    assert counts == [1, 0]
