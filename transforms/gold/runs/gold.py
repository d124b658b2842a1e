"""Gold figures of each run after its warm-up, one row per figure, for comparisons of runs."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.leader_redirect import REDIRECT
from transforms.frames import united
from transforms.gold.partition_skew.span import partition_skew_span
from transforms.gold.partition_skew.summary import evenness
from transforms.gold.runs.windows import RUN
from transforms.histogram import merge, quantile
from transforms.windows import WINDOW_S, seconds

APART = "\x1f"
LATENCIES = ("leader_local", "true")
LOOKUPS = ("lookups", "topics_asked", "response_bytes")


def run_gold(
    facts: DataFrame, skew: DataFrame, redirects: DataFrame, lookups: DataFrame, fetches: DataFrame
) -> DataFrame:
    """
    Return (cluster, run, arm, metric, value) with `metric` as table.column, without missing values.

    Gold tables of clients have the run in each row, after its warm-up. Fetch latency is that of all
    followers, in the windows that are completely inside the run.
    """
    return united(
        [
            skew_figures(skew.filter(_is_of_run())),
            redirect_figures(redirects.filter(_is_of_run())),
            lookup_figures(lookups.filter(_is_of_run())),
            fetch_figures(fetches, facts),
        ]
    ).filter(F.col("value").isNotNull())


def skew_figures(skew: DataFrame) -> DataFrame:
    """Return the evenness of each run's bytes; the least even topic if there are several."""
    # Runs of a block share their name, so the key for the summary is arm and name.
    both = skew.withColumn("run", F.concat_ws(APART, "arm", "run"))
    arm_and_run = F.split("run", APART)
    judged = evenness(partition_skew_span(both)).withColumns({"arm": arm_and_run[0], "run": arm_and_run[1]})
    figures = ("max_over_mean", "coefficient_of_variation")
    return _long(
        "partition_skew", judged.groupBy(*RUN).agg(*(F.max(name).alias(name) for name in figures)), figures
    )


def redirect_figures(redirects: DataFrame) -> DataFrame:
    """Return the times without a leader for the clients of each run."""
    finished = redirects.filter((F.col("kind") == REDIRECT) & F.col("redirect_ms").isNotNull())
    each = finished.groupBy(*RUN).agg(
        F.median("redirect_ms").alias("redirect_p50_ms"), F.max("redirect_ms").alias("redirect_max_ms")
    )
    return _long("leader_redirect", each, ("redirect_p50_ms", "redirect_max_ms"))


def lookup_figures(lookups: DataFrame) -> DataFrame:
    """Return the metadata lookups of each run's clients."""
    each = lookups.groupBy(*RUN).agg(*(F.sum(name).alias(name) for name in LOOKUPS))
    return _long("metadata_lookup", each, LOOKUPS)


def fetch_figures(fetches: DataFrame, facts: DataFrame) -> DataFrame:
    """Return the latency of follower fetches from the end of each run's warm-up to its end."""
    since = F.col("started_at") + F.make_dt_interval(secs=F.coalesce("warm_up_s", F.lit(0.0)))
    spans = facts.select(*RUN, since.alias("since"), "ended_at").filter(F.col("ended_at").isNotNull())
    is_within = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("window_start") >= F.col("since"),
        F.col("window_start") + seconds(WINDOW_S) <= F.col("ended_at"),
    ]
    names = [f"{latency}_hist" for latency in LATENCIES]
    of_followers = fetches.filter(F.col("kind") == "follower").select(
        F.col("cluster").alias("of_cluster"), "window_start", *names
    )
    meanwhile = of_followers.join(F.broadcast(spans), on=is_within, how="inner")
    return united(
        [
            _long(
                "fetch_latency",
                merge(meanwhile, RUN, f"{latency}_hist").select(
                    *RUN,
                    quantile(F.col(f"{latency}_hist"), 0.5).alias(f"{latency}_p50_ms"),
                    quantile(F.col(f"{latency}_hist"), 0.99).alias(f"{latency}_p99_ms"),
                ),
                (f"{latency}_p50_ms", f"{latency}_p99_ms"),
            )
            for latency in LATENCIES
        ]
    )


def _long(table: str, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    pairs = [
        F.struct(F.lit(f"{table}.{name}").alias("metric"), F.col(name).cast("double").alias("value"))
        for name in columns
    ]
    return rows.select(*RUN, F.inline(F.array(*pairs)))


def _is_of_run() -> Column:
    return F.col("run").isNotNull() & F.col("arm").isNotNull()
