"""Progress of long steps on standard error: a spinner on a terminal, plain lines otherwise."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


def first_line(message: str) -> str:
    """Return the first non-empty line of an error message."""
    return next((line.strip() for line in message.splitlines() if line.strip()), "unknown error")


class Progress:
    """Report progress on standard error; standard output has only the result."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to standard error, or to the console of a test."""
        self._console = console or Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Report that a step runs, and its duration when it is done; a failed step gets no duration."""
        started = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(escape(what)):
                yield
        else:
            self.say(f"{what} ...")
            yield
        self.say(f"{what}: {time.monotonic() - started:.1f} s")

    def say(self, line: str) -> None:
        """Write one line; markup in it is printed, not interpreted."""
        self._console.print(escape(line), soft_wrap=True)
