"""The progress of a command on standard error: a line that a terminal redraws, whole lines in a log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.text import Text

PRINT_EVERY_S = 5.0


def first_line(message: str) -> str:
    """Return the first non-empty line of an error message."""
    return next((line.strip() for line in message.splitlines() if line.strip()), "unknown error")


class Progress:
    """Reports progress on standard error; standard output has only the result."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to standard error, or to the console of a test; nothing is printed yet."""
        self._console = console or Console(stderr=True)
        self._status = self._console.status("starting") if self._console.is_terminal else None
        self._text, self._printed_at = "", float("-inf")

    def __enter__(self) -> Self:
        """Let a terminal redraw the line of `show`."""
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Print the last text of `show`, unless the log has it already."""
        if self._status:
            self._status.stop()
        if self._text:
            self.say(self._text)
        self._text = ""

    def show(self, text: str) -> None:
        """Redraw the line, or print the text if the last one is five seconds old."""
        self._text = text
        if self._status:
            self._status.update(Text(text))
        elif time.monotonic() - self._printed_at >= PRINT_EVERY_S:
            self._text, self._printed_at = "", time.monotonic()
            self.say(text)

    def say(self, text: str) -> None:
        """Print a permanent line."""
        self._console.print(Text(text), soft_wrap=True)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Report that a step runs, and its duration when it is done; a failed step gets no duration."""
        started = time.monotonic()
        if self._status:
            with self._console.status(Text(what)):
                yield
        else:
            self.say(f"{what} ...")
            yield
        self.say(f"{what}: {time.monotonic() - started:.1f} s")
