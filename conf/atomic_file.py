"""Write a file whole or not at all, and force files to disk."""

import os
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path


def write_atomically(path: Path, text: str, *, is_synced: bool = False) -> None:
    """
    Write a file whole or not at all: a reader sees the old file or the new one, never a part.

    With `is_synced` the same holds after a power cut. The umask decides who can read the file.

    A path that is not a regular file, like `/dev/stdout`, is written to, not replaced. A symbolic link stays.

    Raises:
        OSError: the file or its folder cannot be created.

    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with temporary.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            if is_synced:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if is_synced:
            sync(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Force a file or folder to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@cache
def sync_name(folder: Path) -> None:
    """Force the name of a folder, and of each folder above it on its disk, to disk, once per process."""
    folder = folder.resolve()
    above = folder.parent
    if above != folder and above.stat().st_dev == folder.stat().st_dev:
        with suppress(PermissionError):  # no job created a folder in one that it cannot read
            sync(above)
        sync_name(above)
