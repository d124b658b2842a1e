"""The increases of each request type between two scrapes: requests, and the sums in their MBeans."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.metrics.counters import counted, steps, with_process_start

NODE = ("cluster", "node", "broker_id")
BY = (*NODE, "request")
COUNTERS = ("total_n", "remote_n")
SUMS, SQUARES = ("total_sum", "remote_sum"), "remote_squares"
BEANS = ("total", "remote")
STATISTICS = ("count", "mean", "stddev")


def intervals_of(samples: DataFrame, facts: DataFrame) -> DataFrame:
    """
    Return the increases of each broker and request type between neighbouring scrapes, without idle intervals.

    `samples` are rows of `metric_samples` from `counters.BRIDGED_S` before the windows. `facts` is the result
    of `metrics.facts.facts`.
    """
    is_time = (F.col("meaning") == "request_time_ms") & F.col("time").isin(*BEANS)
    is_start = F.col("meaning") == "process_start_s"
    wanted = facts.filter((is_time & F.col("statistic").isin(*STATISTICS)) | is_start)
    columns = ("cluster", "node", "broker_id", "series_id", "meaning", "statistic", "time", "request")
    named = samples.select("cluster", "series_id", "at", "value").join(
        F.broadcast(wanted.select(*columns)), on=["cluster", "series_id"], how="inner"
    )
    scrapes = named.filter(~is_start).transform(_scrapes)
    stepped = steps(
        with_process_start(scrapes, named.filter(is_start)),
        (*BY, "has_means", "has_spread"),
        COUNTERS,
        derived=(*SUMS, SQUARES),
        carried=("n_apart",),
    )
    n, n_remote, total, remote, squares = (F.col(f"{name}_increase") for name in (*COUNTERS, *SUMS, SQUARES))
    return stepped.filter(n.isNull() | (n > 0) | (n_remote > 0)).select(
        *BY,
        "from_at",
        "to_at",
        n.cast("bigint").alias("n"),
        F.when(F.col("has_means"), n_remote).cast("bigint").alias("n_remote"),
        *(F.col(f"n_apart_{end}").cast("bigint").alias(f"n_apart_{end}") for end in ("from", "to")),
        F.when(F.col("has_means"), total).alias("total_sum_ms"),
        F.when(F.col("has_means"), remote).alias("remote_sum_ms"),
        F.when(F.col("has_spread"), squares).alias("remote_square_sum"),
        "is_reset",
    )


def _scrapes(named: DataFrame) -> DataFrame:
    """Return one row per scrape and request type. A request type without a Mean has only its Count."""
    shown = {
        f"{time}_{statistic}": F.max(
            F.when((F.col("time") == time) & (F.col("statistic") == statistic), counted(F.col("value")))
        )
        for time in BEANS
        for statistic in STATISTICS
    }
    sums = {f"{time}_n": F.col(f"{time}_count") for time in BEANS}
    sums |= {f"{time}_sum": summed(F.col(f"{time}_count"), F.col(f"{time}_mean")) for time in BEANS}
    sums |= {SQUARES: squared(*(F.col(f"remote_{statistic}") for statistic in STATISTICS))}
    return (
        named.groupBy(*BY, "at")
        .agg(*[value.alias(name) for name, value in shown.items()])
        .withColumns(sums)
        .withColumn("has_means", _has(*COUNTERS, *SUMS))
        .withColumn("has_spread", F.col("has_means") & _has(SQUARES))
        .withColumn("remote_n", F.when(F.col("has_means"), F.col("remote_n")).otherwise(F.col("total_n")))
        .withColumns({name: F.when(F.col("has_means"), F.col(name)).otherwise(F.lit(0.0)) for name in SUMS})
        .withColumn(SQUARES, F.when(F.col("has_spread"), F.col(SQUARES)).otherwise(F.lit(0.0)))
        .withColumn("n_apart", F.abs(F.col("total_n") - F.col("remote_n")))
    )


def _has(*names: str) -> Column:
    """Return whether any scrape has each of these columns for the request type."""
    of_type = Window.partitionBy(*BY)
    known = [F.max(F.col(name)).over(of_type).isNotNull().cast("int") for name in names]
    return sum(known[1:], known[0]) == len(names)


def summed(count: Column, mean: Column) -> Column:
    """
    Return the sum in an MBean: Count x Mean, rounded.

    The MBean adds whole milliseconds and exposes the mean as a full double. Below 2^51 ms the rounded product
    is therefore exactly the sum, and differences of sums are exact.

    >>> beans = spark.createDataFrame(
    ...     [(3.0, 10 / 3), (0.0, 0.0), (3.0, None), (None, 1.0)], "count double, mean double")
    >>> beans.select(summed(F.col("count"), F.col("mean")).alias("sum_ms")).show()
    +------+
    |sum_ms|
    +------+
    |  10.0|
    |   0.0|
    |  NULL|
    |  NULL|
    +------+
    <BLANKLINE>
    """
    return F.round(count * mean)


def squared(count: Column, mean: Column, stddev: Column) -> Column:
    """
    Return the sum of squares from the Count, Mean and StdDev of an MBean.

    >>> beans = spark.createDataFrame(
    ...     [(2.0, 5.0, 50**0.5), (1.0, 7.0, 0.0), (0.0, 0.0, 0.0), (2.0, 5.0, None)],
    ...     "count double, mean double, stddev double")
    >>> beans.select(squared(F.col("count"), F.col("mean"), F.col("stddev")).alias("squares")).show()
    +-------+
    |squares|
    +-------+
    |  100.0|
    |   49.0|
    |    0.0|
    |   NULL|
    +-------+
    <BLANKLINE>
    """
    others = F.when(count > 1, count - 1).otherwise(F.lit(0.0))
    return F.round(stddev * stddev * others + count * mean * mean)
