"""
The notes in a checkpoint of how far each table was written, so that a table set back is found out.

The ingest notes batches, whose numbers its tables hold; gold notes versions, for its tables hold none.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.process.hadoop_files import write_whole
from engine.streams.audit.findings import StateError
from engine.streams.log import StreamLog

WRITTEN, VERSIONS = "plumbline-written.json", "plumbline-versions.json"
OPTIONS = "plumbline-parser-options.txt"
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
    _put(checkpoint / WRITTEN, told)


def versions(checkpoint: Path) -> dict[str, int]:
    """Give the version of each table behind the newest batch; {} without a whole note."""
    try:
        told = json.loads((checkpoint / VERSIONS).read_text())
        return {str(name): int(version) for name, version in told.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def note_versions(checkpoint: Path, tables: Mapping[str, int]) -> None:
    """Note the versions of tables; as with batches, not forced to disk."""
    _put(checkpoint / VERSIONS, dict(tables))


def check_options(checkpoint: Path, options: str) -> None:
    """
    Compare parser options with those of a begun batch; note them if no batch is half written.

    Raises:
        StateError: a batch was begun with other options; its tables would contradict each other.

    """
    log, file = StreamLog(checkpoint), checkpoint / OPTIONS
    before = file.read_text(errors="replace") if file.exists() else options
    if before == options and file.exists():
        return
    if log.offsets and log.offsets[-1] not in log.commits and before != options:
        wrong = f"has batch {log.offsets[-1]} begun with other settings: {before}; they are now {options}"
        way_out = "finish the batch with these settings (`plumbline ingest --once`), then change them"
        raise StateError(checkpoint, "comparing settings", wrong, way_out)
    write_whole(file, options)


def _put(file: Path, told: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(told))
    draft.replace(file)
