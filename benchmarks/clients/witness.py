"""A second witness of leader redirects: the producer's own log, NetworkClient at DEBUG, without Spark."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

NOT_LEADER = 6
RECEIVED = re.compile(
    r"^(\S+)Z \d+ DEBUG \[Producer [^\]]*\] Received PRODUCE response from node (-?\d+) for (.*)$"
)
ANSWERED = re.compile(r"index=(\d+), errorCode=(-?\d+)")


@dataclass(frozen=True, slots=True)
class PartitionAnswer:
    """One partition of one answer, as the client received it."""

    received_at: datetime
    node: int
    partition: int
    error_code: int


@dataclass(frozen=True, slots=True)
class Redirect:
    """A partition lost and found again, as the client saw it."""

    partition: int
    errored_at: datetime
    redirect_ms: float


def redirects(log: Path) -> list[Redirect]:
    """Return each redirect of a client's log: error received to success received, from another node."""
    found, lost = [], dict[int, PartitionAnswer]()
    with log.open(errors="replace") as lines:
        for answer in answers(lines):
            first = lost.get(answer.partition)
            if answer.error_code == NOT_LEADER:
                lost.setdefault(answer.partition, answer)
            elif first is not None and answer.error_code == 0 and answer.node != first.node:
                ms = (answer.received_at - first.received_at).total_seconds() * 1e3
                found.append(Redirect(answer.partition, first.received_at, ms))
                del lost[answer.partition]
    return found


def answers(lines: Iterable[str]) -> Iterator[PartitionAnswer]:
    """Yield each partition of each response in the lines."""
    for line in lines:
        received = RECEIVED.match(line)
        if received is None:
            continue
        at = datetime.fromisoformat(received[1][:26]).replace(tzinfo=UTC)
        for partition, error in ANSWERED.findall(received[3]):
            yield PartitionAnswer(at, int(received[2]), int(partition), int(error))
