"""Kafka's own metric of replica fetches, as existing dashboards show it: FetchFollower TotalTimeMs."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.metrics.facts import facts
from transforms.histogram import finite
from transforms.windows import Reach

STATISTICS = {"mean_ms": "mean", "p50_ms": "p50", "p99_ms": "p99", "count": "count"}


def stock_fetch_total(samples: DataFrame, known: DataFrame) -> DataFrame:
    """
    Return one row per scrape that has FetchFollower's TotalTimeMs.

    `samples` are rows of `metric_samples`, `known` is the result of `metrics.facts.facts`.
    """
    is_it = (F.col("meaning") == "request_time_ms") & (F.col("time") == "total")
    series = known.filter(is_it & (F.col("request") == "FetchFollower"))
    whose = series.select("cluster", "series_id", F.col("broker_id").alias("leader_id"), "statistic")
    value = finite(F.col("value"))
    shown = {name: F.max(F.when(F.col("statistic") == of, value)) for name, of in STATISTICS.items()}
    return (
        samples.select("cluster", "series_id", F.col("at").alias("scraped_at"), "value")
        .join(F.broadcast(whose), on=["cluster", "series_id"], how="inner")
        .groupBy("cluster", "scraped_at", "leader_id")
        .agg(*(column.alias(name) for name, column in shown.items()))
        .filter(F.coalesce(*STATISTICS).isNotNull())
        .withColumn("count", F.col("count").cast("bigint"))
        .select(*STOCK_FETCH_TOTAL.schema.names)
    )


def _frames(inputs: Inputs) -> Mapping[Table, DataFrame]:
    known = facts(inputs.whole(METRIC_SERIES))
    return {STOCK_FETCH_TOTAL: stock_fetch_total(inputs.near(METRIC_SAMPLES), known)}


BUILD = Build(
    name="stock_fetch_total",
    tables=(STOCK_FETCH_TOTAL,),
    frames=_frames,
    reads={METRIC_SAMPLES: Reach()},
    whole=(METRIC_SERIES,),
    touched_by=(Touch(of=METRIC_SAMPLES), Touch(of=METRIC_SERIES, and_later=True)),
    needs=(METRIC_SAMPLES,),
)
