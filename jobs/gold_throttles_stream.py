"""The stream that builds gold of throttles and moves: new settings concern all that comes behind them."""

import time
from collections.abc import Callable, Iterable, Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from jobs.fail_points import reached
from jobs.gate import Gate
from jobs.gold_spans import touched
from jobs.gold_stream import GoldStream, stream_of
from jobs.gold_throttles import ThrottleWriter
from jobs.progress import Progress
from schemas.fields import Table
from schemas.metrics import METRIC_SAMPLES
from schemas.silver import REQUESTS
from schemas.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from transforms.gold.throttles import REQUESTS_REACH, SCRAPES_REACH, TABLES
from transforms.windows import WINDOW_S, window_start

INSTANTS = {
    REQUESTS: "logged_at",
    METRIC_SAMPLES: "at",
    THROTTLE_CHANGES: "logged_at",
    REASSIGNMENTS: "logged_at",
    ISR_CHANGES: "logged_at",
}

STREAM = GoldStream(name="build_gold_throttles", version=1, gold=TABLES, read=tuple(INSTANTS))

SETTINGS = (THROTTLE_CHANGES.name, REASSIGNMENTS.name, ISR_CHANGES.name)


class ThrottleBatches:
    """What the stream does with each batch: find the windows it concerns and rebuild them."""

    def __init__(
        self,
        writer: ThrottleWriter,
        progress: Progress,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """`note` ends a batch."""
        self._writer, self._progress, self._note = writer, progress, note
        self._gate = gate or Gate()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild what a batch concerns; a batch that is given again gives the same gold."""
        self._gate.enter()
        try:
            started = time.monotonic()
            arrived = by_window(batch).collect()
            if any(row["input"] in SETTINGS for row in arrived):
                self._writer.look_again()
            windows = self._writer.concerned(touched_by(arrived, self._writer.newest(arrived)))
            self._writer.rebuild(windows)
            self._note()
            reached("gold-throttles-written")
            if windows:
                took = time.monotonic() - started
                self._progress.say(f"throttles, batch {batch_id}: {len(windows)} windows, {took:.1f} s")
        finally:
            self._gate.leave()


def inputs(spark: SparkSession, settings: Settings) -> DataFrame:
    """Stream the one instant of every input that tells which windows a line touches."""
    frames = [_told(stream_of(spark, settings, table), table, at) for table, at in INSTANTS.items()]
    rows = frames[0]
    for frame in frames[1:]:
        rows = rows.unionByName(frame)
    return rows


def _told(rows: DataFrame, table: Table, at: str) -> DataFrame:
    return rows.select(F.lit(table.name).alias("input"), F.col(at).alias("at"))


def by_window(batch: DataFrame) -> DataFrame:
    """Give the windows (epoch seconds) of each input that a batch's instants lie in."""
    slot = F.unix_seconds(window_start(F.col("at"))).alias("slot")
    return batch.filter(F.col("at").isNotNull()).select("input", slot).distinct()


def touched_by(arrived: Sequence[Row], newest: int | None) -> set[int]:
    """Give the windows that can change: around lines and scrapes, and all that lie behind a setting."""
    slots: dict[str, set[int]] = {}
    for row in arrived:
        slots.setdefault(row["input"], set()).add(row["slot"])
    settings = [slot for name in SETTINGS for slot in slots.get(name, ())]
    behind: Iterable[int] = range(min(settings), (newest or 0) + WINDOW_S, WINDOW_S) if settings else ()
    return (
        touched(slots.get(REQUESTS.name, ()), REQUESTS_REACH)
        | touched(slots.get(METRIC_SAMPLES.name, ()), SCRAPES_REACH)
        | set(behind)
    )
