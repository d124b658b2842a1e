"""The batch function of gold's stream: find the windows that a batch touches, and rebuild them."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from conf.progress import Progress
from conf.settings import Settings
from engine.gold.arrivals import by_window
from engine.gold.builder import Builder
from engine.gold.data_quality import rebuild_data_quality
from engine.process.fail_points import reached
from engine.process.gate import Gate
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS

QUALITY_EVERY_S, QUALITY_SHARE = 300.0, 0.02
"""Data quality counts every line of the warehouse: every few minutes, and at most this share of the time."""

LINES = (REQUESTS.name, CLIENT_EVENTS.name)

FEW_LINES = 5_000
"""Up to this many lines, interpreted plans are cheaper."""


class Batches:
    """Build the windows that the new rows of a batch touch. A retried batch builds the same gold."""

    def __init__(
        self,
        builder: Builder,
        progress: Progress,
        follow: Settings | None = None,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """With `follow`, count data quality every few minutes; `note` is called at the end of a batch."""
        self._builder, self._progress, self._follow, self._note = builder, progress, follow, note
        self._gate = gate or Gate()
        self._count_at = time.monotonic() + QUALITY_EVERY_S

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild the windows that a batch touches."""
        self._gate.enter()
        try:
            self._rebuild(batch, batch_id)
        finally:
            self._gate.leave()

    def _rebuild(self, batch: DataFrame, batch_id: int) -> None:
        started = time.monotonic()
        arrived = by_window(batch).collect()
        lines = sum(row["lines"] for row in arrived if row["input"] in LINES)
        _expect(batch, lines)
        windows = self._builder.build(arrived)
        self._note()
        reached("gold-written")
        if arrived:
            newest = datetime.fromtimestamp(max(row["slot"] for row in arrived), UTC)
            built = ", ".join(f"{n} windows of {name}" for name, n in windows.items())
            self._progress.say(
                f"batch {batch_id}: {lines} lines up to {newest:%Y-%m-%dT%H:%M:%SZ}, {built or 'no window'}, "
                f"{time.monotonic() - started:.1f} s"
            )
        if self._follow and time.monotonic() > self._count_at:
            began = time.monotonic()
            rebuild_data_quality(self._follow.warehouse_root)
            self._count_at = time.monotonic() + max(
                QUALITY_EVERY_S, (time.monotonic() - began) / QUALITY_SHARE
            )


def _expect(batch: DataFrame, lines: int) -> None:
    """Configure Spark for the next batch, which probably has about as many lines."""
    is_worth_compiling = lines > FEW_LINES
    conf = batch.sparkSession.conf
    conf.set("spark.sql.codegen.wholeStage", str(is_worth_compiling).lower())
    conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if is_worth_compiling else "NO_CODEGEN")
