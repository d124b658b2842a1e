"""
Decompress gzip in bounded memory, and return every byte before any damage.

At damage, `gzip.GzipFile` raises and drops the last good bytes of that read, up to a block of lines.
"""

import zlib
from collections.abc import Generator, Iterator
from typing import IO

COMPRESSED_BLOCK_BYTES = 64 * 1024
_GZIP_WINDOW = 31  # zlib's wbits value for a gzip header and trailer


class TornGzipError(Exception):
    """The compressed data ends early, fails its checksum, or is followed by other data."""


def gunzip_blocks(stream: IO[bytes], block_bytes: int) -> Iterator[bytes]:
    """
    Yield the uncompressed bytes in blocks of at most `block_bytes`; concatenate members as gzip does.

    Raises:
        TornGzipError: the data is damaged; raised after every readable byte was yielded.

    """
    member = zlib.decompressobj(_GZIP_WINDOW)
    is_inside = False
    pending = stream.read(COMPRESSED_BLOCK_BYTES)
    while pending:
        if not is_inside:
            pending = pending.lstrip(b"\0")  # gzip itself ignores zero padding after a member
        if pending:
            is_inside = True
            pending = yield from _inflate(member, pending, block_bytes)
        if member.eof:
            member, is_inside = zlib.decompressobj(_GZIP_WINDOW), False
        pending = pending or stream.read(COMPRESSED_BLOCK_BYTES)
    if is_inside:
        message = "the gzip stream ends before its trailer"
        raise TornGzipError(message)


def _inflate(
    member: "zlib._Decompress", compressed: bytes, block_bytes: int
) -> Generator[bytes, None, bytes]:
    """Yield the uncompressed bytes of this member; return the compressed bytes of the next one."""
    while compressed:
        before = member.copy()
        try:
            block = member.decompress(compressed, block_bytes)
        except zlib.error as error:
            yield from _up_to_the_damage(before, compressed)
            message = f"the gzip stream is damaged: {error}"
            raise TornGzipError(message) from error
        if block:
            yield block
        if member.eof:
            return member.unused_data
        compressed = member.unconsumed_tail
    return b""


def _up_to_the_damage(member: "zlib._Decompress", compressed: bytes) -> Iterator[bytes]:
    for at in range(len(compressed)):
        try:
            block = member.decompress(compressed[at : at + 1])
        except zlib.error:
            return
        if block:
            yield block
