"""What a long step tells a person at the terminal: a line that moves on a TTY, plain lines otherwise."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


def first_line(message: str) -> str:
    """Return the first line of an error that says something."""
    return next((line.strip() for line in message.splitlines() if line.strip()), "unknown error")


class Progress:
    """Tells what is being done, on standard error, so that standard output stays the answer."""

    def __init__(self, console: Console | None = None) -> None:
        """Write to standard error, or where a test looks."""
        self._console = console or Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Tell that a step runs and, once it is done, how long it took; a failed one is not called done."""
        started = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(escape(what)):
                yield
        else:
            self.say(f"{what} ...")
            yield
        self.say(f"{what}: {time.monotonic() - started:.1f} s")

    def say(self, line: str) -> None:
        """Write one line; a user's text in it is shown as it is."""
        self._console.print(escape(line), soft_wrap=True)
