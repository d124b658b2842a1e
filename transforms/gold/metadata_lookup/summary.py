"""Metadata lookups over a time range: new and evicted topics, and the growth of the cost."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.metadata_lookup import METADATA_LOOKUP_SUMMARY
from transforms.gold.partition_skew.ratios import ratio
from transforms.windows import WINDOW_S

CLIENT = ("cluster", "client_id", "software_version", "run")
MIN_POINTS, MIN_TOPICS = 5, 16
"""The minimum number of windows with new topics, and of topics, for a growth exponent."""


def metadata_lookup_summary(windows: DataFrame) -> DataFrame:
    """Return one row per client: sums of `gold.metadata_lookup`, new and evicted topics, and growth."""
    keyed = windows.withColumns({name: F.coalesce(name, F.lit("")) for name in ("software_version", "run")})
    sums = keyed.groupBy(*CLIENT).agg(
        F.max("arm").alias("arm"),
        F.min("window_start").alias("since"),
        (F.max("window_start") + F.make_dt_interval(secs=F.lit(WINDOW_S))).alias("until"),
        *(
            F.sum(name).alias(name)
            for name in (
                "lookups",
                "all_topics_lookups",
                "topics_asked",
                "topics_answered",
                "response_bytes",
                "lookups_after_error",
            )
        ),
        F.max("topics_asked_most").alias("topics_asked_most"),
    )
    new, asked, named = (
        F.col("new_topics"),
        F.col("topics_asked"),
        F.col("lookups") - F.col("all_topics_lookups"),
    )
    return (
        sums.join(remembered(keyed), on=list(CLIENT), how="left")
        .join(growth(keyed), on=list(CLIENT), how="left")
        .fillna(0, subset=["new_topics", "evicted_topics"])
        .withColumns(
            {
                "lookups_per_new_topic": ratio(F.col("lookups"), new),
                "topics_per_lookup": ratio(asked, named),
                "bytes_per_1000_new_topics": ratio(F.lit(1000) * F.col("response_bytes"), new),
            }
        )
        .withColumns({name: F.nullif(name, F.lit("")) for name in ("software_version", "run")})
        .select(*METADATA_LOOKUP_SUMMARY.schema.names)
    )


def remembered(windows: DataFrame) -> DataFrame:
    """
    Return `new_topics` and `evicted_topics` of each client, from a simulation of its metadata cache.

    A window that requests a cached topic is a refresh, and the topics that it omits were evicted. A window
    that requests only unknown topics adds them to the cache.
    """
    ordered = F.transform(
        F.array_sort(F.collect_list(F.struct("window_start", "topics"))), lambda window: window["topics"]
    )
    ordered_topics = windows.filter(F.size("topics") > 0).groupBy(*CLIENT).agg(ordered.alias("windows"))
    nothing = F.array().cast("array<bigint>")
    start = F.struct(
        nothing.alias("cache"), nothing.alias("seen"), F.lit(0).alias("new"), F.lit(0).alias("evicted")
    )
    folded = F.aggregate("windows", start, _remember)
    return ordered_topics.withColumn("folded", folded).select(
        *CLIENT,
        F.col("folded.new").cast("bigint").alias("new_topics"),
        F.col("folded.evicted").cast("bigint").alias("evicted_topics"),
    )


def _remember(state: Column, topics: Column) -> Column:
    is_refresh = F.arrays_overlap(state["cache"], topics)
    left_out = F.size(F.array_except(state["cache"], topics))
    return F.struct(
        F.when(is_refresh, topics).otherwise(F.array_union(state["cache"], topics)).alias("cache"),
        F.array_union(state["seen"], topics).alias("seen"),
        (state["new"] + F.size(F.array_except(topics, state["seen"]))).alias("new"),
        (state["evicted"] + F.when(is_refresh, left_out).otherwise(0)).alias("evicted"),
    )


def growth(windows: DataFrame) -> DataFrame:
    """
    Return x of `requested topics ~ new topics^x` for each client, by least squares of the logarithms.

    Only windows with new topics are points, because refreshes grow with time and not with topics.
    """
    first = (
        windows.withColumn("topic", F.explode("topics"))
        .groupBy(*CLIENT, "topic")
        .agg(F.min("window_start").alias("window_start"))
        .groupBy(*CLIENT, "window_start")
        .agg(F.count(F.lit(1)).alias("new"))
    )
    so_far = Window.partitionBy(*CLIENT).orderBy("window_start").rowsBetween(Window.unboundedPreceding, 0)
    points = (
        windows.join(first, on=[*CLIENT, "window_start"], how="left")
        .withColumns({"x": F.sum("new").over(so_far), "y": F.sum("topics_asked").over(so_far)})
        .filter((F.col("new") > 0) & (F.col("x") > 1) & (F.col("y") > 0))
    )
    fitted = F.regr_slope(F.log("y"), F.log("x"))
    is_enough = (F.count(F.lit(1)) >= MIN_POINTS) & (F.max("x") >= MIN_TOPICS)
    return points.groupBy(*CLIENT).agg(F.when(is_enough, fitted).alias("growth_exponent"))
