"""Columns about throttle configs; `transforms.parse.throttles` has their names."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def direction_of(config: Column) -> Column:
    """
    Return the direction that a config throttles.

    >>> names = [("leader.replication.throttled.rate",), ("follower.x",), (None,)]
    >>> configs = spark.createDataFrame(names, "config string")
    >>> [row[0] for row in configs.select(direction_of(F.col("config"))).collect()]
    ['leader', 'follower', None]
    """
    return F.substring_index(config, ".", 1)
