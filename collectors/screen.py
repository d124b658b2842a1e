"""Progress of a command on standard error."""

import time
from typing import Self

from rich.console import Console

PRINT_EVERY_S = 5.0


class Screen:
    """A status line that is redrawn on a terminal; elsewhere, a new line every five seconds."""

    def __init__(self) -> None:
        """Prepare the display on standard error; nothing is printed yet."""
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
        self._status = self._console.status("starting") if self._console.is_terminal else None
        self._text, self._printed_at = "", 0.0

    def __enter__(self) -> Self:
        """Start the status line."""
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the status line and print its last text."""
        if self._status:
            self._status.stop()
        self.note(self._text)
        self._text = ""

    def show(self, text: str) -> None:
        """Update the status line, or print a line if the last one is five seconds old."""
        self._text = text
        if self._status:
            self._status.update(text)
        elif time.monotonic() - self._printed_at >= PRINT_EVERY_S:
            self._printed_at, self._text = time.monotonic(), ""
            self._console.print(text)

    def note(self, text: str) -> None:
        """Print a permanent line."""
        if text:
            self._console.print(text)
