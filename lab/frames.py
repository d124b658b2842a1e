"""Kafka's framing on a byte stream: four bytes of big-endian length, then that many bytes."""

_PREFIX_BYTES = 4


class FrameCounter:
    """Counts the frames whose last byte is in a chunk, however the chunks cut the stream."""

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self._prefix = b""
        self._missing_bytes = 0

    def ends_in(self, chunk: bytes) -> int:
        """
        Return how many frames end in this chunk, which follows the chunks given before.

        >>> count = FrameCounter()
        >>> [count.ends_in(c) for c in (bytes([0, 0]), bytes([0, 2, 7]), bytes([7, 0, 0, 0, 0]))]
        [0, 0, 2]
        """
        at = ended = 0
        while at < len(chunk):
            if self._missing_bytes:
                taken = min(self._missing_bytes, len(chunk) - at)
                self._missing_bytes -= taken
            else:
                taken = min(_PREFIX_BYTES - len(self._prefix), len(chunk) - at)
                self._prefix += chunk[at : at + taken]
                if len(self._prefix) < _PREFIX_BYTES:
                    return ended
                self._missing_bytes = int.from_bytes(self._prefix)
                self._prefix = b""
            at += taken
            ended += not self._missing_bytes
        return ended
