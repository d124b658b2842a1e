"""What a stream of gold does with each batch: find the windows that it touches, and rebuild them."""

import time
from collections.abc import Callable

from pyspark.sql import DataFrame

from engine.process.fail_points import reached
from jobs.gate import Gate
from jobs.progress import Progress

Rebuild = Callable[[DataFrame], int]
"""Rebuild what a batch touches, and tell how many windows that were; given again, it gives the same gold."""


class WindowBatches:
    """One batch at a time: rebuild, note, say."""

    def __init__(
        self,
        of: str,
        rebuild: Rebuild,
        progress: Progress,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """`of` is what the tables are about, as people read it; `note` ends a batch."""
        self._of, self._rebuild, self._progress, self._note = of, rebuild, progress, note
        self._gate = gate or Gate()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild what a batch touches."""
        self._gate.enter()
        try:
            started = time.monotonic()
            n = self._rebuild(batch)
            self._note()
            reached(f"gold-{self._of}-written")
            if n:
                took = time.monotonic() - started
                self._progress.say(f"{self._of}, batch {batch_id}: {n} windows, {took:.1f} s")
        finally:
            self._gate.leave()
