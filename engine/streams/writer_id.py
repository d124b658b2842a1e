"""The id of a writer: a UUID in the checkpoint of its query, created with the checkpoint."""

import uuid
from pathlib import Path

from engine.process.hadoop_files import write_whole
from engine.streams.log import StreamLog

WRITER_ID = "plumbline-writer-id"


def known_writer_id(checkpoint: Path) -> str | None:
    """Return the id of a checkpoint; None if the file is missing or torn."""
    try:
        return str(uuid.UUID((checkpoint / WRITER_ID).read_text().strip()))
    except (OSError, ValueError):
        return None


def writer_id(checkpoint: Path) -> str:
    """
    Return the id of a checkpoint; create it for a checkpoint without a batch.

    Delta skips a version that an application id has written before. A new checkpoint counts its batches
    from 0 again, so it needs a new application id.

    Raises:
        ValueError: the checkpoint has batches but no id, so an unfinished batch could be written twice.

    """
    file = checkpoint / WRITER_ID
    if known := known_writer_id(checkpoint):
        return known
    log = StreamLog(checkpoint)
    if log.offsets or log.commits:
        message = f"{checkpoint} has lost its {WRITER_ID}: restore it, or start with a new warehouse"
        raise ValueError(message)
    write_whole(file, str(uuid.uuid4()))
    return file.read_text().strip()
