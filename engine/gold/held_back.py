"""Windows that gold does not build, because a quality rule failed on their silver."""

import json
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock

from conf.atomic_file import write_atomically
from engine.quality.results_table import blocked
from transforms.spans import Span, spans_of, windows_of

OWED = "_gold.owed.json"
"""A file in the warehouse: spans that new lines touched while a rule held them back, still to be built."""


def let_through(warehouse: Path, windows: Iterable[int]) -> set[int]:
    """Return the windows that no failed rule holds back; note the others, to be built later."""
    wanted = set(windows)
    held = wanted & blocked(warehouse)
    if held:
        with FileLock(warehouse / "_gold.owed.lock"):
            _write(warehouse, _owed(warehouse) | held)
    return wanted - held


def due(warehouse: Path) -> list[Span]:
    """Return the noted spans that no rule holds back any more."""
    return spans_of(_owed(warehouse) - blocked(warehouse))


def paid(warehouse: Path, spans: Iterable[Span]) -> None:
    """Note that these spans were built, except for windows that are held back."""
    built = windows_of(spans)
    with FileLock(warehouse / "_gold.owed.lock"):
        _write(warehouse, _owed(warehouse) - (built - blocked(warehouse)))


def held(warehouse: Path) -> list[Span]:
    """Return the noted spans that a failed rule still holds back."""
    return spans_of(_owed(warehouse) & blocked(warehouse))


def _owed(warehouse: Path) -> set[int]:
    file = warehouse / OWED
    spans = json.loads(file.read_text()) if file.exists() else []
    return windows_of(Span(*span) for span in spans)


def _write(warehouse: Path, windows: set[int]) -> None:
    write_atomically(warehouse / OWED, json.dumps(spans_of(windows)), is_synced=True)
