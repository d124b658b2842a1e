"""The settings of replication throttles (KIP-73): their names, and how a list of replicas is written."""

from pyspark.sql import Column
from pyspark.sql import functions as F

DIRECTIONS = ("leader", "follower")
RATES = tuple(f"{direction}.replication.throttled.rate" for direction in DIRECTIONS)
LISTS = tuple(f"{direction}.replication.throttled.replicas" for direction in DIRECTIONS)

RESOURCES = {2: "topic", 4: "broker"}
"""`ConfigResource.Type`: the two that throttles are set on."""

SETTINGS = {"topic": LISTS, "broker": RATES}
"""What throttles are set by on each."""

UNLIMITED = 2**63 - 1
"""The rate of a broker that was told none (`QuotaConfig.QUOTA_BYTES_PER_SECOND_DEFAULT`)."""


def is_throttle(config: Column) -> Column:
    """Tell whether a setting is one of the four."""
    return config.isin(*RATES, *LISTS)


def direction_of(config: Column) -> Column:
    """
    Give the direction that a setting throttles.

    >>> names = [("leader.replication.throttled.rate",), ("follower.x",), (None,)]
    >>> configs = spark.createDataFrame(names, "config string")
    >>> [row[0] for row in configs.select(direction_of(F.col("config"))).collect()]
    ['leader', 'follower', None]
    """
    return F.substring_index(config, ".", 1)


def replicas(value: Column) -> Column:
    """
    Read `partition:broker,...`; NULL for `*` and of what is no list.

    What is no pair is left out, and what comes twice.

    >>> lists = spark.createDataFrame([("0:1, 12:3,0:1",), ("",), ("*",), ("0:x,7:2",), (None,)], "v string")
    >>> lists.select("v", replicas(F.col("v")).alias("replicas")).show(truncate=False)
    +-------------+-----------------+
    |v            |replicas         |
    +-------------+-----------------+
    |0:1, 12:3,0:1|[{0, 1}, {12, 3}]|
    |             |[]               |
    |*            |NULL             |
    |0:x,7:2      |[{7, 2}]         |
    |NULL         |NULL             |
    +-------------+-----------------+
    <BLANKLINE>
    """
    pairs = F.transform(
        F.split(value, r"\s*,\s*"),
        lambda pair: F.struct(
            F.get(F.split(pair, ":"), F.lit(0)).try_cast("int").alias("partition"),
            F.get(F.split(pair, ":"), F.lit(1)).try_cast("int").alias("broker_id"),
        ),
    )
    read = F.filter(pairs, lambda pair: pair["partition"].isNotNull() & pair["broker_id"].isNotNull())
    return F.when(~wildcard(value), F.array_distinct(read))


def wildcard(value: Column) -> Column:
    """
    Tell whether a list means every replica.

    >>> lists = spark.createDataFrame([("*",), ("0:1",), (None,)], "v string")
    >>> [row[0] for row in lists.select(wildcard(F.col("v"))).collect()]
    [True, False, None]
    """
    return F.trim(value) == "*"
