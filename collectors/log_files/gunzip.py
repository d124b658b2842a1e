"""
Gzip in bounded memory that gives back every byte before the damage.

`gzip.GzipFile` raises from the very call that holds the last good bytes and drops them; a torn log
would lose up to a block of lines.
"""

import zlib
from collections.abc import Generator, Iterator
from typing import IO

COMPRESSED_BLOCK_BYTES = 64 * 1024
_GZIP_WINDOW = 31  # zlib's word for "gzip header and trailer expected"


class TornGzipError(Exception):
    """The compressed bytes end early, fail their checksum, or are followed by something else."""


def gunzip_blocks(stream: IO[bytes], block_bytes: int) -> Iterator[bytes]:
    """
    Yield the uncompressed bytes in blocks of at most `block_bytes`; members are joined as gzip does.

    Raises:
        TornGzipError: after every byte that could be read has been yielded.

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
        message = "the gzip stream ends before its end mark"
        raise TornGzipError(message)


def _inflate(
    member: "zlib._Decompress", compressed: bytes, block_bytes: int
) -> Generator[bytes, None, bytes]:
    """Yield what `compressed` holds of this member; return the bytes that belong to the next one."""
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
