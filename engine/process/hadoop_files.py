"""Files as Hadoop keeps them on a local disk: beside `name` stands `.name.crc`, a CRC32 of each 512 bytes."""

import os
import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

ASIDE = "_set_aside"
"""Damaged files are kept here, beside those that are in use; nobody reads them and VACUUM leaves them."""

MAGIC = b"crc\x00"
HEAD_BYTES = 8


def crc_of(file: Path) -> Path:
    """Give the checksum file of a file."""
    return file.with_name(f".{file.name}.crc")


def is_as_written(file: Path) -> bool:
    """Hold a file against its checksums, as Spark does when it reads it; without any it counts as written."""
    try:
        kept = crc_of(file).read_bytes()
    except FileNotFoundError:
        return True
    content = file.read_bytes()
    if kept[:4] != MAGIC or len(kept) < HEAD_BYTES:
        return False
    size = int.from_bytes(kept[4:HEAD_BYTES]) or 512
    told = b"".join(zlib.crc32(content[at : at + size]).to_bytes(4) for at in range(0, len(content), size))
    return kept[HEAD_BYTES:] == told


def orphans(folder: Path) -> Iterator[Path]:
    """Give checksums whose file is gone: the next file of that name would be refused for them."""
    for crc in folder.glob(".*.crc"):
        if not crc.with_name(crc.name[1:-4]).exists():
            yield crc


def set_aside(file: Path) -> None:
    """Move a damaged file out of the way, its checksums too; it is kept for whoever wants to look."""
    room = file.parent / ASIDE
    room.mkdir(exist_ok=True)
    free = next(nth for nth in count() if not (room / f"{file.name}.{nth}").exists())
    file.rename(room / f"{file.name}.{free}")
    crc_of(file).unlink(missing_ok=True)


def write_whole(file: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, even when the machine goes down."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
    with draft.open("w") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    crc_of(file).unlink(missing_ok=True)
    draft.replace(file)
