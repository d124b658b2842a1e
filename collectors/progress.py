"""Progress of a collector on standard error."""

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console

from collectors.meters import Meters

EVERY_S = 5.0


class ProgressDisplay:
    """A status line that is redrawn on a terminal; elsewhere, a new line every five seconds."""

    def __init__(self, meters: Meters, console: Console | None = None) -> None:
        """Prepare the display; nothing is printed yet."""
        self._meters = meters
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._closing = ExitStack()
        self._status = self._console.status("starting") if self._console.is_terminal else None
        self._printed_at = time.monotonic()
        self._text = ""

    def __enter__(self) -> Self:
        """Print the URL of the metrics and start the status line."""
        self._console.print(f"metrics: http://127.0.0.1:{self._meters.port}/metrics")
        if self._status:
            self._closing.enter_context(self._status)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the status line and print the last figures."""
        self._closing.close()
        if self._text:
            self._console.print(self._text)

    def show(self, *, in_flight: int, behind_bytes: int) -> None:
        """Update the status line, or print a line if the last one is five seconds old."""
        read_mb, behind_mb = self._meters.read_bytes / 1e6, behind_bytes / 1e6
        self._text = (
            f"collected {self._meters.lines:,} lines, {read_mb:,.1f} MB; "
            f"behind {behind_mb:,.1f} MB, {in_flight:,} in flight"
        )
        if self._status:
            self._status.update(self._text)
        elif time.monotonic() - self._printed_at >= EVERY_S:
            self._printed_at = time.monotonic()
            self._console.print(self._text)
