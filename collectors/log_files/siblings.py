"""
List the files of one log: the live file and the rotated files.

The first lines identify a file. Of two files with the same first lines, the last line that was read of one of
them tells which one it is.
"""

import glob
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import (
    HEAD_BYTES,
    fingerprint,
    first_lines,
    is_gzip,
    is_unreadable,
    open_log,
    read_blocks,
)
from collectors.log_files.positions import CHECKED_BYTES, CheckedLine, FileProgress, LogProgress

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
    follows_links: bool = False
    head: str = ""  # fingerprint of the first lines, if that is not the mark
    checked: CheckedLine | None = None  # of a file that another one has the first lines of

    @property
    def is_compressed(self) -> bool:
        """Whether the file is gzip, so that its offsets count uncompressed bytes."""
        return is_gzip(self.path)


class Siblings:
    """Lists the files of one log; the path is the live file's, or a glob that becomes it without its `*`."""

    def __init__(self, path: str, *, follows_links: bool = False) -> None:
        """
        Parse the path from the settings.

        Raises:
            LogPathError: a folder name contains `*`, or the file name consists of `*` only.

        """
        self.live = Path(path.replace("*", "")).absolute()
        self.has_glob = "*" in path
        self.follows_links = follows_links
        if "*" in str(Path(path).parent) or not Path(path).name.replace("*", ""):
            message = f"{path}: a path must identify one log in one folder; list each node's log by itself"
            raise LogPathError(message)
        name = Path(path).name if self.has_glob else Path(path).name + "*"
        self._pattern = "*".join(glob.escape(part) for part in name.split("*"))
        self._marks: dict[tuple[str, Inode, int, int], str | None] = {}
        self._unreadable: set[Path] = set()

    def listed(self, known: LogProgress) -> list[Sibling]:
        """Return the files that have their first lines, one per mark: oldest first, the live file last."""
        by_mark: dict[str, Sibling] = {}
        for sibling in (_identified(sibling, known) for sibling in self._all()):
            other = by_mark.get(sibling.mark)
            if other is None or _preference(sibling) < _preference(other):
                by_mark[sibling.mark] = sibling
        return sorted(by_mark.values(), key=lambda s: (s.is_live, s.modified_ns, s.path.name))

    def adopt_former(self, known: LogProgress) -> None:
        """
        Move positions of the former version, whose mark is the first line alone, to the files they are of.

        That mark differs only if the first line has no time. Of several files with this first line, the one
        that the former version read is adopted, and the others are read from their start.
        """
        for sibling in sorted(self._all(), key=_preference):
            with (
                suppress(OSError, TornGzipError),
                open_log(sibling.path, follows_links=self.follows_links) as stream,
            ):
                former = _former_mark(stream, is_compressed=sibling.is_compressed)
                progress = known.get(former)
                if progress is None or progress.head or sibling.mark in {former, *known}:
                    continue
                if _is_start_of_line(stream, sibling, progress.offset):
                    progress.head = sibling.mark

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
            return self._mark(self.live, is_live=True) is not None
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
                    self._log_once(
                        path, "is compressed, but not with gzip; configure the log rotation to use gzip"
                    )
                    continue
                key = (path.name, (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)
                is_live = path == self.live
                mark = (
                    self._marks[key]
                    if key in self._marks and not is_live
                    else self._mark(path, is_live=is_live)
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
                yield Sibling(path, mark, status.st_size, status.st_mtime_ns, is_live, self.follows_links)
        self._marks = seen

    def _mark(self, path: Path, *, is_live: bool) -> str | None:
        with open_log(path, follows_links=self.follows_links) as stream:
            return mark_of(stream, is_compressed=is_gzip(path), is_live=is_live)

    def _log_once(self, path: Path, what: str) -> None:
        if path not in self._unreadable:
            self._unreadable.add(path)
            log.error("%s: %s", path, what)


def _former_mark(stream: IO[bytes], *, is_compressed: bool) -> str:
    """Return the fingerprint of the first line alone, as the former version did."""
    head = b""
    for block in read_blocks(stream, is_compressed=is_compressed):
        head += block
        if b"\n" in block or len(head) >= HEAD_BYTES:
            break
    return fingerprint(head.partition(b"\n")[0])


def _is_start_of_line(stream: IO[bytes], sibling: Sibling, offset: int) -> bool:
    """Return whether a line begins at the offset, or the file ends there; for gzip that is unknown: True."""
    if sibling.is_compressed or offset in {0, sibling.size}:
        return True
    return os.pread(stream.fileno(), 1, offset - 1) == b"\n"


def _preference(sibling: Sibling) -> tuple[bool, bool, bool, int, str]:
    """Return a sort key: live before copy, plain before gzip, complete before .tmp, then by size."""
    name = sibling.path.name
    return (not sibling.is_live, sibling.is_compressed, name.endswith(".tmp"), -sibling.size, name)


def _identified(sibling: Sibling, known: LogProgress) -> Sibling:
    """
    Return the file with the mark of the known file that it is, or with a new one.

    A file that is shorter than what was read counts as a cut copy. A gzip file is identified by its first
    lines, unless two known files have them: to check more, all of it has to be decompressed.
    """
    alike = {mark: progress for mark, progress in known.items() if (progress.head or mark) == sibling.mark}
    if not alike:
        return sibling
    is_sure = sibling.is_compressed and len(alike) == 1
    lines = {mark: None if is_sure else _line_at(sibling, progress) for mark, progress in alike.items()}
    same = [mark for mark, line in lines.items() if line and line == alike[mark].checked]
    if mark := next(iter(same), None) or next((mark for mark, line in lines.items() if line is None), None):
        return replace(sibling, mark=mark, head=alike[mark].head)
    checked = lines[min(alike)]
    mark = fingerprint(f"{sibling.mark} {checked}".encode())
    return replace(sibling, mark=mark, head=sibling.mark, checked=checked)


def _line_at(sibling: Sibling, progress: FileProgress) -> CheckedLine | None:
    """Return the line of a file at the place of the checked line; None if there is nothing to compare."""
    if progress.checked is None:
        return None
    end, at, content = progress.checked.end_offset, 0, b""
    try:
        with open_log(sibling.path, follows_links=sibling.follows_links) as stream:
            if not sibling.is_compressed:
                at = max(0, end - CHECKED_BYTES)
                stream.seek(at)
            for block in read_blocks(stream, is_compressed=sibling.is_compressed):
                content, at = (content + block[: end - at])[-CHECKED_BYTES:], at + len(block)
                if at >= end:
                    return CheckedLine.at_end_of(content, end)
    except (OSError, TornGzipError):
        return None
    return None


def mark_of(stream: IO[bytes], *, is_compressed: bool, is_live: bool = False) -> str | None:
    """Return the fingerprint; None while the first lines of a live file may still grow."""
    head = b""
    try:
        for block in read_blocks(stream, is_compressed=is_compressed):
            head += block
            if first_lines(head, is_whole=False) is not None:
                break
    except TornGzipError:
        is_live = True  # gzip may still be writing: only whole first lines count
    lines = first_lines(head, is_whole=not is_live)
    return None if lines is None else fingerprint(lines)


def head_of(descriptor: int, *, is_live: bool) -> bytes:
    """Return the first lines of a plain file, or the first 64 KiB of it."""
    head = os.pread(descriptor, HEAD_BYTES, 0)
    return first_lines(head, is_whole=not is_live) or head
