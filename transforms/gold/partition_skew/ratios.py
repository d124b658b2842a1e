"""Ratios and quantiles of partition skew over a time range, in Spark."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.histogram import quantile


def with_ratios(rows: DataFrame, by: tuple[str, ...]) -> DataFrame:
    """Add the columns computed from sums: means per batch, quantiles, and the share within `by`."""
    hist, low, high = (F.col(name) for name in ("produce_hist", "min_ms", "max_ms"))
    of_all = F.sum("bytes").over(Window.partitionBy(*by))
    return rows.withColumns(
        {
            "bytes_per_batch": ratio(F.col("bytes"), F.col("batches")),
            "records_per_batch": ratio(F.col("records"), F.col("batches_counted")),
            "share": ratio(F.col("bytes"), of_all),
            "produce_p50_ms": quantile(hist, 0.5, low=low, high=high),
            "produce_p99_ms": quantile(hist, 0.99, low=low, high=high),
        }
    )


def ratio(part: Column, whole: Column) -> Column:
    """
    Return part / whole; NULL unless `whole` is positive.

    >>> rows = spark.createDataFrame([(1, 2), (1, 0), (None, 2)], "part int, whole int")
    >>> rows.select("part", "whole", ratio(F.col("part"), F.col("whole")).alias("ratio")).show()
    +----+-----+-----+
    |part|whole|ratio|
    +----+-----+-----+
    |   1|    2|  0.5|
    |   1|    0| NULL|
    |NULL|    2| NULL|
    +----+-----+-----+
    <BLANKLINE>
    """
    return F.when(whole > 0, part / whole)


def total_of(values: Column) -> Column:
    """
    Return the sum of an array; NULL if an element is NULL.

    >>> rows = spark.createDataFrame([([1.0, 2.5],), ([1.0, None],), ([],), (None,)], "of array<double>")
    >>> rows.select("of", total_of(F.col("of")).alias("total")).show()
    +-----------+-----+
    |         of|total|
    +-----------+-----+
    | [1.0, 2.5]|  3.5|
    |[1.0, NULL]| NULL|
    |         []|  0.0|
    |       NULL| NULL|
    +-----------+-----+
    <BLANKLINE>
    """
    return F.aggregate(values, F.lit(0.0), lambda total, one: total + one)
