"""One open file of a log: blocks from an offset on, and the news that it was cut off behind our back."""

import os
from collections.abc import Iterator

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import BLOCK_BYTES, LineSplitter, fingerprint, read_blocks
from collectors.log_files.siblings import Inode, Sibling, head_of, mark_of


class ReplacedError(Exception):
    """The file is no longer the one it was: truncated, or another under the same path."""


class PlainReader:
    """Reads a file that may grow, be renamed or be truncated; holds it open, so a deleted one is read on."""

    def __init__(self, sibling: Sibling, offset: int, chunk_bytes: int) -> None:
        """
        Open the file and look that it is the one that was listed.

        Raises:
            ReplacedError: it is another one by now.

        """
        self.sibling = sibling
        self._descriptor = os.open(sibling.path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._descriptor)
        self.inode: Inode = (status.st_dev, status.st_ino)
        self._head = head_of(self._descriptor)
        if fingerprint(self._head.removesuffix(b"\n")) != sibling.mark:
            self.close()
            raise ReplacedError
        self.is_live = sibling.is_live
        self.seen_bytes = status.st_size
        self.splitter = LineSplitter(offset, chunk_bytes)

    def read(self) -> bytes:
        """
        Read the next block; empty when there is nothing yet.

        The head is compared after the block is read: what was cut off in between was cut off before the
        look, so a block that passes belongs to this file.

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
        return block

    def size(self) -> int:
        """Give the bytes on disk."""
        return os.fstat(self._descriptor).st_size

    def bytes_behind(self) -> int:
        """Give the bytes not read yet."""
        return max(0, self.size() - self.splitter.read_offset)

    def modified_at(self) -> float:
        """Tell when the file was last written to, in epoch seconds."""
        return os.fstat(self._descriptor).st_mtime

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


class GzipReader:
    """Reads a rotated file that was compressed."""

    is_live = False

    def __init__(self, sibling: Sibling, offset: int, chunk_bytes: int) -> None:
        """
        Open the file; what lies before `offset` (uncompressed) is read over.

        Raises:
            ReplacedError: the next rotation has put another file under its name since it was listed.

        """
        self.sibling = sibling
        self.inode: Inode = (0, 0)
        self.seen_bytes = 0
        self.splitter = LineSplitter(offset, chunk_bytes)
        self._stream = sibling.path.open("rb")
        if mark_of(self._stream, is_compressed=True) != sibling.mark:
            self.close()
            raise ReplacedError
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
        Read the next block; empty at the end.

        Raises:
            TornGzipError: it cannot be read further, or not yet.

        """
        return next(self._blocks, b"")

    def modified_at(self) -> float:
        """Tell when the file was last written to, in epoch seconds."""
        return os.fstat(self._stream.fileno()).st_mtime

    def size(self) -> int:
        """Give the bytes on disk, compressed."""
        return os.fstat(self._stream.fileno()).st_size

    def bytes_behind(self) -> int:
        """Give the bytes on disk: how much is inside is known at the end."""
        return self.sibling.size

    def close(self) -> None:
        """Let go of the file."""
        self._stream.close()


Reader = PlainReader | GzipReader


def open_reader(sibling: Sibling, offset: int, chunk_bytes: int) -> Reader:
    """Open a file of a log for reading from `offset` (bytes, uncompressed) on."""
    kind = GzipReader if sibling.is_compressed else PlainReader
    return kind(sibling, offset, chunk_bytes)


__all__ = ["GzipReader", "PlainReader", "Reader", "ReplacedError", "TornGzipError", "open_reader"]
