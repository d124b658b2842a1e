"""Run the pipeline next to the lab's brokers: collect, ingest and build-gold, as a user starts them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import processes

COMMANDS = {"collect": (), "ingest": (), "build-gold": ("--follow",)}
PATIENCE_S = 60.0
"""Time limit for a stream to finish its batch after SIGTERM."""

Started = dict[str, dict[str, float]]


@contextmanager
def streams(state: Path, settings: Path, say: Callable[[str], object] = print) -> Iterator[Started]:
    """Run the three commands as separate processes until the block ends; their logs are in `state/logs`."""
    started: Started = {}
    try:
        for word, options in COMMANDS.items():
            output = log_of(state, word)
            output.unlink(missing_ok=True)
            command = [sys.executable, "-m", "plumbline", word, "--conf", str(settings), *options]
            started[word] = processes.spawn(command, output=output)
            say(f"started plumbline {word}: {output}")
        yield started
    finally:
        processes.end(started.values(), patience_s=PATIENCE_S)


def log_of(state: Path, word: str) -> Path:
    """Return the log of a command."""
    return state / "logs" / f"{word}.txt"
