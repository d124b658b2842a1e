"""The batch function of gold's stream: find the windows that a batch touches, and rebuild them."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from conf.progress import Progress
from engine.gold.arrivals import arrived
from engine.gold.builder import Builder
from engine.process.fail_points import reached
from engine.process.gate import Gate
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS

LINES = (REQUESTS.name, CLIENT_EVENTS.name)


class Batches:
    """Build the windows that the new rows of a batch touch. A retried batch builds the same gold."""

    def __init__(
        self,
        builder: Builder,
        progress: Progress,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """Use a builder; `note` is called at the end of a batch."""
        self._builder, self._progress, self._note = builder, progress, note
        self._gate = gate or Gate()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild the windows that a batch touches."""
        self._gate.enter()
        try:
            self._rebuild(batch, batch_id)
        finally:
            self._gate.leave()

    def _rebuild(self, batch: DataFrame, batch_id: int) -> None:
        started = time.monotonic()
        new = arrived(batch, self._builder.warehouse, self._builder.builds)
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
