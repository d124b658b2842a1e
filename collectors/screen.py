"""What a command says on standard error while it works."""

import time
from typing import Self

from rich.console import Console

SAY_EVERY_S = 5.0


class Screen:
    """One line that is redrawn on a terminal, a line every five seconds elsewhere; the last one stays."""

    def __init__(self) -> None:
        """Write to standard error."""
        self._console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
        self._status = self._console.status("asking") if self._console.is_terminal else None
        self._text, self._said_at = "", 0.0

    def __enter__(self) -> Self:
        """Begin."""
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last line standing."""
        if self._status:
            self._status.stop()
        self.note(self._text)
        self._text = ""

    def show(self, text: str) -> None:
        """Show how far it is."""
        self._text = text
        if self._status:
            self._status.update(text)
        elif time.monotonic() - self._said_at >= SAY_EVERY_S:
            self._said_at, self._text = time.monotonic(), ""
            self._console.print(text)

    def note(self, text: str) -> None:
        """Write a line that stays."""
        if text:
            self._console.print(text)
