"""
List the files of one log: the live file and the rotated files, identified by their first lines.

The mark of a file is the fingerprint of its first line. If another file of the node and kind has the same
first line, a header for example, its mark is the fingerprint of its lines up to the first one that differs.
"""

import glob
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import IO

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import (
    HEAD_BYTES,
    HEAD_LINES,
    Fingerprints,
    fingerprint,
    fingerprints,
    first_line,
    head_of,
    is_gzip,
    is_unreadable,
    read_blocks,
)
from collectors.log_files.positions import LogProgress

log = logging.getLogger(__name__)

Inode = tuple[int, int]

MarkedHead = tuple[str, Fingerprints]
"""The mark of a file and the fingerprints of its first lines."""


class LogPathError(ValueError):
    """A path in the settings does not identify exactly one log."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """A file of a log, as listed."""

    path: Path
    mark: str
    head: Fingerprints
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
        self._heads: dict[tuple[str, Inode, int, int], Fingerprints | None] = {}
        self._unreadable: set[Path] = set()

    def listed(self, known: LogProgress, others: Iterable[LogProgress] = ()) -> list[Sibling]:
        """
        Return the files that have a first line, one per mark: oldest first, the live file last.

        A live file that still agrees with the first lines of a longer known file is left out: it may be
        another file that begins with the same header. `others` has the files of the other logs of its node
        and kind.
        """
        heads, taken = dict(_marked(known)), [each for other in others for each in _marked(other)]
        by_mark: dict[str, Sibling] = {}
        for found in sorted(self._all(), key=_age):
            mark = identity(found.head, heads, taken, is_live=found.is_live)
            if mark is None:
                continue
            heads[mark] = max(heads.get(mark, ()), found.head, key=len)
            sibling, other = replace(found, mark=mark), by_mark.get(mark)
            if other is None or _preference(sibling) < _preference(other):
                by_mark[mark] = sibling
        return sorted(by_mark.values(), key=_age)

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
            return _head(self.live, is_live=True) is not None
        except OSError:
            return False

    def _all(self) -> Iterator[Sibling]:
        seen: dict[tuple[str, Inode, int, int], Fingerprints | None] = {}
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
                head = (
                    self._heads[key] if key in self._heads and not is_live else _head(path, is_live=is_live)
                )
            except FileNotFoundError:
                continue  # rotated between the listing and the stat
            except OSError as error:
                self._log_once(
                    path, f"cannot be read: {error.strerror}; correct this, the collector keeps retrying"
                )
                continue
            seen[key] = head
            if head:
                yield Sibling(path, head[0], head, status.st_size, status.st_mtime_ns, is_live)
        self._heads = seen

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


def _age(sibling: Sibling) -> tuple[bool, int, str]:
    return sibling.is_live, sibling.modified_ns, sibling.path.name


def agree(one: Fingerprints, other: Fingerprints) -> bool:
    """
    Return whether the lines that both heads have are equal.

    >>> agree(("a", "b"), ("a",)), agree(("a", "b"), ("a", "c", "d"))
    (True, False)
    """
    return all(mine == its for mine, its in zip(one, other, strict=False))


def identity(
    head: Fingerprints,
    heads: Mapping[str, Fingerprints],
    taken: Sequence[MarkedHead] = (),
    *,
    is_live: bool = False,
) -> str | None:
    """
    Return the mark of the known file that a file is, or a new mark; `heads` has those of all known files.

    `taken` has the files of the other logs of its node and kind, which may include copies of this file.
    None for a live file that is too short to tell.

    >>> identity(("a", "b"), {}), identity(("a", "b"), {}, [("a", ("a", "b", "c"))])
    ('a', 'a')
    >>> identity(("a", "b"), {}, [("a", ("a", "b"))], is_live=True) is None
    True
    >>> identity(("a", "b"), {}, [("a", ("a",))]) == identity(("a", "b"), {"a": ("a", "c")}) != "a"
    True
    """
    for mark, known in heads.items():
        if agree(known, head):
            return None if is_live and len(head) < len(known) else mark
    for mark, known in taken:
        if agree(known, head) and len(head) <= len(known):
            return None if is_live and len(head) < HEAD_LINES else mark
    alike = [known for _, known in (*heads.items(), *taken) if known[0] == head[0]]
    if not alike:
        return head[0]
    shared = max(_shared(known, head) for known in alike)
    return fingerprint("".join(head[: shared + 1]).encode())


def separated(saved: LogProgress, others: Iterable[LogProgress]) -> LogProgress:
    """
    Return the progress of a log, with a new mark for each file whose mark another log has for another file.

    A former version gave the same mark to two logs of a node that begin with the same line.
    """
    taken = [each for other in others for each in _marked(other)]
    progresses: LogProgress = {}
    for mark, progress in saved.items():
        own = {other: head for other, head in _marked(saved) if other != mark}
        is_shared = any(other == mark and not agree(head, progress.head) for other, head in taken)
        new = identity(progress.head, own, taken) if is_shared else None
        progresses[new or mark] = progress
    return progresses


def _marked(known: LogProgress) -> list[MarkedHead]:
    return [(mark, progress.head or (mark,)) for mark, progress in known.items()]


def marks_of(paths: Iterable[Path]) -> list[str]:
    """Return the mark of each finished file of a log; empty if it has no line, or cannot be read."""
    heads, marks = dict[str, Fingerprints](), list[str]()
    for path in paths:
        head = None
        with suppress(OSError):
            head = _head(path, is_live=False)
        mark = identity(head, heads) if head else None
        if head and mark:
            heads[mark] = max(heads.get(mark, ()), head, key=len)
        marks.append(mark or "")
    return marks


def _shared(one: Fingerprints, other: Fingerprints) -> int:
    """Return the number of equal lines before the first one that differs or that only one of them has."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _head(path: Path, *, is_live: bool) -> Fingerprints | None:
    with path.open("rb") as stream:
        return read_head(stream, is_compressed=is_gzip(path), is_live=is_live)


def read_head(stream: IO[bytes], *, is_compressed: bool, is_live: bool = False) -> Fingerprints | None:
    """Return the head of a file; None while the first line of a live file may still grow."""
    content = b""
    try:
        for block in read_blocks(stream, is_compressed=is_compressed):
            content += block
            if len(content) >= HEAD_BYTES or content.count(b"\n") >= HEAD_LINES:
                break
    except TornGzipError:
        is_live = True  # gzip may still be writing: only a whole first line counts
    line = first_line(content, is_whole=not is_live)
    return None if line is None else fingerprints(head_of(content))
