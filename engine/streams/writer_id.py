"""Who writes: a UUID kept inside the checkpoint of a query, made with it."""

import uuid
from pathlib import Path

from engine.process.hadoop_files import write_whole
from engine.streams.log import StreamLog

WRITER_ID = "plumbline-writer-id"


def known_writer_id(checkpoint: Path) -> str | None:
    """Give the id of a checkpoint; None when it has none or its file is torn."""
    try:
        return str(uuid.UUID((checkpoint / WRITER_ID).read_text().strip()))
    except (OSError, ValueError):
        return None


def writer_id(checkpoint: Path) -> str:
    """
    Give the id of a checkpoint, and make one for a checkpoint without a batch.

    Delta skips a version that an application id has written before, so a new checkpoint, which counts its
    batches from 0 again, must be a new application.

    Raises:
        ValueError: the checkpoint has batches but lost its id; a batch begun could be written twice.

    """
    kept = checkpoint / WRITER_ID
    if known := known_writer_id(checkpoint):
        return known
    log = StreamLog(checkpoint)
    if log.offsets or log.commits:
        message = f"{checkpoint} has lost its {WRITER_ID}: restore it, or begin with a new warehouse"
        raise ValueError(message)
    write_whole(kept, str(uuid.uuid4()))
    return kept.read_text().strip()
