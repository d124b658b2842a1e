"""
Who released each request, and by how much, by what the leader logs.

The thread that handles a follower's FETCH moves the high watermark, completes the waiting requests, and then
`kafka.cluster.Partition` logs at DEBUG which offset the follower has confirmed. The move is logged before the
requests are completed. So are the changes of the ISR that the leader asks for; `state.change.logger` logs
those that the controller sends. All lines of a broker have one clock, which never steps.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_AT = r"^\S+ (?P<ns>\d+) \w+ "
RECORDED = re.compile(
    _AT + r"\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=\d+\] Recorded replica (?P<replica>\d+) "
    r"log end offset \(LEO\) position (?P<offset>\d+)"
)
MOVED = re.compile(
    _AT + r"\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=\d+\] High watermark updated from .* "
    r"to \(offset=(?P<mark>\d+)"
)
ISR = re.compile(
    _AT + r"(?:\[Partition (?P<topic>\S+)-(?P<partition>\d+) broker=\d+\] ISR updated to |"
    r"\[Broker id=\d+\] (?:Leader|Skipped the become-leader state change for) (?P<led>\S+)-(?P<nth>\d+) .* "
    r"ISR \[)(?P<isr>[\d,]+)"
)
LOGS = ("server.log*", "state-change.log*")

NO_REPLICA, NEVER = -1, sys.maxsize

LogPartition = tuple[str, int]


class Confirmation(NamedTuple):
    """When (nanoseconds of the broker's monotonic clock) a replica had an offset."""

    ns: int
    replica: int


class Released(NamedTuple):
    """The follower that released a request, and what the request would have saved without it."""

    follower: int
    held_ms: float


class Oracle:
    """The confirmations of one leader's log, in order."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the lines of the logs, in any order."""
        self._seen: dict[LogPartition, dict[int, list[tuple[int, int]]]] = {}
        self._marks: dict[LogPartition, list[tuple[int, int]]] = {}
        self._isrs: dict[LogPartition, list[tuple[int, frozenset[int]]]] = {}
        found = (RECORDED.match(line) or MOVED.match(line) or ISR.match(line) for line in lines)
        for match in sorted((match for match in found if match), key=lambda match: int(match["ns"])):
            of, ns = match.groupdict(), int(match["ns"])
            if "offset" in of:
                seen = self._seen.setdefault((of["topic"], int(of["partition"])), {})
                confirmed = seen.setdefault(int(of["replica"]), [])
                if not confirmed or int(of["offset"]) > confirmed[-1][0]:
                    confirmed.append((int(of["offset"]), ns))
            elif "mark" in of:
                marks = self._marks.setdefault((of["topic"], int(of["partition"])), [])
                marks.append((int(of["mark"]), ns))
            else:
                partition = of["topic"] or of["led"], int(of["partition"] or of["nth"])
                isr = frozenset(map(int, of["isr"].split(",")))
                self._isrs.setdefault(partition, []).append((ns, isr))

    def released(self, parts: Iterable[tuple[LogPartition, int]], appended_ns: int) -> Released | None:
        """Return who confirmed the last of these base offsets by partition; None if no follower had to."""
        bases = dict(parts)
        each = [found for partition, base in bases.items() if (found := self._releasing(partition, base))]
        if not each:
            return None
        last = max(each)
        replicas = {replica for partition in bases for replica in self._seen.get(partition, {})}
        confirmed = (
            max(self._confirmation(partition, replica, base) for partition, base in bases.items())
            for replica in replicas - {last.replica}
        )
        released_ns = max(
            _first_above(self._marks.get(partition, []), base) for partition, base in bases.items()
        )
        before_ns = max((ns for ns in confirmed if ns < last.ns), default=appended_ns)
        return Released(last.replica, max(0, released_ns - max(before_ns, appended_ns)) / 1e6)

    def _releasing(self, partition: LogPartition, base: int) -> Confirmation | None:
        """Return the confirmation after which the whole ISR had an offset; None if the ISR changed first."""
        seen = self._seen.get(partition, {})
        places = {replica: self._confirmation(partition, replica, base) for replica in seen}
        events = [Confirmation(ns, replica) for replica, ns in places.items() if ns < NEVER]
        if not events:
            return None
        changes = (ns for ns, _ in self._isrs.get(partition, []) if ns > min(events).ns)
        for event in sorted([*events, *(Confirmation(ns, NO_REPLICA) for ns in changes)]):
            behind = {replica for replica, ns in places.items() if ns > event.ns}
            if not behind & self._isr_at(partition, event.ns):
                return None if event.replica == NO_REPLICA else event
        return None

    def _confirmation(self, partition: LogPartition, replica: int, base: int) -> int:
        """Return the instant from which a replica had an offset, or `NEVER`."""
        return _first_above(self._seen.get(partition, {}).get(replica, []), base)

    def _isr_at(self, partition: LogPartition, ns: int) -> frozenset[int]:
        """Return the ISR at an instant; before its first line, all replicas."""
        changes = self._isrs.get(partition, [])
        before = bisect_right([at for at, _ in changes], ns)
        return changes[before - 1][1] if before else frozenset(self._seen.get(partition, {}))


def _first_above(offsets: Sequence[tuple[int, int]], base: int) -> int:
    """Return the instant of the first offset above a base offset, or `NEVER`."""
    at = bisect_right([offset for offset, _ in offsets], base)
    return offsets[at][1] if at < len(offsets) else NEVER


def of_logs(logs: Path) -> dict[int, Oracle]:
    """Return the oracle of each leader of a lab."""
    return {
        int(folder.name.split("-")[1]): Oracle(_lines(folder)) for folder in sorted(logs.glob("broker-*"))
    }


def _lines(folder: Path) -> Iterator[str]:
    for path in sorted(path for pattern in LOGS for path in folder.glob(pattern)):
        with path.open(errors="replace") as lines:
            yield from lines
