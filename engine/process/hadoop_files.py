"""Files with Hadoop checksums on a local disk: `.name.crc` has a CRC32 for each 512 bytes of `name`."""

import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from conf.atomic_file import sync, write_atomically

ASIDE = "_set_aside"
"""Folder for damaged files, next to the files in use. No job reads it, and VACUUM does not remove it."""

MAGIC = b"crc\x00"
HEAD_BYTES = 8


def crc_of(file: Path) -> Path:
    """Return the checksum file of a file."""
    return file.with_name(f".{file.name}.crc")


def is_as_written(file: Path) -> bool:
    """Return whether a file matches its checksums, as Spark checks on read; True without a checksum file."""
    try:
        stored = crc_of(file).read_bytes()
    except FileNotFoundError:
        return True
    content = file.read_bytes()
    if stored[:4] != MAGIC or len(stored) < HEAD_BYTES:
        return False
    size = int.from_bytes(stored[4:HEAD_BYTES]) or 512
    computed = b"".join(
        zlib.crc32(content[at : at + size]).to_bytes(4) for at in range(0, len(content), size)
    )
    return stored[HEAD_BYTES:] == computed


def sync_checked(file: Path) -> None:
    """Force a file to disk, and its checksum file if there is one: Spark refuses a file without a match."""
    sync(file)
    if (crc := crc_of(file)).exists():
        sync(crc)


def orphans(folder: Path) -> Iterator[Path]:
    """Yield the checksum files whose file is gone; Spark would refuse the next file of that name."""
    for crc in folder.glob(".*.crc"):
        if not crc.with_name(crc.name[1:-4]).exists():
            yield crc


def set_aside(file: Path) -> None:
    """Move a damaged file or folder into `_set_aside` for later inspection; delete its checksum file."""
    folder = file.parent / ASIDE
    folder.mkdir(exist_ok=True)
    target = next(path for n in count() if not (path := folder / f"{file.name}.{n}").exists())
    file.rename(target)
    crc_of(file).unlink(missing_ok=True)


def write_whole(file: Path, text: str) -> None:
    """Replace a file atomically: after a crash or a power cut it has its old or its new content."""
    crc_of(file).unlink(missing_ok=True)
    write_atomically(file, text, is_synced=True)
