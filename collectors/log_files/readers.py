"""Read one open file of a log in blocks from an offset, and detect truncation."""

import os
from collections.abc import Iterator

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import (
    BLOCK_BYTES,
    HEAD_BYTES,
    HEAD_LINES,
    LineSplitter,
    fingerprints,
    head_of,
    read_blocks,
)
from collectors.log_files.siblings import Inode, Sibling, agree, read_head


class ReplacedError(Exception):
    """The file was truncated, or the path now leads to a different file."""


class PlainReader:
    """Reads a file that may grow, be renamed, truncated or deleted; the open descriptor survives deletion."""

    def __init__(self, sibling: Sibling, offset: int, chunk_bytes: int) -> None:
        """
        Open the file and check its first lines.

        Raises:
            ReplacedError: the path now leads to a different file than the one that was listed.

        """
        self.sibling = sibling
        self._descriptor = os.open(sibling.path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._descriptor)
        self.inode: Inode = (status.st_dev, status.st_ino)
        self._head = head_of(os.pread(self._descriptor, HEAD_BYTES, 0))
        self.head = fingerprints(self._head)
        if not agree(self.head, sibling.head):
            self.close()
            raise ReplacedError
        self.is_live = sibling.is_live
        self.seen_bytes = status.st_size
        self.splitter = LineSplitter(offset, chunk_bytes)

    def read(self) -> bytes:
        """
        Return the next block; empty if there is none yet.

        The first lines are compared after the block is read. If they are unchanged, the file was not
        truncated before the read, so the block belongs to this file.

        Raises:
            ReplacedError: the file was truncated.

        """
        at = self.splitter.read_offset
        block = os.pread(self._descriptor, BLOCK_BYTES, at)
        size = self.size()
        if os.pread(self._descriptor, len(self._head), 0) != self._head:
            raise ReplacedError
        if not block and self.is_live and size < at:
            raise ReplacedError
        self.seen_bytes = max(self.seen_bytes, size)
        if block and len(self.head) < HEAD_LINES and at <= len(self._head) < HEAD_BYTES:
            self._head = head_of(self._head[:at] + block)
            self.head = fingerprints(self._head)
        return block

    def size(self) -> int:
        """Return the size on disk in bytes."""
        return os.fstat(self._descriptor).st_size

    def bytes_behind(self) -> int:
        """Return the number of unread bytes."""
        return max(0, self.size() - self.splitter.read_offset)

    def modified_at(self) -> float:
        """Return the modification time in epoch seconds."""
        return os.fstat(self._descriptor).st_mtime

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class GzipReader:
    """Reads a rotated gzip file."""

    is_live = False

    def __init__(self, sibling: Sibling, offset: int, chunk_bytes: int) -> None:
        """
        Open the file, check its first lines, and skip to `offset` (uncompressed bytes).

        Raises:
            ReplacedError: a rotation has put a different file at this path since it was listed.

        """
        self.sibling = sibling
        self.inode: Inode = (0, 0)
        self.seen_bytes = 0
        self.splitter = LineSplitter(offset, chunk_bytes)
        self._stream = sibling.path.open("rb")
        found = read_head(self._stream, is_compressed=True)
        if found is None or not agree(found, sibling.head):
            self.close()
            raise ReplacedError
        self.head = found
        self._stream.seek(0)
        self._blocks = self._from(offset)

    def _from(self, offset: int) -> Iterator[bytes]:
        for block in read_blocks(self._stream, is_compressed=True):
            wanted = block[offset:]
            offset -= len(block) - len(wanted)
            if wanted:
                yield wanted

    def read(self) -> bytes:
        """
        Return the next block; empty at the end.

        Raises:
            TornGzipError: the rest of the file cannot be read, or is not written yet.

        """
        return next(self._blocks, b"")

    def modified_at(self) -> float:
        """Return the modification time in epoch seconds."""
        return os.fstat(self._stream.fileno()).st_mtime

    def size(self) -> int:
        """Return the compressed size on disk in bytes."""
        return os.fstat(self._stream.fileno()).st_size

    def bytes_behind(self) -> int:
        """Return the compressed size in bytes, because the uncompressed size is unknown until the end."""
        return self.sibling.size

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


LogReader = PlainReader | GzipReader


def open_reader(sibling: Sibling, offset: int, chunk_bytes: int) -> LogReader:
    """Return a reader of a file, starting at `offset` (uncompressed bytes)."""
    kind = GzipReader if sibling.is_compressed else PlainReader
    return kind(sibling, offset, chunk_bytes)


__all__ = ["GzipReader", "LogReader", "PlainReader", "ReplacedError", "TornGzipError", "open_reader"]
