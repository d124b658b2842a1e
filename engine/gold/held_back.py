"""Windows that gold does not build, for a rule between the layers failed on their silver."""

import json
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock

from conf.atomic_file import write_atomically
from engine.quality.results_table import blocked
from transforms.spans import Span, spans_of
from transforms.windows import WINDOW_S

OWED = "_gold.owed.json"
"""In the warehouse: spans that lines touched while they were held back; gold owes them."""


def let_through(warehouse: Path, windows: Iterable[int]) -> set[int]:
    """Keep the windows that no failed rule holds back, and note the others, to be built later."""
    wanted = set(windows)
    held = wanted & blocked(warehouse)
    if held:
        with FileLock(warehouse / "_gold.owed.lock"):
            _write(warehouse, _owed(warehouse) | held)
    return wanted - held


def due(warehouse: Path) -> list[Span]:
    """Give the spans that gold owes and that nothing holds back any more."""
    return spans_of(_owed(warehouse) - blocked(warehouse))


def paid(warehouse: Path, spans: Iterable[Span]) -> None:
    """Note that these spans were built, but for what is held back in them."""
    built = {window for span in spans for window in range(span.start, span.end, WINDOW_S)}
    with FileLock(warehouse / "_gold.owed.lock"):
        _write(warehouse, _owed(warehouse) - (built - blocked(warehouse)))


def held(warehouse: Path) -> list[Span]:
    """Give the spans that gold owes and that a failed rule still holds back."""
    return spans_of(_owed(warehouse) & blocked(warehouse))


def _owed(warehouse: Path) -> set[int]:
    file = warehouse / OWED
    told = json.loads(file.read_text()) if file.exists() else []
    return {window for start, end in told for window in range(start, end, WINDOW_S)}


def _write(warehouse: Path, windows: set[int]) -> None:
    write_atomically(warehouse / OWED, json.dumps(spans_of(windows)))
