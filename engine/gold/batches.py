"""The batch function of a gold stream: find the windows that a batch touches, and rebuild them."""

import time
from collections.abc import Callable

from pyspark.sql import DataFrame

from engine.process.fail_points import reached
from engine.process.gate import Gate
from engine.process.progress import Progress

Rebuild = Callable[[DataFrame], int]
"""Rebuilds the windows that a batch touches, and returns their number; a retry builds the same gold."""


class WindowBatches:
    """Rebuild windows, note the versions, report; one batch at a time."""

    def __init__(
        self,
        group: str,
        rebuild: Rebuild,
        progress: Progress,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """`group` names the tables in progress lines; `note` is called at the end of a batch."""
        self._group, self._rebuild, self._progress, self._note = group, rebuild, progress, note
        self._gate = gate or Gate()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild the windows that a batch touches."""
        self._gate.enter()
        try:
            started = time.monotonic()
            n = self._rebuild(batch)
            self._note()
            reached(f"gold-{self._group}-written")
            if n:
                took = time.monotonic() - started
                self._progress.say(f"{self._group}, batch {batch_id}: {n} windows, {took:.1f} s")
        finally:
            self._gate.leave()
