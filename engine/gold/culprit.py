"""Update the baselines of broker pairs and the culprits after a change of `broker_rtt`."""

from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from engine.delta import tables
from engine.gold.thresholds import thresholds
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from transforms.gold.broker_rtt.baseline import (
    MIN_WINDOWS,
    OPENING_REACH_S,
    PAIR,
    TRAILING_HOURS,
    baseline,
)
from transforms.gold.broker_rtt.culprit import accused, culprit, with_onset
from transforms.spans import Span, within
from transforms.windows import HOUR_S, WINDOW_S

TRAILING_S = TRAILING_HOURS * HOUR_S


class CulpritWriter:
    """
    Computes verdicts again when the round trips of a window, or of its history, have changed.

    It remembers which pairs have a baseline in which hour. So a batch of a cluster with baselines reads
    minutes of history instead of a day. `GoldWriter` owns it and holds the lease.
    """

    def __init__(self, spark: SparkSession, warehouse: Path) -> None:
        """Create the missing tables."""
        self._spark, self._warehouse = spark, warehouse
        self._thresholds = thresholds()
        self._memory_s = self._thresholds.memory_windows * WINDOW_S
        for table in (BROKER_RTT, BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT):
            tables.ensure(spark, warehouse, table)
        newest = F.unix_seconds(F.max("window_start")).alias("newest")
        found = tables.read(spark, warehouse, BROKER_RTT).agg(newest).first()
        self._end = found["newest"] + WINDOW_S if found and found["newest"] is not None else 0
        self._with_level: dict[int, set[Row]] = {}

    def rebuild(self, spans: list[Span]) -> None:
        """
        Compute the verdicts again, from the first window of these spans to the newest window.

        Later windows depend on earlier ones: the evidence for some minutes, a pair's baseline for a day.
        Without late lines this is only the last minute, in one step.
        """
        if not spans:
            return
        start = spans[0].start
        self._end = max(self._end, spans[-1].end)
        # Old hours are dropped, because a stream may run for months.
        self._with_level = {at: pairs for at, pairs in self._with_level.items() if at > start - 3 * HOUR_S}
        for hour in range(_hour(start - self._memory_s), self._end, HOUR_S):
            self._learn(hour, spans)
            # Judge before the next hour learns, because accused windows of this hour are no history for it.
            if hour + HOUR_S > start:
                self._judge(Span(max(start, hour), min(self._end, hour + HOUR_S)))

    def _learn(self, hour: int, spans: list[Span]) -> None:
        """Compute the hour's baselines if its history has changed or was not read yet."""
        history = Span(hour - TRAILING_S, hour)
        has_changed = any(span.start < history.end and span.end > history.start for span in spans)
        if hour in self._with_level and not has_changed:
            return
        if has_changed or self._levels(hour).isEmpty():
            rtt, verdicts = self._rows(BROKER_RTT, history), self._rows(BROKER_RTT_CULPRIT, history)
            hours = rtt.select("cluster").distinct().withColumn("hour", F.timestamp_seconds(F.lit(hour)))
            levels = baseline(rtt, hours, accused(verdicts))
            self._replace(BROKER_RTT_BASELINE, levels, "hour", Span(hour, hour + HOUR_S))
        known = self._levels(hour).filter(F.col("windows") >= MIN_WINDOWS)
        self._with_level[hour] = set(known.select(*PAIR).collect())

    def _judge(self, span: Span) -> None:
        seen = Span(span.start - self._memory_s, span.end)
        hours = sorted({_hour(seen.start), _hour(span.start)})
        rtt = self._rows(BROKER_RTT, seen).drop("rtt_hist").localCheckpoint()
        pairs = set(rtt.select(*PAIR).distinct().collect())
        opened = None
        if any(pairs - self._with_level[hour] for hour in hours):
            opened = self._rows(BROKER_RTT, Span(hours[0] - OPENING_REACH_S, span.end))
        levels = reduce(DataFrame.unionByName, [self._levels(hour) for hour in hours])
        rows = culprit(rtt, levels, self._thresholds, opened=opened)
        before = self._rows(BROKER_RTT_CULPRIT, Span(seen.start, span.start))
        named = with_onset(rows.filter(within("window_start", [span])), before)
        self._replace(BROKER_RTT_CULPRIT, named, "window_start", span)

    def _levels(self, hour: int) -> DataFrame:
        levels = tables.snapshot(self._warehouse, BROKER_RTT_BASELINE)
        return levels.rows(self._spark, "hour", [Span(hour, hour + HOUR_S)])

    def _rows(self, table: Table, span: Span) -> DataFrame:
        return tables.snapshot(self._warehouse, table).rows(self._spark, "window_start", [span])

    def _replace(self, table: Table, rows: DataFrame, column: str, span: Span) -> None:
        tables.replace(rows, self._warehouse, table, column=column, spans=[span])


def _hour(second: int) -> int:
    """Return the start of the hour that contains a second."""
    return second - second % HOUR_S
