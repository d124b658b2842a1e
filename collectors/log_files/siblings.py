"""The files one log has had: the live one and those it was rotated to, known by their first lines."""

import glob
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import (
    HEAD_BYTES,
    fingerprint,
    first_line,
    is_gzip,
    is_unreadable,
    read_blocks,
)

log = logging.getLogger(__name__)

Inode = tuple[int, int]


class LogPathError(ValueError):
    """A path in the settings does not name one log."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """One file of a log, as it was a moment ago."""

    path: Path
    mark: str
    size: int  # bytes on disk, compressed for a gzip
    modified_ns: int
    is_live: bool

    @property
    def is_compressed(self) -> bool:
        """Tell whether offsets count the bytes inside and not those on disk."""
        return is_gzip(self.path)


class Siblings:
    """Finds the files of one log; the path names the live file, or is a glob that does without its stars."""

    def __init__(self, path: str) -> None:
        """
        Take the path of the settings.

        Raises:
            LogPathError: there is a `*` in a folder's name, or nothing but stars in the file's.

        """
        self.live = Path(path.replace("*", "")).absolute()
        self.has_glob = "*" in path
        if "*" in str(Path(path).parent) or not Path(path).name.replace("*", ""):
            message = f"{path}: a log is one file in one folder; list each node's log by itself"
            raise LogPathError(message)
        name = Path(path).name if self.has_glob else Path(path).name + "*"
        self._pattern = "*".join(glob.escape(part) for part in name.split("*"))
        self._marks: dict[tuple[str, Inode, int, int], str | None] = {}
        self._unreadable: set[Path] = set()

    def listed(self) -> list[Sibling]:
        """Give the files that have begun, one for each first line: oldest first, the live one last."""
        by_mark: dict[str, Sibling] = {}
        for sibling in self._all():
            other = by_mark.get(sibling.mark)
            if other is None or _preference(sibling) < _preference(other):
                by_mark[sibling.mark] = sibling
        return sorted(by_mark.values(), key=lambda s: (s.is_live, s.modified_ns, s.path.name))

    def is_live(self, inode: Inode) -> bool:
        """Tell whether the live path still leads to this file."""
        try:
            status = self.live.stat()
        except OSError:
            return False
        return inode == (status.st_dev, status.st_ino)

    def has_live_begun(self) -> bool:
        """Tell whether the live file has its first line: its writer is done with the one before."""
        try:
            return _mark(self.live, is_live=True) is not None
        except OSError:
            return False

    def _all(self) -> Iterator[Sibling]:
        seen: dict[tuple[str, Inode, int, int], str | None] = {}
        for path in {self.live, *self.live.parent.glob(self._pattern)}:
            try:
                status = path.stat()
                if not path.is_file():
                    continue
                if is_unreadable(path):
                    self._complain(path, "is compressed, and not by gzip; let the rotation use gzip")
                    continue
                key = (path.name, (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)
                is_live = path == self.live
                mark = (
                    self._marks[key] if key in self._marks and not is_live else _mark(path, is_live=is_live)
                )
            except FileNotFoundError:
                continue  # rotated away between the listing and the look
            except OSError as error:
                self._complain(path, f"cannot be read: {error.strerror}; it is tried again and again")
                continue
            seen[key] = mark
            if mark:
                yield Sibling(path, mark, status.st_size, status.st_mtime_ns, is_live)
        self._marks = seen

    def _complain(self, path: Path, what: str) -> None:
        if path not in self._unreadable:
            self._unreadable.add(path)
            log.error("%s: %s", path, what)


def _preference(sibling: Sibling) -> tuple[bool, bool, bool, int, str]:
    """Put the live file before a copy of it, what is plain before what may still be compressed, then size."""
    name = sibling.path.name
    return (not sibling.is_live, sibling.is_compressed, name.endswith(".tmp"), -sibling.size, name)


def _mark(path: Path, *, is_live: bool) -> str | None:
    with path.open("rb") as stream:
        return mark_of(stream, is_compressed=is_gzip(path), is_live=is_live)


def mark_of(stream: IO[bytes], *, is_compressed: bool, is_live: bool = False) -> str | None:
    """Give the fingerprint, None while the first line may still grow; a rotated file grows no more."""
    head = b""
    try:
        for block in read_blocks(stream, is_compressed=is_compressed):
            head += block
            if len(head) >= HEAD_BYTES or b"\n" in block:
                break
    except TornGzipError:
        is_live = True  # gzip may be at work: only a whole first line counts
    line = first_line(head, is_whole=not is_live)
    return None if line is None else fingerprint(line)


def head_of(descriptor: int) -> bytes:
    """Read what a plain file begins with, its first line or 64 KiB of it."""
    head = os.pread(descriptor, HEAD_BYTES, 0)
    return head[: head.find(b"\n") + 1] or head
