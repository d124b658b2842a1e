"""Ten-second windows, the input range of a gold row, and whether a window is complete."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

WINDOW_S = 10
HOUR_S = 3600
SETTLE_S = 60
"""A window does not wait longer for a silent broker. A broker counts as expected this long after a line."""

_WINDOW_US = WINDOW_S * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """
    The range of one input outside its window that a gold row depends on.

    A row of the window [start, start + 10 s) is a function of the input's lines in
    [start - lookback_s, start + 10 s + lookahead_s). A line at `t` affects the windows of `t - lookahead_s`
    to `t + lookback_s`.
    """

    lookback_s: int = 0
    lookahead_s: int = 0


COVERAGE_REACH = Reach(lookback_s=SETTLE_S)
"""`is_settled` depends on later lines too. `jobs.build_gold` stores the unsettled windows for this."""


def window_start(at: Column) -> Column:
    """
    Return the start of the 10 s window that contains an instant.

    >>> times = spark.sql("SELECT * FROM VALUES (TIMESTAMP'2026-11-21 09:19:28.987'), (NULL) AS t(at)")
    >>> times.select("at", window_start(F.col("at")).alias("window_start")).show(truncate=False)
    +-----------------------+-------------------+
    |at                     |window_start       |
    +-----------------------+-------------------+
    |2026-11-21 09:19:28.987|2026-11-21 09:19:20|
    |NULL                   |NULL               |
    +-----------------------+-------------------+
    <BLANKLINE>
    """
    micros = F.unix_micros(at)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(_WINDOW_US)))


def seconds(n: float) -> Column:
    """Return an interval of `n` seconds."""
    return F.make_dt_interval(secs=F.lit(n))


def coverage(lines: DataFrame) -> DataFrame:
    """
    Return one row per window: the numbers of expected and reporting brokers, and `is_settled`.

    `lines` are request lines (cluster, broker_id, logged_at) from `SETTLE_S` before the windows. After the
    windows, the newest line of each broker is enough. Re-sent lines have no effect.
    """
    broker, cluster = Window.partitionBy("cluster", "broker_id"), Window.partitionBy("cluster")
    reported = (
        lines.filter(F.col("logged_at").isNotNull() & F.col("broker_id").isNotNull())
        .groupBy("cluster", "broker_id", window_start(F.col("logged_at")).alias("reported_in"))
        .agg(F.max("logged_at").alias("newest"))
        .withColumn("broker_newest", F.max("newest").over(broker))
        .withColumn("cluster_newest", F.max("newest").over(cluster))
    )
    steps = F.sequence(F.lit(0), F.lit(SETTLE_S // WINDOW_S))
    expected = reported.withColumn("step", F.explode(steps)).withColumn(
        "window_start", F.col("reported_in") + F.make_dt_interval(secs=F.col("step") * WINDOW_S)
    )
    end = F.col("window_start") + seconds(WINDOW_S)
    is_read = F.min("broker_newest") >= end
    is_given_up = F.max("cluster_newest") > end + seconds(SETTLE_S)
    return expected.groupBy("cluster", "window_start").agg(
        _distinct(F.col("broker_id")).alias("nodes_expected"),
        _distinct(F.when(F.col("step") == 0, F.col("broker_id"))).alias("nodes_reporting"),
        (is_read | is_given_up).alias("is_settled"),
    )


def with_coverage(rows: DataFrame, covered: DataFrame) -> DataFrame:
    """Add `nodes_expected`, `nodes_reporting` and `is_settled` to rows of windows."""
    return rows.join(F.broadcast(covered), on=["cluster", "window_start"], how="left")


def _distinct(values: Column) -> Column:
    return F.size(F.collect_set(values))
