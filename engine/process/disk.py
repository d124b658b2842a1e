"""Recognize the errors of a full disk, and name the full folder."""

import errno
import os
import shutil
from pathlib import Path

from conf.settings import Settings

SIGNS = ("No space left on device", "os error 28", "Disk quota exceeded")
NEARLY_FULL_BYTES = 16 * 1024 * 1024
"""A disk with less free space counts as full."""


def full_disk_message(settings: Settings, error: BaseException) -> str | None:
    """Return a message that names the full folder; None if the error has another cause."""
    if not _is_of_full_disk(error):
        return None
    folders = {
        "warehouse": settings.warehouse_root,
        "checkpoints": Path(settings.warehouse.checkpoints).resolve(),
        "Spark's temporary files": Path(os.environ.get("SPARK_LOCAL_DIRS", "/tmp")),  # noqa: S108 (Spark's own)
    }
    free = {name: shutil.disk_usage(_existing(folder)).free for name, folder in folders.items()}
    full = [name for name in folders if free[name] < NEARLY_FULL_BYTES] or [min(free, key=lambda n: free[n])]
    where = ", ".join(f"{folders[name]} ({name}, {free[name]:,} bytes free)" for name in full)
    return (
        f"the disk is full: {where}; free some space and start the job again, it repeats the interrupted work"
    )


def _is_of_full_disk(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if any(sign in str(error) for sign in SIGNS):
            return True
        error = error.__cause__ or error.__context__
    return False


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
