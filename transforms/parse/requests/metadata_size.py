"""
Calculate the size of a METADATA response on the wire from its contents.

The request log has no sizes. The version fixes the encoding, so names, counts and ids determine the size
(MetadataResponse.json, versions 0 to 13; compact types and tagged fields since 9). The size includes the
4-byte length prefix, the response header and the body.
"""
# ruff: noqa: ANN401 (structs and rows whose types are made at run time)

from typing import Any

NEWEST = 13
LENGTH, CORRELATION_ID = 4, 4
UUID, INT32, INT16, BOOL = 16, 4, 2, 1
VARINT_LIMITS = (1 << 7, 1 << 14, 1 << 21)


class _Encoding:
    """
    The field sizes of one version.

    Since version 9 a length is a varint of length + 1, and each struct ends with a count of 0 tagged fields.
    """

    def __init__(self, version: int) -> None:
        self.version = version
        self.is_flexible = version >= 9  # noqa: PLR2004 (see the docstring)
        self.tags = 1 if self.is_flexible else 0

    def since(self, first: int, size: int) -> int:
        return size if self.version >= first else 0

    def count(self, n: int) -> int:
        return varint(n + 1) if self.is_flexible else INT32

    def string(self, text: str | None) -> int:
        n = 0 if text is None else len(text) if text.isascii() else len(text.encode())
        length = (1 if text is None else varint(n + 1)) if self.is_flexible else INT16
        return length + n

    def broker(self, broker: Any) -> int:
        return 2 * INT32 + self.string(broker.host) + self.since(1, self.string(broker.rack)) + self.tags

    def topic(self, topic: Any) -> int:
        head = INT16 + self.string(topic.name) + self.since(10, UUID) + self.since(1, BOOL)
        partitions = sum(map(self.partition, topic.partitions))
        return head + self.count(len(topic.partitions)) + partitions + self.since(8, INT32) + self.tags

    def partition(self, one: Any) -> int:
        ids = self.ids(one.replica_nodes) + self.ids(one.isr_nodes)
        ids += self.since(5, self.ids(one.offline_replicas))
        return INT16 + 2 * INT32 + self.since(7, INT32) + ids + self.tags

    def ids(self, ids: list[int] | None) -> int:
        n = len(ids) if ids else 0
        return self.count(n) + n * INT32


def response_bytes(version: int, response: Any) -> int | None:
    """Return the size of a response in bytes; None for an unknown version."""
    brokers, topics = response.brokers, response.topics
    if not 0 <= version <= NEWEST or brokers is None:
        return None
    size = _Encoding(version)
    authorized_operations = INT32 if 8 <= version <= 10 else 0  # noqa: PLR2004 (its versions)
    return (
        (LENGTH + CORRELATION_ID + size.tags)
        + (size.since(3, INT32) + size.count(len(brokers)) + sum(map(size.broker, brokers)))  # throttleTimeMs
        + (size.since(2, size.string(response.cluster_id)) + size.since(1, INT32))  # controllerId
        + (size.count(len(topics)) + sum(map(size.topic, topics)))
        + (authorized_operations + size.since(13, INT16) + size.tags)  # errorCode
    )


def varint(value: int) -> int:
    """
    Return the number of bytes of an unsigned varint, which has seven bits per byte.

    >>> [varint(value) for value in (1, 127, 128, 16_383, 16_384)]
    [1, 1, 2, 2, 3]
    """
    return 1 + sum(value >= limit for limit in VARINT_LIMITS)
