"""Follows one log through rotation, copy-truncate, gzip and restarts, by fingerprint and offset."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import CHUNK_BYTES, LineSplitter, Piece, RawLine, raw_line
from collectors.log_files.positions import Progress, Progresses, copied, forget
from collectors.log_files.readers import Reader, ReplacedError, open_reader
from collectors.log_files.siblings import Sibling, Siblings
from conf.settings import TailedFile

log = logging.getLogger(__name__)

SETTLE_S = 2.0  # so long a writer may still use a renamed file, and a missing one may come back as .gz


@dataclass(frozen=True, slots=True)
class Lost:
    """Bytes that were there and cannot be read any more; `end_offset` is None when nobody knows."""

    source: str
    mark: str
    start_offset: int
    end_offset: int | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines of one file, in its order; after a finished batch nothing more comes from that file."""

    mark: str
    lines: list[RawLine]
    end_offset: int  # bytes: what was read and is wholly in this batch or an earlier one
    is_finished: bool = False
    lost: Lost | None = None
    read_bytes: int = 0


class _Step(Enum):
    """What `poll` does next."""

    AGAIN, WAIT, ENDED = auto(), auto(), auto()


@dataclass(slots=True)
class _Cut:
    """What is remembered of a file that was truncated under the reader."""

    splitter: LineSplitter
    seen_bytes: int


@dataclass(slots=True)
class Tailer:
    """
    Reads what one log has had and gets; `poll` never waits.

    `saved` is what an earlier run delivered safely, None when there was none. Without a glob in the path the
    first run starts with the live file and leaves the files rotated before it alone.
    """

    file: TailedFile
    saved: Progresses | None = None
    settle_s: float = SETTLE_S
    chunk_bytes: int = CHUNK_BYTES
    clock: Callable[[], float] = time.monotonic
    known: Progresses = field(init=False, default_factory=dict)  # how far each file was read, safe or not
    _siblings: Siblings = field(init=False)
    _reader: Reader | None = field(init=False, default=None)
    _rotated_at: float | None = field(init=False, default=None)
    _is_last_look: bool = field(init=False, default=False)
    _missing_since: dict[str, float] = field(init=False, default_factory=dict)
    _cut: dict[str, _Cut] = field(init=False, default_factory=dict)
    _retry_at: dict[str, float] = field(init=False, default_factory=dict)
    _torn_bytes: dict[str, int] = field(init=False, default_factory=dict)  # size of a gzip when it was torn
    _looked_at: float = field(init=False, default=0.0)
    _waiting_bytes: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Take up the saved progress, or decide where to begin."""
        self._siblings = Siblings(self.file.path)
        if self.saved is not None:
            self.known = copied(self.saved)
            return
        siblings = self._siblings.listed()
        for sibling in siblings:
            if sibling.is_live or self._siblings.has_glob:
                self.known[sibling.mark] = Progress(0)
            else:
                self.known[sibling.mark] = Progress(
                    0 if sibling.is_compressed else sibling.size, is_finished=True
                )

    @property
    def is_waiting(self) -> bool:
        """Tell whether something is about to happen without anything being written."""
        return bool(self._missing_since or self._retry_at or (self._reader and not self._reader.is_live))

    def bytes_behind(self) -> int:
        """Give the bytes not read yet, those of compressed files as they lie on disk."""
        return self._waiting_bytes + (self._reader.bytes_behind() if self._reader else 0)

    def close(self) -> None:
        """Let go of the open file; `known` says where to read on."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def poll(self) -> Batch | None:
        """Read the next block of the next unread file; None when there is nothing for now."""
        while True:
            if given_up := self._given_up():
                return given_up
            reader = self._reader or self._open_next()
            if reader is None:
                return None
            try:
                block = reader.read()
            except (ReplacedError, TornGzipError) as error:
                if damaged := self._broken_off(reader, error):
                    return damaged
                continue
            if block:
                self._is_last_look = False
                return self._batch(reader, reader.splitter.feed(block), read_bytes=len(block))
            step = self._at_the_end_of(reader)
            if step is not _Step.AGAIN:
                return self._ended(reader) if step is _Step.ENDED else None

    def _at_the_end_of(self, reader: Reader) -> "_Step":
        """Say what to do when a file has given nothing; a rotated one is read once more before it is left."""
        if not reader.is_live:
            if self._is_last_look:
                return _Step.ENDED
            self._is_last_look = self._is_settled()  # what its writer wrote before leaving it is there now
            return _Step.AGAIN if self._is_last_look else _Step.WAIT
        if self._siblings.is_live(reader.inode):
            if not self._is_time_to_look_again():
                return _Step.WAIT
            self.close()
        else:  # renamed: what was written before the rename is read first
            reader.is_live, self._rotated_at = False, self.clock()
        return _Step.AGAIN

    def _open_next(self) -> Reader | None:
        siblings = self._siblings.listed()
        self._note_missing({sibling.mark for sibling in siblings})
        unread = [sibling for sibling in siblings if self._is_unread(sibling)]
        for sibling in unread:
            progress = self.known.setdefault(sibling.mark, Progress(0))
            if sibling.is_live and sibling.size < progress.offset:
                log.error("%s was cut to %d bytes, read on from there", sibling.path, sibling.size)
                progress.offset = sibling.size
            try:
                self._reader = open_reader(sibling, progress.offset, self.chunk_bytes)
            except (ReplacedError, OSError):
                continue  # rotated between the listing and the opening: the next listing shows where to
            progress.is_finished = False
            self._rotated_at, self._is_last_look = self._may_grow_since(self._reader), False
            if sibling.is_live:
                self._cut.pop(sibling.mark, None)
            self._retry_at.pop(sibling.mark, None)
            self._waiting_bytes = sum(other.size for other in unread if other is not sibling)
            return self._reader
        return None

    def _may_grow_since(self, reader: Reader) -> float | None:
        """Give a rotated file's last writer the time to end its line, also when we came after the rename."""
        if reader.is_live or reader.sibling.is_compressed or self._is_old(reader):
            return None
        return self.clock()

    def _is_old(self, reader: Reader) -> bool:
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
        """Tell whether the writer of a renamed file has left it for the new one."""
        if self._rotated_at is None or self.clock() - self._rotated_at >= self.settle_s:
            return True
        return self._siblings.has_live_begun()

    def _batch(
        self,
        reader: Reader,
        pieces: list[Piece],
        *,
        read_bytes: int = 0,
        is_finished: bool = False,
        lost: Lost | None = None,
    ) -> Batch:
        mark, path = reader.sibling.mark, reader.sibling.path
        progress = self.known[mark]
        progress.offset, progress.is_finished = reader.splitter.line_offset, is_finished
        lines = [raw_line(piece, mark, path, self.file.node, self.file.kind) for piece in pieces]
        return Batch(mark, lines, progress.offset, is_finished, lost, read_bytes)

    def _ended(self, reader: Reader) -> Batch:
        """Close the book on a rotated file; of a copy that ends before what was seen, tell what it lacks."""
        self.close()
        sibling, cut = reader.sibling, self._cut.pop(reader.sibling.mark, None)
        if cut and cut.splitter.read_offset > reader.splitter.read_offset:
            reader.splitter = cut.splitter  # half a line in memory is more than the copy has
        pieces, end, lost = reader.splitter.flush(), reader.splitter.read_offset, None
        if cut and cut.seen_bytes > end:
            lost = Lost(str(sibling.path), sibling.mark, end, cut.seen_bytes)
            log.error(
                "%s was truncated at %d, its copy %s ends before: bytes from %d on are lost (%s)",
                self._siblings.live, cut.seen_bytes, sibling.path.name, end, sibling.mark,
            )  # fmt: skip
        return self._batch(reader, pieces, is_finished=True, lost=lost)

    def _broken_off(self, reader: Reader, error: ReplacedError | TornGzipError) -> Batch | None:
        """
        Look for the copy of a truncated file later.

        A torn gzip may still be written; when it is not, take what there is and count the rest as lost.
        """
        sibling, size = reader.sibling, reader.size()
        is_done = self._is_old(reader) and self._torn_bytes.get(sibling.mark) == size
        self.close()
        if isinstance(error, ReplacedError):
            self._cut[sibling.mark] = _Cut(reader.splitter, reader.seen_bytes)
            return None
        if not is_done:  # one look is not enough: this very process may have been stopped in between
            self._torn_bytes[sibling.mark] = size
            self._retry_at[sibling.mark] = self.clock() + self.settle_s / 2
            return None
        del self._torn_bytes[sibling.mark]
        pieces = reader.splitter.flush()
        lost = Lost(str(sibling.path), sibling.mark, reader.splitter.read_offset, None)
        log.error("%s: %s; bytes from %d on are lost (%s)", sibling.path, error, lost.start_offset, lost.mark)
        return self._batch(reader, pieces, is_finished=True, lost=lost)

    def _given_up(self) -> Batch | None:
        """
        Close the book on a file with unread bytes that has been gone for long enough.

        So long that a look has shown it: time alone passes for a stopped process, too, and in a full queue.
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
            log.warning("%s was truncated at %d, all that was seen of it was read (%s)", path, start, mark)
        else:
            lost = Lost(str(path), mark, start, end)
            log.error(
                "%s: a rotated file is gone before it was read; its bytes %d to %s, if any, are lost (%s)",
                path, start, "the end" if end is None else end, mark,
            )  # fmt: skip
        progress.offset, progress.is_finished = start, True
        lines = [raw_line(piece, mark, path, self.file.node, self.file.kind) for piece in pieces]
        return Batch(mark, lines, start, is_finished=True, lost=lost)
