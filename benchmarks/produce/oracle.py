"""
Who released each request, by what the leader logs at DEBUG.

`kafka.cluster.Partition` logs the offset that each follower's FETCH confirms, in the thread that then
completes the waiting requests, and each change of the ISR. The order of these lines is the truth; no
instant is compared.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

RECORDED = re.compile(
    r"\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=\d+\] Recorded replica (?P<replica>\d+) "
    r"log end offset \(LEO\) position (?P<offset>\d+)"
)
ISR = re.compile(r"\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=\d+\] ISR updated to (?P<isr>[\d,]+)")

LogPartition = tuple[str, int]


class Oracle:
    """The confirmations of one leader's log, in order."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the lines of `server.log`."""
        self._seen: dict[LogPartition, dict[int, list[tuple[int, int]]]] = {}
        self._isrs: dict[LogPartition, list[tuple[int, frozenset[int]]]] = {}
        for nth, line in enumerate(lines):
            if found := RECORDED.search(line):
                of = self._seen.setdefault((found["topic"], int(found["partition"])), {})
                confirmed = of.setdefault(int(found["replica"]), [])
                if not confirmed or int(found["offset"]) > confirmed[-1][0]:
                    confirmed.append((int(found["offset"]), nth))
            elif found := ISR.search(line):
                key = found["topic"], int(found["partition"])
                self._isrs.setdefault(key, []).append((nth, frozenset(map(int, found["isr"].split(",")))))

    def releaser(self, parts: Iterable[tuple[LogPartition, int]]) -> int | None:
        """Return who confirmed the last of these base offsets by partition; None if no follower had to."""
        last = [found for partition, base in parts if (found := self._last(partition, base))]
        return max(last)[1] if last else None

    def _last(self, partition: LogPartition, base: int) -> tuple[int, int] | None:
        """Return place and replica of the confirmation that completed an offset."""
        places = sorted(
            (place, replica)
            for replica, confirmed in self._seen.get(partition, {}).items()
            if (place := _first_above(confirmed, base)) is not None
        )
        missing = set(self._seen.get(partition, {})) - {replica for _, replica in places}
        for nth, (place, replica) in enumerate(places):
            behind = {later for _, later in places[nth + 1 :]} | missing
            if not behind & self._isr_at(partition, place):
                return place, replica
        return None

    def _isr_at(self, partition: LogPartition, place: int) -> frozenset[int]:
        """Return the ISR at a line; before its first change, all replicas."""
        changes = self._isrs.get(partition, [])
        before = bisect_right([nth for nth, _ in changes], place)
        return changes[before - 1][1] if before else frozenset(self._seen.get(partition, {}))


def _first_above(confirmed: list[tuple[int, int]], base: int) -> int | None:
    at = bisect_right([offset for offset, _ in confirmed], base)
    return confirmed[at][1] if at < len(confirmed) else None


def of_logs(logs: Path) -> dict[int, Oracle]:
    """Return the oracle of each leader of a lab."""
    return {
        int(folder.name.split("-")[1]): Oracle(_lines(folder)) for folder in sorted(logs.glob("broker-*"))
    }


def _lines(folder: Path) -> Iterator[str]:
    rolled = sorted(folder.glob("server.log.*"), key=lambda path: -int(path.suffix[1:]))
    for path in [*rolled, folder / "server.log"]:
        if path.exists():
            with path.open(errors="replace") as lines:
                yield from lines
