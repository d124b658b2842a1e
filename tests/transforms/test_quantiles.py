"""Histograms that SQL writes, and their quantiles in NumPy, equal those of Spark's expressions."""

import random

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from transforms import histogram, sql
from transforms.frames import frame_of_arrow
from transforms.quantiles import Histograms

DICE = random.Random(7)


def a_histogram(size):
    return {DICE.randrange(-1200, 1400): DICE.randrange(1, 50) for _ in range(size)}


HISTS = [a_histogram(size) for size in (1, 2, 3, 10, 60) for _ in range(20)]
HISTS += [{}, None, {0: 4}, {-5: 1, 0: 2}]


def test_the_bucket_of_a_value_is_the_one_of_spark(spark):
    values = [n / 1_000 for n in range(-3_000, 30_000, 7)] + [DICE.lognormvariate(0, 4) for _ in range(3_000)]
    rows = pa.table({"ms": pa.array([*values, None, 1e-7, 0.0])})

    with sql.connect({"rows": rows}) as db:
        query = f"SELECT {sql.bucket('ms')} FROM rows"  # noqa: S608 (a constant)
        of_sql = [row[0] for row in db.sql(query).fetchall()]
    of_spark = frame_of_arrow(spark, rows).select(histogram.bucket(F.col("ms"))).collect()

    assert of_sql == [row[0] for row in of_spark]


@pytest.mark.parametrize("q", [0.1, 0.5, 0.99])
def test_quantiles_and_their_intervals_are_those_of_spark(spark, q):
    blocks = [DICE.randrange(1, 50) for _ in HISTS]
    hists = [None if hist is None else sorted(hist.items()) for hist in HISTS]
    rows = pa.table({"hist": pa.array(hists, pa.map_(pa.int32(), pa.int64())), "blocks": blocks})
    none = np.full(len(HISTS), np.nan)
    of_numpy = Histograms(rows["hist"])
    found = [of_numpy.quantile(q, none, none), *of_numpy.interval(q, np.array(blocks))]

    column = F.col("hist")
    ends = histogram.quantile_interval(column, q, F.col("blocks"))
    wanted = frame_of_arrow(spark, rows).select(histogram.quantile(column, q), *ends).collect()

    for of_column, values in enumerate(found):
        of_spark = [np.nan if row[of_column] is None else row[of_column] for row in wanted]
        assert values == pytest.approx(of_spark, rel=1e-12, nan_ok=True)


def test_a_quantile_is_within_the_extremes():
    hists = Histograms(pa.chunked_array([pa.array([[(726, 3)]], pa.map_(pa.int32(), pa.int64()))]))

    assert hists.quantile(0.5, np.array([1.999]), np.array([2.0])) == [1.999]
    assert hists.quantile(0.5, np.array([1.9]), np.array([1.95])) == [1.95]
