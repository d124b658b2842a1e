"""The note in a checkpoint of the newest batch that each table has, so that a table set back is found out."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

WRITTEN = "plumbline-written.json"


def written(checkpoint: Path) -> dict[str, int]:
    """Give the newest batch of each table as the query noted it; {} when it did not or the note is torn."""
    try:
        told = json.loads((checkpoint / WRITTEN).read_text())
        return {str(name): int(batch) for name, batch in told.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def note_written(checkpoint: Path, tables: Iterable[str], batch: int) -> None:
    """Note a batch for the tables it was written into; not forced to disk: a torn note counts as none."""
    told = written(checkpoint) | dict.fromkeys(tables, batch)
    draft = checkpoint / f".{WRITTEN}.{os.getpid()}"
    draft.write_text(json.dumps(told))
    draft.replace(checkpoint / WRITTEN)
