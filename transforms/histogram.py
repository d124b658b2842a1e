"""
Log-bucket histograms as `map<int,bigint>`: bucket -> count. Any SQL engine can merge them by addition.

A bucket contains the values `gamma^(k-1) < |x| <= gamma^k` with `gamma = (1 + a) / (1 - a)`. Its value
differs from any value in it by at most `a` = 1 %. The key is `sign(x) * (k + OFFSET)`, so keys sort like
values. Bucket 0 contains all values below one nanosecond.
"""

import math
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

RELATIVE_ERROR = 0.01
SMALLEST_MS = 1e-6
"""One nanosecond, the resolution of the finest clock. Smaller values count as zero."""

GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
LN_GAMMA = math.log(GAMMA)
OFFSET = 1 - math.ceil(math.log(SMALLEST_MS) / LN_GAMMA)
"""The offset of every exponent; the smallest value has key 1."""

Z_95 = 1.959964
RANK_SLACK = 1e-9
"""0.07 x 100 is 7.000000000000001 in binary; without the slack its rank would be 8."""


def finite(value_ms: Column) -> Column:
    """
    Return the value as a double; NULL for NaN and infinities, which are not measurements.

    >>> values = spark.createDataFrame([(1.5,), (float("nan"),), (float("-inf"),), (None,)], "ms double")
    >>> values.select("ms", finite(F.col("ms")).alias("finite")).show()
    +---------+------+
    |       ms|finite|
    +---------+------+
    |      1.5|   1.5|
    |      NaN|  NULL|
    |-Infinity|  NULL|
    |     NULL|  NULL|
    +---------+------+
    <BLANKLINE>
    """
    value = value_ms.cast("double")
    return F.when(F.abs(value) < F.lit(math.inf), value)


def bucket(value_ms: Column) -> Column:
    """
    Return the key of a value's bucket; NULL for NULL, NaN and infinities.

    >>> values = spark.createDataFrame([(-2.0,), (0.0,), (1e-06,), (2.0,), (500.0,), (None,)], "ms double")
    >>> values.select("ms", bucket(F.col("ms")).alias("bucket")).show()
    +------+------+
    |    ms|bucket|
    +------+------+
    |  -2.0|  -726|
    |   0.0|     0|
    |1.0E-6|     1|
    |   2.0|   726|
    | 500.0|  1002|
    |  NULL|  NULL|
    +------+------+
    <BLANKLINE>
    """
    value = finite(value_ms)
    exponent = F.ceil(F.log(F.abs(value)) / F.lit(LN_GAMMA)) + F.lit(OFFSET)
    return F.when(F.abs(value) < SMALLEST_MS, F.lit(0)).otherwise(F.signum(value) * exponent).cast("int")


def bucket_value(key: Column) -> Column:
    """
    Return the representative value of a bucket in ms, within 1 % of all values in the bucket.

    >>> keys = spark.createDataFrame([(-726,), (0,), (726,), (1002,), (None,)], "bucket int")
    >>> keys.select("bucket", F.round(bucket_value(F.col("bucket")), 3).alias("ms")).show()
    +------+-------+
    |bucket|     ms|
    +------+-------+
    |  -726| -1.994|
    |     0|    0.0|
    |   726|  1.994|
    |  1002|497.779|
    |  NULL|   NULL|
    +------+-------+
    <BLANKLINE>
    """
    return _signed_power(key, exponent=0, factor=2 / (GAMMA + 1))


def quantile(hist: Column, q: float, low: Column | None = None, high: Column | None = None) -> Column:
    """
    Return the nearest-rank quantile in ms, limited to the exact minimum `low` and maximum `high` if present.

    The quantile is NULL for a NULL or empty histogram.

    >>> hists = spark.createDataFrame(
    ...     [({1002: 9, 726: 1}, 2.0), ({}, None), (None, None)], "hist map<int,bigint>, low double")
    >>> hists.select(
    ...     F.round(quantile(F.col("hist"), 0.1), 3).alias("p10_ms"),
    ...     quantile(F.col("hist"), 0.1, low=F.col("low")).alias("clamped_ms"),
    ...     F.round(quantile(F.col("hist"), 0.5), 3).alias("p50_ms"),
    ... ).show()
    +------+----------+-------+
    |p10_ms|clamped_ms| p50_ms|
    +------+----------+-------+
    | 1.994|       2.0|497.779|
    |  NULL|      NULL|   NULL|
    |  NULL|      NULL|   NULL|
    +------+----------+-------+
    <BLANKLINE>
    """
    nothing = F.lit(None).cast("double")
    at_most, at_least = (nothing if bound is None else bound for bound in (high, low))

    def within_extremes(key: Column) -> Column:
        # `least` and `greatest` skip NULL, so a missing bound has no effect; a missing value must stay NULL.
        return F.when(key.isNotNull(), F.greatest(F.least(bucket_value(key), at_most), at_least))

    return _at_rank(hist, F.ceil(F.lit(q) * count(hist) - RANK_SLACK), within_extremes)


def quantile_interval(hist: Column, q: float, blocks: Column) -> tuple[Column, Column]:
    """
    Return the ends in ms of the 95 % interval of a quantile, by order statistics without a distribution.

    The ranks are `q` plus or minus `1.96 * sqrt(q * (1 - q) / blocks)`, clipped to the data. `blocks` is the
    number of independent values. Each end is the outer edge of its bucket. With fewer than
    `3.84 * (1 - q) / q` blocks the lower end is the minimum, and the interval covers less than 95 %.

    >>> hists = spark.createDataFrame(
    ...     [({726: 50, 760: 50}, 100), ({726: 50, 760: 50}, 4), ({726: 1}, None), (None, 4)],
    ...     "hist map<int,bigint>, blocks bigint")
    >>> low, high = quantile_interval(F.col("hist"), 0.25, F.col("blocks"))
    >>> hists.select("blocks", F.round(low, 2).alias("low"), F.round(high, 2).alias("high")).show()
    +------+----+----+
    |blocks| low|high|
    +------+----+----+
    |   100|1.97|2.01|
    |     4|1.97|3.98|
    |  NULL|NULL|NULL|
    |     4|NULL|NULL|
    +------+----+----+
    <BLANKLINE>
    """
    total = count(hist)
    reach = F.lit(Z_95 * math.sqrt(q * (1 - q))) / F.sqrt(blocks)
    lower_rank = F.ceil((F.lit(q) - reach) * total - RANK_SLACK)
    upper_rank = F.floor((F.lit(q) + reach) * total + RANK_SLACK) + 1
    return (
        _at_rank(hist, lower_rank, lambda key: _edge(key, outward=-1)),
        _at_rank(hist, upper_rank, lambda key: _edge(key, outward=1)),
    )


def count(hist: Column) -> Column:
    """
    Return the number of values in a histogram; NULL for a NULL histogram, 0 for an empty one.

    >>> hists = spark.createDataFrame([({726: 2, 0: 1},), ({},), (None,)], "hist map<int,bigint>")
    >>> hists.select(count(F.col("hist")).alias("n")).show()
    +----+
    |   n|
    +----+
    |   3|
    |   0|
    |NULL|
    +----+
    <BLANKLINE>
    """
    return F.aggregate(F.map_values(hist), F.lit(0).cast("bigint"), lambda total, n: total + n)


def collected(key: Column, n: Column) -> Column:
    """
    Aggregate distinct buckets and their counts into one histogram; NULL if there is no bucket.

    >>> rows = spark.createDataFrame(
    ...     [("a", 726, 2), ("a", -3, 1), ("b", None, 7)], "g string, bucket int, n bigint")
    >>> rows.groupBy("g").agg(collected(F.col("bucket"), F.col("n")).alias("hist")).orderBy("g").show()
    +---+-------------------+
    |  g|               hist|
    +---+-------------------+
    |  a|{-3 -> 1, 726 -> 2}|
    |  b|               NULL|
    +---+-------------------+
    <BLANKLINE>
    """
    entry = F.when(key.isNotNull(), F.struct(key.alias("key"), F.coalesce(n, F.lit(0)).alias("value")))
    # Sorted, so that the map does not depend on the order of tasks.
    entries = F.array_sort(F.collect_list(entry))
    return F.when(F.size(entries) > 0, F.map_from_entries(entries))


def merge(rows: DataFrame, by: Sequence[str], hist: str) -> DataFrame:
    """Add up the histograms of each `by` key; the sum is NULL if all of them are NULL or empty."""
    return (
        rows.select(*by, F.explode_outer(hist).alias("_bucket", "_n"))
        .groupBy(*by, "_bucket")
        .agg(F.sum("_n").alias("_n"))
        .groupBy(*by)
        .agg(collected(F.col("_bucket"), F.col("_n")).alias(hist))
    )


def _at_rank(hist: Column, rank: Column, value_of: Callable[[Column], Column]) -> Column:
    """
    Return `value_of` the bucket of a rank, which counts from 1 and is clipped to the data.

    The state of the fold contains every value that is used more than once. Otherwise Spark would compute
    it again for each bucket.
    """
    wanted = F.greatest(F.lit(1).cast("bigint"), F.least(rank, count(hist)))
    start = F.struct(
        F.when(rank.isNotNull(), wanted).alias("wanted"),
        F.lit(0).cast("bigint").alias("seen"),
        F.lit(None).cast("int").alias("key"),
    )

    def step(state: Column, entry: Column) -> Column:
        seen = state["seen"] + entry["value"]
        is_here = state["key"].isNull() & (seen >= state["wanted"])
        key = F.when(is_here, entry["key"]).otherwise(state["key"])
        return F.struct(state["wanted"].alias("wanted"), seen.alias("seen"), key.alias("key"))

    return F.aggregate(F.array_sort(F.map_entries(hist)), start, step, lambda state: value_of(state["key"]))


def _edge(key: Column, *, outward: int) -> Column:
    """Return the lower (-1) or upper (+1) edge of a bucket in ms."""
    is_far_side = F.signum(key) == outward
    far, near = _signed_power(key, exponent=0, factor=1.0), _signed_power(key, exponent=-1, factor=1.0)
    return F.when(key == 0, F.lit(outward * SMALLEST_MS)).when(is_far_side, far).otherwise(near)


def _signed_power(key: Column, *, exponent: int, factor: float) -> Column:
    power = F.exp((F.abs(key) - F.lit(OFFSET) + F.lit(exponent)) * F.lit(LN_GAMMA))
    return F.when(key == 0, F.lit(0.0)).otherwise(F.signum(key) * power * F.lit(factor))
