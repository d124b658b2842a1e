"""Log-bucket histograms: they keep 1 %, add up, and their intervals cover what they promise."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from transforms.histogram import (
    OFFSET,
    RELATIVE_ERROR,
    bucket,
    bucket_value,
    collected,
    merge,
    quantile,
    quantile_interval,
)

few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
milliseconds = st.floats(-1e6, 1e6, allow_nan=False).map(lambda ms: 0.0 if abs(ms) < 1e-6 else ms)


def histogram_of(values):
    """Bucket by the same rule in numpy, so that a test of many intervals need not do it in Spark."""
    gamma = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
    keys = np.ceil(np.log(np.abs(values)) / math.log(gamma)).astype(int) + OFFSET
    found, counts = np.unique(keys, return_counts=True)
    return {int(key): int(n) for key, n in zip(found, counts, strict=True)}


@few
@given(st.lists(milliseconds, min_size=1, max_size=30))
def test_bucket_stands_for_its_values_within_one_percent_and_sorts_like_them(spark, values):
    rows = (
        spark.createDataFrame([(ms,) for ms in values], "ms double")
        .select("ms", bucket(F.col("ms")).alias("bucket"))
        .select("*", bucket_value(F.col("bucket")).alias("value"))
        .collect()
    )

    assert all(abs(row.value - row.ms) <= RELATIVE_ERROR * abs(row.ms) + 1e-12 for row in rows)
    assert [row.bucket for row in sorted(rows, key=lambda row: row.ms)] == sorted(row.bucket for row in rows)


@few
@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=60), st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0]))
def test_quantile_is_the_nearest_rank_within_one_percent(spark, values, q):
    exact = sorted(values)[max(1, math.ceil(q * len(values) - 1e-9)) - 1]
    frame = spark.createDataFrame([(histogram_of(np.array(values)),)], "hist map<int,bigint>")

    assert frame.select(quantile(F.col("hist"), q)).first()[0] == pytest.approx(exact, rel=0.0101)


def test_nan_and_infinities_never_enter(spark):
    rows = spark.createDataFrame([(float("nan"),), (float("inf"),), (float("-inf"),), (None,)], "ms double")

    assert [row[0] for row in rows.select(bucket(F.col("ms"))).collect()] == [None] * 4


def test_quantile_stays_within_the_exact_extremes(spark):
    """A bucket's value may lie beyond every value that fell into it."""
    frame = spark.createDataFrame([({726: 3}, 1.97, 1.98)], "hist map<int,bigint>, low double, high double")

    value = frame.select(quantile(F.col("hist"), 0.5, low=F.col("low"), high=F.col("high"))).first()[0]
    assert value == 1.98


def test_merging_equals_having_counted_together(spark):
    values = np.random.default_rng(1).lognormal(1, 2, 500)
    parts = [("a", histogram_of(part)) for part in np.split(values, 5)] + [("a", None), ("b", {})]
    frame = spark.createDataFrame(parts, "g string, hist map<int,bigint>")

    merged = {row.g: row.hist for row in merge(frame, ["g"], "hist").collect()}

    assert merged == {"a": histogram_of(values), "b": None}


def test_aggregated_map_is_the_same_whatever_order_rows_come_in(spark):
    rows = [(key, 1) for key in (5, -3, 700, 0)]
    entries = F.map_entries(collected(F.col("k"), F.col("n")))
    maps = [
        spark.createDataFrame(order, "k int, n bigint").agg(entries).first()[0]
        for order in (rows, rows[::-1])
    ]

    assert maps[0] == maps[1] == [(-3, 1), (0, 1), (5, 1), (700, 1)]


@pytest.mark.parametrize("q", [0.1, 0.5])
def test_interval_covers_the_true_quantile_of_correlated_data_in_95_of_100_tries(spark, q):
    """
    Ten seconds of 500 round trips, AR(1) with a memory of 100 ms: fetches are not independent, blocks nearly.

    Counting all 500 as independent would cover far less, which the second figure shows.
    """
    tries, n, blocks, memory = 300, 500, 50, math.exp(-1 / 5)  # 20 ms apart, correlated over 100 ms
    rng = np.random.default_rng(736)
    noise = rng.normal(0, math.sqrt(1 - memory**2), (tries, n))
    x = np.zeros((tries, n))
    x[:, 0] = rng.normal(0, 1, tries)
    for step in range(1, n):
        x[:, step] = memory * x[:, step - 1] + noise[:, step]
    truth = math.exp(0.3 * {0.1: -1.2815515, 0.5: 0.0}[q])
    rows = [(histogram_of(np.exp(0.3 * one)), count) for one in x for count in (blocks, n)]
    frame = spark.createDataFrame(rows, "hist map<int,bigint>, blocks bigint")
    low, high = quantile_interval(F.col("hist"), q, F.col("blocks"))

    is_covered = F.lit(truth).between(low, high).cast("double")
    covered = {
        row.blocks: row.c for row in frame.groupBy("blocks").agg(F.avg(is_covered).alias("c")).collect()
    }

    assert covered[blocks] >= 0.93
    assert covered[n] < 0.9
