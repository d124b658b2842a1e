"""
Notes in a checkpoint about how far each table was written; they reveal a table that was set back.

The ingest notes batch ids, which its tables also contain. Gold notes table versions, because its tables
contain no batch id.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from conf.atomic_file import write_atomically
from conf.names import TelemetryPartition
from engine.streams.log import Ends

WRITTEN, VERSIONS = "plumbline-written.json", "plumbline-versions.json"
EPOCHS = "plumbline-epochs.json"
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
    write_atomically(checkpoint / WRITTEN, json.dumps(note))


def epochs(checkpoint: Path, begins: Ends) -> dict[TelemetryPartition, int]:
    """Return the leader epoch of the record before each of these offsets, where it is noted."""
    try:
        note = json.loads((checkpoint / EPOCHS).read_text())
        known = {(topic, int(p)): (int(end), int(epoch)) for topic, p, end, epoch in note}
    except (OSError, ValueError, TypeError):
        return {}
    return {place: known[place][1] for place, first in begins.items() if known.get(place, NONE)[0] == first}


def note_epochs(checkpoint: Path, ends: Ends, last: Mapping[TelemetryPartition, int]) -> None:
    """Note the leader epoch of the last record before each end offset, without a sync."""
    kept = epochs(checkpoint, ends) | dict(last)
    rows = [[*place, ends[place], epoch] for place, epoch in sorted(kept.items())]
    write_atomically(checkpoint / EPOCHS, json.dumps(rows))


def versions(checkpoint: Path) -> dict[str, int]:
    """Return the version of each table after the newest batch; {} if the note is not whole."""
    try:
        note = json.loads((checkpoint / VERSIONS).read_text())
        return {str(name): int(version) for name, version in note.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def note_versions(checkpoint: Path, tables: Mapping[str, int]) -> None:
    """Note the versions of tables; synced, because without the note a torn table of gold is built again."""
    write_atomically(checkpoint / VERSIONS, json.dumps(dict(tables)), is_synced=True)
