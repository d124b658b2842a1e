"""The stream that builds gold of throttles and moves: new settings concern all that comes behind them."""

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.gold.stream import GoldStream, stream_of
from engine.gold.throttles import ThrottleWriter
from schemas.fields import Table
from schemas.silver.metrics import METRIC_SAMPLES
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from transforms.gold.throttle_compliance.assemble import REQUESTS_REACH, SCRAPES_REACH, TABLES
from transforms.spans import touched
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


def rebuild(writer: ThrottleWriter, batch: DataFrame) -> int:
    """Rebuild what a batch concerns; count the windows."""
    arrived = by_window(batch).collect()
    touching = touched_by(arrived, writer.newest(arrived))
    has_settings = any(row["input"] in SETTINGS for row in arrived)
    if has_settings:
        writer.look_again()
    # A setting that came late may end what rows were written of.
    windows = writer.concerned(touching) | (writer.written(touching) if has_settings else set())
    writer.rebuild(windows)
    return len(windows)


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
