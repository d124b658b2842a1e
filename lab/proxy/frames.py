"""Kafka's framing on a byte stream: four bytes of big-endian length, then that many bytes."""

_PREFIX_BYTES = 4


class FrameCounter:
    """Counts the frames whose last byte is in a chunk, however the chunks cut the stream."""

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self._prefix = b""
        self._missing_bytes = 0

    def ends_in(self, chunk: bytes) -> list[int]:
        """
        Return where frames end in this chunk, which follows the chunks given before: behind their last bytes.

        >>> count = FrameCounter()
        >>> [count.ends_in(c) for c in (bytes([0, 0]), bytes([0, 2, 7]), bytes([7, 0, 0, 0, 0]))]
        [[], [], [1, 5]]
        """
        at = 0
        ends: list[int] = []
        while at < len(chunk):
            if self._missing_bytes:
                taken = min(self._missing_bytes, len(chunk) - at)
                self._missing_bytes -= taken
            else:
                taken = min(_PREFIX_BYTES - len(self._prefix), len(chunk) - at)
                self._prefix += chunk[at : at + taken]
                if len(self._prefix) < _PREFIX_BYTES:
                    return ends
                self._missing_bytes = int.from_bytes(self._prefix)
                self._prefix = b""
            at += taken
            if not self._missing_bytes:
                ends.append(at)
        return ends
