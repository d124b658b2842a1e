"""
Repairs of a checkpoint's `metadata` file, which holds the id of the streaming query.

Spark 4.2 refuses a checkpoint with batches and no `metadata` (STREAMING_CHECKPOINT_MISSING_METADATA_FILE).
A new id is harmless: tables know a writer by the id of `engine/streams/writer_id.py`, not by the query's.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

from engine.process.hadoop_files import set_aside, write_whole
from engine.streams.audit.findings import Repair
from engine.streams.log import is_json

METADATA = "metadata"


def torn_metadata(checkpoint: Path) -> Iterator[Repair]:
    """Yield the repair that sets a torn `metadata` file aside."""
    file = checkpoint / METADATA
    if file.exists() and not is_json(file):
        yield Repair(f"{file} is torn; it is set aside", partial(set_aside, file))


def lost_metadata(checkpoint: Path) -> Iterator[Repair]:
    """Yield the repair that writes a torn or missing `metadata` file of a checkpoint with batches."""
    file = checkpoint / METADATA
    if not is_json(file):
        yield Repair(f"{file} is torn or missing; it is written with a new query id", partial(_write, file))


def _write(file: Path) -> None:
    write_whole(file, json.dumps({"id": str(uuid4())}))
