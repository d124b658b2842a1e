"""Tail one log through rotation, copytruncate, gzip and restarts, by the identity of its files and offset."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import CHUNK_BYTES, Fingerprints, LineSplitter, Piece, RawLine, raw_line
from collectors.log_files.positions import FileProgress, LogProgress, copied, forget
from collectors.log_files.readers import LogReader, ReplacedError, open_reader
from collectors.log_files.siblings import Sibling, Siblings
from conf.settings import TailedFile

log = logging.getLogger(__name__)

SETTLE_S = 2.0  # how long a writer may use a renamed file, and a missing file may return as .gz


@dataclass(frozen=True, slots=True)
class LostRange:
    """A byte range that can no longer be read; `end_offset` is None if unknown."""

    source: str
    mark: str
    start_offset: int
    end_offset: int | None


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Lines of one file, in file order. A finished batch is the last batch of its file."""

    mark: str
    head: Fingerprints
    lines: list[RawLine]
    end_offset: int  # uncompressed bytes; all lines before it are in this batch or an earlier one
    is_finished: bool = False
    lost: LostRange | None = None
    read_bytes: int = 0


class _Step(Enum):
    """The next step of `poll`."""

    AGAIN, WAIT, ENDED = auto(), auto(), auto()


@dataclass(slots=True)
class _Cut:
    """State of a file that was truncated while it was open."""

    splitter: LineSplitter
    seen_bytes: int


@dataclass(slots=True)
class Tailer:
    """
    Tail of one log; `poll` never blocks.

    `saved` is the acknowledged progress of earlier runs; None in the first run. Without a glob in the path,
    the first run starts with the live file and ignores older rotated files. `others` returns the files of the
    other logs of its node and kind: two files have the same mark only if their first lines are the same.
    """

    file: TailedFile
    saved: LogProgress | None = None
    settle_s: float = SETTLE_S
    chunk_bytes: int = CHUNK_BYTES
    clock: Callable[[], float] = time.monotonic
    others: Callable[[], Sequence[LogProgress]] = tuple
    known: LogProgress = field(init=False, default_factory=dict)  # read, acknowledged or not
    _siblings: Siblings = field(init=False)
    _reader: LogReader | None = field(init=False, default=None)
    _rotated_at: float | None = field(init=False, default=None)
    _is_last_look: bool = field(init=False, default=False)
    _missing_since: dict[str, float] = field(init=False, default_factory=dict)
    _cut: dict[str, _Cut] = field(init=False, default_factory=dict)
    _retry_at: dict[str, float] = field(init=False, default_factory=dict)
    _torn_bytes: dict[str, int] = field(init=False, default_factory=dict)  # size of a torn gzip file
    _looked_at: float = field(init=False, default=0.0)
    _waiting_bytes: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Load the saved progress, or choose where to start."""
        self._siblings = Siblings(self.file.path, follow_links=self.file.follow_links)
        if self.saved is not None:
            self.known = copied(self.saved)
            return
        for sibling in self._siblings.listed(self.known, self.others()):
            is_wanted = sibling.is_live or self._siblings.has_glob
            offset = 0 if is_wanted or sibling.is_compressed else sibling.size
            self.known[sibling.mark] = FileProgress(offset, is_finished=not is_wanted, head=sibling.head)

    @property
    def live(self) -> Path:
        """The path of the live file."""
        return self._siblings.live

    @property
    def is_waiting(self) -> bool:
        """Whether `poll` may return more even if nothing is written to the log."""
        return bool(self._missing_since or self._retry_at or (self._reader and not self._reader.is_live))

    def bytes_behind(self) -> int:
        """Return the number of unread bytes; gzip files count with their compressed size."""
        return self._waiting_bytes + (self._reader.bytes_behind() if self._reader else 0)

    def close(self) -> None:
        """Close the open file; `known` keeps the offset to continue from."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def poll(self) -> LineBatch | None:
        """Return the lines of the next block; None if there is nothing to read now."""
        while True:
            if last_batch := self._last_batch_of_missing_file():
                return last_batch
            reader = self._reader or self._open_next()
            if reader is None:
                return None
            try:
                block = reader.read()
            except (ReplacedError, TornGzipError) as error:
                if last_batch := self._last_batch_of_damaged_file(reader, error):
                    return last_batch
                continue
            if block:
                self._is_last_look = False
                return self._batch(reader, reader.splitter.feed(block), read_bytes=len(block))
            step = self._at_the_end_of(reader)
            if step is not _Step.AGAIN:
                return self._last_batch(reader) if step is _Step.ENDED else None

    def _at_the_end_of(self, reader: LogReader) -> "_Step":
        """Return the next step at the end of a file; a rotated file is read once more before it is closed."""
        if not reader.is_live:
            if self._is_last_look:
                return _Step.ENDED
            self._is_last_look = self._is_settled()  # everything its writer wrote is readable now
            return _Step.AGAIN if self._is_last_look else _Step.WAIT
        if self._siblings.is_live(reader.inode):
            if not self._is_time_to_look_again():
                return _Step.WAIT
            self.close()
        else:  # renamed: read what was written before the rename first
            reader.is_live, self._rotated_at = False, self.clock()
        return _Step.AGAIN

    def _open_next(self) -> LogReader | None:
        siblings = self._siblings.listed(self.known, self.others())
        self._note_missing({sibling.mark for sibling in siblings})
        unread = [sibling for sibling in siblings if self._is_unread(sibling)]
        for sibling in unread:
            progress = self.known.setdefault(sibling.mark, FileProgress(0))
            if sibling.is_live and sibling.size < progress.offset:
                log.error(
                    "%s was truncated to %d bytes; reading continues from there", sibling.path, sibling.size
                )
                progress.offset = sibling.size
            try:
                self._reader = open_reader(sibling, progress.offset, self.chunk_bytes)
            except (ReplacedError, OSError):
                continue  # rotated between the listing and the opening: the next listing has the new path
            progress.is_finished, progress.head = False, self._reader.head
            self._rotated_at, self._is_last_look = self._may_grow_since(self._reader), False
            if sibling.is_live:
                self._cut.pop(sibling.mark, None)
            self._retry_at.pop(sibling.mark, None)
            self._waiting_bytes = sum(other.size for other in unread if other is not sibling)
            return self._reader
        return None

    def _may_grow_since(self, reader: LogReader) -> float | None:
        """Return when the settling time of a rotated file starts, in which its writer may finish a line."""
        if reader.is_live or reader.sibling.is_compressed or self._is_old(reader):
            return None
        return self.clock()

    def _is_old(self, reader: LogReader) -> bool:
        return time.time() - reader.modified_at() >= self.settle_s

    def _is_unread(self, sibling: Sibling) -> bool:
        progress = self.known.get(sibling.mark)
        if progress is None or not progress.is_finished:
            return self._retry_at.get(sibling.mark, 0.0) <= self.clock()
        return not sibling.is_compressed and sibling.size > progress.offset  # written to after its rename

    def _note_missing(self, present: set[str]) -> None:
        self._looked_at = self.clock()
        forget(self.known, present)
        unfinished = {mark for mark, progress in self.known.items() if not progress.is_finished}
        missing = unfinished - present
        self._missing_since = {mark: self._missing_since.get(mark, self._looked_at) for mark in missing}

    def _is_time_to_look_again(self) -> bool:
        is_due = self.clock() - self._looked_at > self.settle_s / 2
        return is_due and bool(self._missing_since or self._retry_at)

    def _is_settled(self) -> bool:
        """Return whether the writer of a renamed file has switched to the new file."""
        if self._rotated_at is None or self.clock() - self._rotated_at >= self.settle_s:
            return True
        return self._siblings.has_live_begun()

    def _batch(
        self,
        reader: LogReader,
        pieces: list[Piece],
        *,
        read_bytes: int = 0,
        is_finished: bool = False,
        lost: LostRange | None = None,
    ) -> LineBatch:
        mark, path = reader.sibling.mark, reader.sibling.path
        progress = self.known[mark]
        progress.offset, progress.is_finished = reader.splitter.line_offset, is_finished
        progress.head = reader.head
        lines = [raw_line(piece, mark, path, self.file.node, self.file.kind) for piece in pieces]
        return LineBatch(mark, progress.head, lines, progress.offset, is_finished, lost, read_bytes)

    def _last_batch(self, reader: LogReader) -> LineBatch:
        """Return the last batch of a rotated file, with the lost range if a copy is too short."""
        self.close()
        sibling, cut = reader.sibling, self._cut.pop(reader.sibling.mark, None)
        if cut and cut.splitter.read_offset > reader.splitter.read_offset:
            reader.splitter = cut.splitter  # the unfinished line in memory has more bytes than the copy
        pieces, end, lost = reader.splitter.flush(), reader.splitter.read_offset, None
        if cut and cut.seen_bytes > end:
            lost = LostRange(str(sibling.path), sibling.mark, end, cut.seen_bytes)
            log.error(
                "%s was truncated at %d, but its copy %s is shorter: bytes from %d on are lost (%s)",
                self._siblings.live, cut.seen_bytes, sibling.path.name, end, sibling.mark,
            )  # fmt: skip
        return self._batch(reader, pieces, is_finished=True, lost=lost)

    def _last_batch_of_damaged_file(
        self, reader: LogReader, error: ReplacedError | TornGzipError
    ) -> LineBatch | None:
        """
        Close a file that cannot be read on; return its last batch, or None if it is tried again later.

        After truncation, a copy of the file may turn up. A torn gzip may still be written; if it does not
        change, its readable bytes are used and the rest counts as lost.
        """
        sibling, size = reader.sibling, reader.size()
        is_done = self._is_old(reader) and self._torn_bytes.get(sibling.mark) == size
        self.close()
        if isinstance(error, ReplacedError):
            self._cut[sibling.mark] = _Cut(reader.splitter, reader.seen_bytes)
            return None
        if not is_done:  # one check is not enough: this process may have been paused between read and check
            self._torn_bytes[sibling.mark] = size
            self._retry_at[sibling.mark] = self.clock() + self.settle_s / 2
            return None
        del self._torn_bytes[sibling.mark]
        pieces = reader.splitter.flush()
        lost = LostRange(str(sibling.path), sibling.mark, reader.splitter.read_offset, None)
        log.error("%s: %s; bytes from %d on are lost (%s)", sibling.path, error, lost.start_offset, lost.mark)
        return self._batch(reader, pieces, is_finished=True, lost=lost)

    def _last_batch_of_missing_file(self) -> LineBatch | None:
        """
        Return the last batch of an unfinished file that has been missing for `settle_s`; else None.

        Time counts only between directory listings, because it also passes while this process is paused or
        waits for room in the producer queue.
        """
        looked_at = self._looked_at
        gone = (m for m, since in self._missing_since.items() if looked_at - since >= self.settle_s)
        mark = next(gone, None)
        if mark is None:
            return None
        del self._missing_since[mark]
        progress, cut, path = self.known[mark], self._cut.pop(mark, None), self._siblings.live
        pieces = cut.splitter.flush() if cut else []
        start = cut.splitter.read_offset if cut else progress.offset
        end = cut.seen_bytes if cut else None
        lost = None
        if end is not None and end <= start:
            log.warning("%s was truncated at %d; all bytes up to there were read (%s)", path, start, mark)
        else:
            lost = LostRange(str(path), mark, start, end)
            log.error(
                "%s: a rotated file is gone before it was read; its bytes %d to %s, if any, are lost (%s)",
                path, start, "the end" if end is None else end, mark,
            )  # fmt: skip
        progress.offset, progress.is_finished = start, True
        lines = [raw_line(piece, mark, path, self.file.node, self.file.kind) for piece in pieces]
        return LineBatch(mark, progress.head, lines, start, is_finished=True, lost=lost)
