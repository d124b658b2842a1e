"""List the files of one log: the live file and the rotated files, identified by their first lines."""

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
    """A path in the settings does not identify exactly one log."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """A file of a log, as listed."""

    path: Path
    mark: str
    size: int  # bytes on disk
    modified_ns: int
    is_live: bool

    @property
    def is_compressed(self) -> bool:
        """Whether the file is gzip, so that its offsets count uncompressed bytes."""
        return is_gzip(self.path)


class Siblings:
    """Lists the files of one log; the path is the live file's, or a glob that becomes it without its `*`."""

    def __init__(self, path: str, *, follow_links: bool = False) -> None:
        """
        Parse the path from the settings; symlinks out of its folder are only read with `follow_links`.

        Raises:
            LogPathError: a folder name contains `*`, or the file name consists of `*` only.

        """
        self.live = Path(path.replace("*", "")).absolute()
        self.has_glob = "*" in path
        if "*" in str(Path(path).parent) or not Path(path).name.replace("*", ""):
            message = f"{path}: a path must identify one log in one folder; list each node's log by itself"
            raise LogPathError(message)
        name = Path(path).name if self.has_glob else Path(path).name + "*"
        self._follow_links = follow_links
        self._pattern = "*".join(glob.escape(part) for part in name.split("*"))
        self._marks: dict[tuple[str, Inode, int, int], str | None] = {}
        self._unreadable: set[Path] = set()

    def listed(self) -> list[Sibling]:
        """Return the files that have a first line, one per fingerprint: oldest first, the live file last."""
        by_mark: dict[str, Sibling] = {}
        for sibling in self._all():
            other = by_mark.get(sibling.mark)
            if other is None or _preference(sibling) < _preference(other):
                by_mark[sibling.mark] = sibling
        return sorted(by_mark.values(), key=lambda s: (s.is_live, s.modified_ns, s.path.name))

    def is_live(self, inode: Inode) -> bool:
        """Return whether the live path still leads to this file."""
        try:
            status = self.live.stat()
        except OSError:
            return False
        return inode == (status.st_dev, status.st_ino)

    def has_live_begun(self) -> bool:
        """Return whether the live file has its first line, so the writer has finished the previous file."""
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
                if not self._follow_links and path.is_symlink() and self._leads_out(path):
                    self._log_once(
                        path,
                        f"is a link to {path.resolve()}, out of the log's folder; if the collector may read "
                        "it, set follow_links = true for this entry of [collector] files",
                    )
                    continue
                if is_unreadable(path):
                    self._log_once(
                        path, "is compressed, but not with gzip; configure the log rotation to use gzip"
                    )
                    continue
                key = (path.name, (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)
                is_live = path == self.live
                mark = (
                    self._marks[key] if key in self._marks and not is_live else _mark(path, is_live=is_live)
                )
            except FileNotFoundError:
                continue  # rotated between the listing and the stat
            except OSError as error:
                self._log_once(
                    path, f"cannot be read: {error.strerror}; correct this, the collector keeps retrying"
                )
                continue
            seen[key] = mark
            if mark:
                yield Sibling(path, mark, status.st_size, status.st_mtime_ns, is_live)
        self._marks = seen

    def _leads_out(self, path: Path) -> bool:
        return not path.resolve().is_relative_to(self.live.parent.resolve())

    def _log_once(self, path: Path, what: str) -> None:
        if path not in self._unreadable:
            self._unreadable.add(path)
            log.error("%s: %s", path, what)


def _preference(sibling: Sibling) -> tuple[bool, bool, bool, int, str]:
    """Return a sort key: live before copy, plain before gzip, complete before .tmp, then by size."""
    name = sibling.path.name
    return (not sibling.is_live, sibling.is_compressed, name.endswith(".tmp"), -sibling.size, name)


def _mark(path: Path, *, is_live: bool) -> str | None:
    with path.open("rb") as stream:
        return mark_of(stream, is_compressed=is_gzip(path), is_live=is_live)


def mark_of(stream: IO[bytes], *, is_compressed: bool, is_live: bool = False) -> str | None:
    """Return the fingerprint; None while the first line of a live file may still grow."""
    head = b""
    try:
        for block in read_blocks(stream, is_compressed=is_compressed):
            head += block
            if len(head) >= HEAD_BYTES or b"\n" in block:
                break
    except TornGzipError:
        is_live = True  # gzip may still be writing: only a whole first line counts
    line = first_line(head, is_whole=not is_live)
    return None if line is None else fingerprint(line)


def head_of(descriptor: int) -> bytes:
    """Return the first line of a plain file with its newline, or the first 64 KiB of it."""
    head = os.pread(descriptor, HEAD_BYTES, 0)
    return head[: head.find(b"\n") + 1] or head
