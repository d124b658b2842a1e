"""Find Kafka frames in a byte stream: four bytes of big-endian length, then that many bytes."""

_PREFIX_BYTES = 4


class FrameCounter:
    """Finds the ends of frames in a stream that is read in chunks of any size."""

    def __init__(self) -> None:
        """Start at the beginning of a stream."""
        self._prefix = b""
        self._missing_bytes = 0

    def ends_in(self, chunk: bytes) -> list[int]:
        """
        Return the offsets in this chunk that follow the last byte of a frame. Pass the chunks in order.

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
