"""A6: the cost of metadata lookups by client (KIP-526), from METADATA requests of the request log."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.leader_redirect.client_tries import is_refused
from transforms.gold.partition_skew.produced import with_run
from transforms.windows import WINDOW_S, Reach, window_start

AFTER_ERROR_S = 1
"""The maximum time between an error 6 or 74 and a lookup that it causes."""

REQUESTS_REACH = Reach(lookback_s=WINDOW_S)

BY = ("cluster", "window_start", "client_id", "software_version", "run", "arm")


def metadata_lookup(requests: DataFrame, runs: DataFrame) -> DataFrame:
    """Return one row per window and client, without Plumbline's own requests."""
    requested = F.col("topics_asked")
    rows = (
        lookups(requests)
        .transform(with_run, runs)
        .withColumn("window_start", window_start(F.col("logged_at")))
        .withColumn("topics", F.transform(requested, lambda topic: F.xxhash64(topic)))  # noqa: PLW0108
    )
    return (
        rows.groupBy(*BY)
        .agg(
            F.count(F.lit(1)).alias("lookups"),
            F.count_if(requested.isNull()).alias("all_topics_lookups"),
            F.coalesce(F.sum(F.size("topics")), F.lit(0)).cast("bigint").alias("topics_asked"),
            F.max(F.size("topics")).cast("bigint").alias("topics_asked_most"),
            F.sum("topics_answered").alias("topics_answered"),
            F.sum("response_bytes").alias("response_bytes"),
            F.count_if("is_after_error").alias("lookups_after_error"),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("topics")))).alias("topics"),
        )
        .select(*METADATA_LOOKUP.schema.names)
    )


def lookups(requests: DataFrame) -> DataFrame:
    """Return each METADATA request once. `is_after_error` marks lookups after an error 6 or 74."""
    is_lookup = F.col("api") == "METADATA"
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    relevant = requests.filter((is_lookup | is_refused()) & ~is_own & F.col("logged_at").isNotNull())
    by_client = Window.partitionBy("cluster", "client_id").orderBy("happened_us")
    failed_us = F.max(F.when(~is_lookup, F.col("happened_us"))).over(
        by_client.rangeBetween(-AFTER_ERROR_S * 1_000_000, Window.currentRow)
    )
    return (
        relevant.dropDuplicates(["cluster", "position"])
        .withColumn("happened_us", F.when(is_lookup, _micros("started_at")).otherwise(_micros("logged_at")))
        .withColumn("is_after_error", failed_us.isNotNull())
        .filter(is_lookup)
        .select(
            "cluster",
            "position",
            "logged_at",
            "client_id",
            "software_version",
            "topics_asked",
            "topics_answered",
            "response_bytes",
            "is_after_error",
        )
    )


def _micros(at: str) -> Column:
    return F.unix_micros(at)


def _frames(inputs: Inputs) -> Mapping[Table, DataFrame]:
    return {METADATA_LOOKUP: metadata_lookup(inputs.near(REQUESTS), inputs.whole(RUNS))}


BUILD = Build(
    name="metadata_lookup",
    tables=(METADATA_LOOKUP,),
    frames=_frames,
    reads={REQUESTS: REQUESTS_REACH},
    whole=(RUNS,),
    touched_by=(
        Touch(of=REQUESTS, where="api = 'METADATA'"),
        Touch(of=REQUESTS, where=is_refused, reach=REQUESTS_REACH),
        Touch(of=RUNS, and_later=True),
    ),
)
