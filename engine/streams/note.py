"""
Notes in a checkpoint about how far each table was written; they reveal a table that was set back.

The ingest notes batch ids, which its tables also contain. Gold notes table versions, because its tables
contain no batch id.
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
    """Return the two newest batches of each table, as the query noted them; {} if the note is not whole."""
    try:
        note = json.loads((checkpoint / WRITTEN).read_text())
        return {str(name): (int(newest), int(before)) for name, (newest, before) in note.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def note_written(checkpoint: Path, tables: Iterable[str], batch: int) -> None:
    """Note a batch for the tables it was written into. It is not synced: a torn note counts as missing."""
    note = written(checkpoint)
    for name in tables:
        newest, _ = note.get(name, NONE)
        if batch > newest:
            note[name] = (batch, newest)
    _put(checkpoint / WRITTEN, note)


def versions(checkpoint: Path) -> dict[str, int]:
    """Return the version of each table after the newest batch; {} if the note is not whole."""
    try:
        note = json.loads((checkpoint / VERSIONS).read_text())
        return {str(name): int(version) for name, version in note.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def note_versions(checkpoint: Path, tables: Mapping[str, int]) -> None:
    """Note the versions of tables; like `note_written`, without a sync."""
    _put(checkpoint / VERSIONS, dict(tables))


def check_options(checkpoint: Path, options: str) -> None:
    """
    Compare the parser options with those of an unfinished batch; note them if every batch is finished.

    Raises:
        StateError: an unfinished batch has other options, so its tables would contradict each other.

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


def _put(file: Path, note: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(note))
    draft.replace(file)
