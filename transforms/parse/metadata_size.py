"""
How many bytes a METADATA answer was on the wire, worked out from what it holds.

The request log has no sizes. The encoding is fixed by the version, so the size follows from names, counts and
ids (MetadataResponse.json, versions 0 to 13; compact forms and tagged fields since 9). Counted is all that
the broker sends: the length in front (4 bytes), the response header, the body.
"""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

HAS_CLUSTER_ID, HAS_OFFLINE_REPLICAS = 2, 5
FLEXIBLE = 9
"""From this version on lengths are varints of one more, and each struct ends with its tagged fields: none."""

LENGTH, CORRELATION_ID = 4, 4
UUID, INT32, INT16, BOOL = 16, 4, 2, 1

BROKERS = "brokers ARRAY<STRUCT<host STRING, rack STRING>>"
_IDS = ", ".join(f"{name} ARRAY<INT>" for name in ("replicaNodes", "isrNodes", "offlineReplicas"))
PARTITIONS = f"partitions ARRAY<STRUCT<{_IDS}>>"
"""What has to be read of an answer, and of each of its topics."""


def response_bytes(version: Column, response: Column) -> Column:
    """Give the size of an answer in bytes; NULL when its version is newer than what is known here."""
    is_known = version.between(0, 13) & response.topics.isNotNull() & response.brokers.isNotNull()
    brokers, topics = response.brokers, response.topics
    size = (
        F.lit(LENGTH + CORRELATION_ID)
        + _tags(version)  # of the header
        + _since(version, 3, INT32)  # throttleTimeMs
        + _list(version, brokers, lambda broker: _broker(version, broker))
        + _when(version >= HAS_CLUSTER_ID, _string(version, response.clusterId))
        + _since(version, 1, INT32)  # controllerId
        + _list(version, topics, lambda topic: _topic(version, topic))
        + F.when(version.between(8, 10), INT32).otherwise(0)  # clusterAuthorizedOperations
        + _since(version, 13, INT16)  # errorCode
        + _tags(version)
    )
    return F.when(is_known, size.cast("bigint"))


def _broker(version: Column, broker: Column) -> Column:
    rack = _when(version >= 1, _string(version, broker.rack))
    return F.lit(2 * INT32) + _string(version, broker.host) + rack + _tags(version)


def _topic(version: Column, topic: Column) -> Column:
    return (
        F.lit(INT16)
        + _string(version, topic["name"])
        + _since(version, 10, UUID)
        + _since(version, 1, BOOL)
        + _list(version, topic.partitions, lambda partition: _partition(version, partition))
        + _since(version, 8, INT32)
        + _tags(version)
    )


def _partition(version: Column, partition: Column) -> Column:
    return (
        F.lit(INT16 + 2 * INT32)
        + _since(version, 7, INT32)
        + _ids(version, partition.replicaNodes)
        + _ids(version, partition.isrNodes)
        + _when(version >= HAS_OFFLINE_REPLICAS, _ids(version, partition.offlineReplicas))
        + _tags(version)
    )


def _list(version: Column, items: Column, size_of: Callable[[Column], Column]) -> Column:
    total = F.aggregate(items, F.lit(0), lambda so_far, item: so_far + size_of(item))
    return _count(version, F.size(items)) + F.coalesce(total, F.lit(0))


def _ids(version: Column, ids: Column) -> Column:
    n = F.when(ids.isNull(), 0).otherwise(F.size(ids))
    return _count(version, n) + n * INT32


def _count(version: Column, n: Column) -> Column:
    return F.when(version >= FLEXIBLE, _varint(n + 1)).otherwise(INT32)


def _string(version: Column, text: Column) -> Column:
    n = F.coalesce(F.octet_length(text), F.lit(0))
    return (
        F.when(version >= FLEXIBLE, F.when(text.isNull(), 1).otherwise(_varint(n + 1))).otherwise(INT16) + n
    )


def _varint(value: Column) -> Column:
    """
    Give the bytes of an unsigned varint: seven bits a byte.

    >>> values = spark.createDataFrame([(1,), (127,), (128,), (16_383,), (16_384,)], "value int")
    >>> [row[0] for row in values.select(_varint(F.col("value"))).collect()]
    [1, 1, 2, 2, 3]
    """
    return F.when(value < 1 << 7, 1).when(value < 1 << 14, 2).when(value < 1 << 21, 3).otherwise(4)


def _tags(version: Column) -> Column:
    return _since(version, FLEXIBLE, 1)


def _since(version: Column, first: int, size: int) -> Column:
    return F.when(version >= first, size).otherwise(0)


def _when(condition: Column, size: Column) -> Column:
    return F.when(condition, size).otherwise(0)
