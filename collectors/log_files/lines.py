"""Read raw lines and their positions from plain and gzip files, in bounded memory."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from collectors.log_files.gunzip import TornGzipError, gunzip_blocks

BLOCK_BYTES = 256 * 1024
CHUNK_BYTES = 4 * 1024 * 1024  # the parser's limit for a line; a reader may hold dozens of chunks
HEAD_BYTES, HEAD_LINES = 64 * 1024, 16  # how much of a file its identity covers

_UNSUPPORTED_SUFFIXES = {".bz2", ".deflate", ".lz4", ".lzma", ".pack200", ".xz", ".z", ".zip", ".zst"}

Fingerprints = tuple[str, ...]
"""The fingerprints of a file's first line and of the whole lines after it, at most 16 lines of 64 KiB."""

Piece = tuple[bytes, int, int, str | None]
"""Value without newline, start offset of its line, end offset, chunk label."""


@dataclass(frozen=True, slots=True)
class RawLine:
    """The unchanged bytes of one line, one chunk of an oversized line, or one scrape."""

    value: bytes
    node: str
    source: str
    position: str
    kind: str
    chunk: str | None = None
    end_offset: int = 0  # bytes; where to continue once the whole line is acknowledged
    headers: tuple[tuple[str, bytes], ...] = ()  # in addition to those of every line
    cluster_id: str | None = None  # of a poll, which asks Kafka; None: the collector's


class DamagedFileError(Exception):
    """
    The rest of a file cannot be read; every line before the damage was already returned.

    `position` is the position of the first unreadable byte, in the format of record positions.
    """

    def __init__(self, source: str, node: str, kind: str, position: str, reason: str) -> None:
        """Store the fields of a quarantine row."""
        super().__init__(f"{source}: {reason} (at {position})")
        self.source = source
        self.node = node
        self.kind = kind
        self.position = position
        self.reason = reason


def fingerprint(first_line: bytes) -> str:
    """
    Return the identity of a file: a hash of its first line, which a rename, a copy and gzip all keep.

    Kafka's log lines begin with a timestamp, so the first lines of two logs differ. If two files of a node
    begin with the same header, `collectors.log_files.siblings` tells them apart by their first 16 lines.

    >>> fingerprint(b"")
    'e3b0c44298fc1c14'
    >>> fingerprint(b"a" * 70_000) == fingerprint(b"a" * 65_536)
    True
    """
    return hashlib.sha256(first_line[:HEAD_BYTES]).hexdigest()[:16]


def first_line(head: bytes, *, is_whole: bool) -> bytes | None:
    r"""
    Return the first line from the first bytes of a file; None while the line may still grow.

    >>> first_line(b"one\ntwo", is_whole=False), first_line(b"on", is_whole=False)
    (b'one', None)
    >>> first_line(b"on", is_whole=True)
    b'on'
    """
    line, newline, _ = head[:HEAD_BYTES].partition(b"\n")
    if newline or len(line) == HEAD_BYTES or (is_whole and line):
        return line
    return None


def head_of(content: bytes) -> bytes:
    r"""
    Return the first bytes of a file up to the end of its 16th line, at most 64 KiB.

    >>> head_of(b"line\n" * 20) == b"line\n" * 16, head_of(b"one\ntw")
    (True, b'one\ntw')
    """
    content = content[:HEAD_BYTES]
    parts = content.split(b"\n", HEAD_LINES)
    return content[: len(content) - len(parts[-1])] if len(parts) > HEAD_LINES else content


def fingerprints(head: bytes) -> Fingerprints:
    r"""
    Return the fingerprints of the first lines of a file, from its head.

    >>> fingerprints(b"one\ntwo\nthr") == (fingerprint(b"one"), fingerprint(b"two"))
    True
    >>> fingerprints(b"one") == (fingerprint(b"one"),)
    True
    """
    return tuple(map(fingerprint, head.split(b"\n")[:-1] or [head]))


class LineSplitter:
    r"""
    Split blocks into lines, and keep the unfinished last line for the next block.

    A line longer than `chunk_bytes` is split into chunks of that size. They are labelled 1/?, 2/? and so on,
    because the total is unknown; the last one, of 1 to `chunk_bytes` bytes, is labelled 3/3. Chunks start at
    multiples of `chunk_bytes` in their line, so a chunk that is sent again has the same bytes.

    >>> splitter = LineSplitter(0, chunk_bytes=4)
    >>> splitter.feed(b"ab\r\ncdefg")
    [(b'ab\r', 0, 4, None), (b'cdef', 4, 4, '1/?')]
    >>> splitter.feed(b"h\n")
    [(b'gh', 4, 11, '2/2')]
    """

    def __init__(self, offset: int, chunk_bytes: int = CHUNK_BYTES) -> None:
        """Start at the first byte of a line, at `offset` (uncompressed bytes)."""
        self.line_offset = offset
        self._chunk_bytes = chunk_bytes
        self._rest = bytearray()
        self._chunks = 0

    @property
    def read_offset(self) -> int:
        """The offset of the next block (uncompressed bytes)."""
        return self.line_offset + self._chunks * self._chunk_bytes + len(self._rest)

    def feed(self, block: bytes) -> list[Piece]:
        """Add the next block of the file; return the lines and chunks that it completes."""
        lines = block.split(b"\n")
        if len(lines) == 1:
            self._rest += block
            return self._oversized() if len(self._rest) > self._chunk_bytes else []
        pieces: list[Piece] = []
        if self._rest or self._chunks:
            self._rest += lines[0]
            pieces += self._closed(newline=1)
            lines = lines[1:]
        last = lines.pop()
        offset = self.line_offset
        for line in lines:
            if len(line) > self._chunk_bytes:
                self.line_offset, self._rest = offset, bytearray(line)
                pieces += self._closed(newline=1)
                offset = self.line_offset
                continue
            end = offset + len(line) + 1
            pieces.append((line, offset, end, None))
            offset = end
        self.line_offset, self._rest = offset, bytearray(last)
        return pieces + (self._oversized() if len(last) > self._chunk_bytes else [])

    def flush(self) -> list[Piece]:
        """Return the unfinished last line, at the end of a file without a final newline."""
        return self._closed(newline=0) if self._rest else []

    def _oversized(self) -> list[Piece]:
        pieces: list[Piece] = []
        while len(self._rest) > self._chunk_bytes:
            self._chunks += 1
            value = bytes(self._rest[: self._chunk_bytes])
            del self._rest[: self._chunk_bytes]
            pieces.append((value, self.line_offset, self.line_offset, f"{self._chunks}/?"))
        return pieces

    def _closed(self, *, newline: int) -> list[Piece]:
        pieces = self._oversized()
        end = self.read_offset + newline
        label = f"{self._chunks + 1}/{self._chunks + 1}" if self._chunks else None
        pieces.append((bytes(self._rest), self.line_offset, end, label))
        self.line_offset, self._chunks = end, 0
        self._rest.clear()
        return pieces


def is_gzip(path: Path) -> bool:
    """Return whether the name ends in .gz, as brokers and logrotate name gzip files."""
    return path.suffix == ".gz"


def is_unreadable(path: Path) -> bool:
    """Return whether the suffix is that of an unsupported compression of log4j2 or logrotate."""
    return path.suffix.lower() in _UNSUPPORTED_SUFFIXES


def read_blocks(stream: IO[bytes], *, is_compressed: bool) -> Iterator[bytes]:
    """Yield a file's uncompressed bytes in blocks of at most 256 KiB."""
    if is_compressed:
        yield from gunzip_blocks(stream, BLOCK_BYTES)
        return
    while block := stream.read(BLOCK_BYTES):
        yield block


def read_lines(  # noqa: PLR0913 (what to read, from where)
    path: Path,
    node: str,
    kind: str,
    *,
    mark: str = "",
    start_offset: int = 0,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[RawLine]:
    """
    Yield the lines of a finished file, from the line at `start_offset` (uncompressed bytes) to the end.

    `mark` identifies the file; default: the fingerprint of its first line. The last line does not need a
    newline. All bytes are kept, also a trailing CR.

    Raises:
        DamagedFileError: the file cannot be opened, or its gzip data is torn or corrupt. It is raised after
            all readable bytes were yielded, including those of an unfinished line.

    """
    reason = ""
    splitter = LineSplitter(start_offset, chunk_bytes)
    try:
        with path.open("rb") as stream:
            blocks = _from_the_first_line(read_blocks(stream, is_compressed=is_gzip(path)))
            first = next(blocks)
            mark = mark or fingerprint(first)
            to_skip = start_offset
            for block in blocks:
                wanted = block[to_skip:]
                to_skip -= len(block) - len(wanted)
                for piece in splitter.feed(wanted):
                    yield raw_line(piece, mark, path, node, kind)
    except (OSError, TornGzipError) as error:
        reason = str(error)
    mark = mark or fingerprint(b"")
    for piece in splitter.flush():
        yield raw_line(piece, mark, path, node, kind)
    if reason:
        position = f"{node}/{mark}/{splitter.read_offset}"
        raise DamagedFileError(str(path), node, kind, position, reason)


def _from_the_first_line(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the first line, then every block from the start of the file."""
    held: list[bytes] = []
    damage: TornGzipError | None = None
    try:
        while first_line(b"".join(held), is_whole=False) is None and (block := next(blocks, b"")):
            held.append(block)
    except TornGzipError as error:
        damage = error
    yield first_line(b"".join(held), is_whole=True) or b""
    yield from held
    if damage:
        raise damage
    yield from blocks


def raw_line(piece: Piece, mark: str, path: Path, node: str, kind: str) -> RawLine:
    """Return a piece of a file as a raw line with its position."""
    value, offset, end, chunk = piece
    return RawLine(value, node, str(path), f"{node}/{mark}/{offset}", kind, chunk, end)
