"""The batch function of gold's stream: find the windows that a batch touches, and rebuild them."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from conf.progress import Progress
from conf.settings import Settings
from engine.gold.arrivals import arrived
from engine.gold.builder import Builder
from engine.gold.data_quality import rebuild_data_quality
from engine.process.fail_points import reached
from engine.process.gate import Gate
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS

QUALITY_EVERY_S, QUALITY_SHARE = 300.0, 0.02
"""Data quality counts every line of the warehouse: every few minutes, and at most this share of the time."""

LINES = (REQUESTS.name, CLIENT_EVENTS.name)


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
        new = arrived(batch, self._builder.builds)
        lines = sum(row.lines for row in new if row.input in LINES)
        windows = self._builder.build(new)
        self._note()
        reached("gold-written")
        if new:
            newest = datetime.fromtimestamp(max(row.slot for row in new), UTC)
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
