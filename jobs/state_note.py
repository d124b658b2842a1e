"""The note in a checkpoint of the newest batches of each table, so that a table set back is found out."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

WRITTEN = "plumbline-written.json"
NONE = (-1, -1)

Pair = tuple[int, int]
"""The newest batch that was written into a table, and the one written before it."""


def written(checkpoint: Path) -> dict[str, Pair]:
    """Give the newest two batches of each table as the query noted them; {} without a whole note."""
    try:
        told = json.loads((checkpoint / WRITTEN).read_text())
        return {str(name): (int(newest), int(before)) for name, (newest, before) in told.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def note_written(checkpoint: Path, tables: Iterable[str], batch: int) -> None:
    """Note a batch for the tables it was written into; not forced to disk: a torn note counts as none."""
    told = written(checkpoint)
    for name in tables:
        newest, _ = told.get(name, NONE)
        if batch > newest:
            told[name] = (batch, newest)
    draft = checkpoint / f".{WRITTEN}.{os.getpid()}"
    draft.write_text(json.dumps(told))
    draft.replace(checkpoint / WRITTEN)
