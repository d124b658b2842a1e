"""
The parts of scenario `throttle`: which replicas move, at which limit, and with which fault.

Sizes and limits fit Kafka's way of throttling. A broker checks the quota before it serves a fetch, so a fetch
can exceed the quota by one response: partitions x replica.fetch.max.bytes (1 MiB). For two partitions at
6 MB/s that is 3 % of a window of 11 s. A throttled follower fetches again when another partition has new
data, at the latest after 0.5 s. A trickle of records in another topic keeps this wait short; without it the
wait would cost 5 % of a window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lab.errors import LabError

MB = 1_000_000
LIMIT_BYTES_PER_S = 6 * MB
OVERHEAD_S = 24.0
"""Overhead of a part: topic, data, two calls of Kafka's tool, and the wait for empty quota windows."""


class PartKind(StrEnum):
    """What a part does: a correct move, or a move with one fault."""

    MOVE = "move"
    INEFFECTIVE = "ineffective"
    STUCK = "stuck"
    LEFT_OVER = "left_over"
    IN_SYNC = "in_sync"
    RESTART = "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlePart:
    """
    One part. `sources` and `targets` are indexes into the list of brokers; partitions use them in turn.

    `watch_s` is the duration of a fault that does not end with a move: stuck, left over, in-sync traffic.
    """

    name: str
    description: str
    sources: tuple[int, ...] = (0,)
    targets: tuple[int, ...] = (1,)
    kind: PartKind = PartKind.MOVE
    limit_bytes_per_s: int = LIMIT_BYTES_PER_S
    partitions: int = 2
    partition_bytes: int = 150 * MB
    produce_bytes_per_s: int = 0
    watch_s: float = 0.0
    state: str = "compliant"
    cause: str | None = None

    @property
    def total_bytes(self) -> int:
        """The bytes to produce before the move, in all partitions. Less than one record may be missing."""
        return self.partitions * self.partition_bytes

    @property
    def move_s(self) -> float:
        """The expected duration of a throttled move, 0 if the move never ends or is not throttled."""
        if self.kind in (PartKind.INEFFECTIVE, PartKind.STUCK, PartKind.IN_SYNC):
            return 0.0
        return self.total_bytes / max(1, self.limit_bytes_per_s - self.produce_bytes_per_s)

    @property
    def expected_s(self) -> float:
        """The expected duration of the part."""
        return OVERHEAD_S + self.move_s + self.watch_s

    def placements(self, broker_ids: Sequence[int]) -> list[tuple[list[int], list[int]]]:
        """
        Return the replicas of each partition before and after the move.

        Raises:
            LabError: there are too few brokers.

        """
        if len(broker_ids) <= max(*self.sources, *self.targets):
            message = (
                f"throttle needs three brokers, this lab has {len(broker_ids)}: "
                "run `plumbline lab start --brokers 3`"
            )
            raise LabError(message)
        return [self._partition_placement(nth, broker_ids) for nth in range(self.partitions)]

    def _partition_placement(self, nth: int, broker_ids: Sequence[int]) -> tuple[list[int], list[int]]:
        source = broker_ids[self.sources[nth % len(self.sources)]]
        target = broker_ids[self.targets[nth % len(self.targets)]]
        if self.kind is PartKind.IN_SYNC:
            return [source, target], [source, target]
        return [source], [target]


def _moves() -> tuple[ThrottlePart, ...]:
    shapes = {
        "a": ("two brokers: one to the other", (0,), (1,)),
        "b": ("three brokers: one to two", (0,), (1, 2)),
        "c": ("three brokers: two to one", (0, 1), (2,)),
    }
    return tuple(
        ThrottlePart(
            name=f"{name}_load" if produced else name,
            description=f"{shape}, {'with a produce load of 1 MB/s' if produced else 'no produce load'}",
            sources=sources,
            targets=targets,
            produce_bytes_per_s=produced,
        )
        for name, (shape, sources, targets) in shapes.items()
        for produced in (0, MB)
    )


PARTS = (
    *_moves(),
    ThrottlePart(
        name="ineffective",
        description="the brokers have a rate, the topic has no list",
        kind=PartKind.INEFFECTIVE,
        limit_bytes_per_s=2 * MB,
        watch_s=10,
        state="ineffective",
    ),
    ThrottlePart(
        name="stuck",
        description="the throttle is below the produce rate: the new replica falls behind",
        kind=PartKind.STUCK,
        limit_bytes_per_s=MB,
        partitions=1,
        partition_bytes=60 * MB,
        produce_bytes_per_s=2_500_000,
        watch_s=60,  # three whole windows after the first, wherever the part begins in a window
        state="stuck",
    ),
    ThrottlePart(
        name="left_over",
        description="the move is done and the throttle stays",
        kind=PartKind.LEFT_OVER,
        partition_bytes=60 * MB,
        watch_s=30,
    ),
    ThrottlePart(
        name="tiny",
        description="400 kB/s: one response exceeds the quota of five seconds",
        limit_bytes_per_s=400_000,
        partition_bytes=10 * MB,
        state="over_limit",
        cause="tiny_quota",
    ),
    ThrottlePart(
        name="in_sync",
        description="in-sync replicas carry more than the limit: counted, never throttled",
        kind=PartKind.IN_SYNC,
        limit_bytes_per_s=MB,
        partition_bytes=0,
        produce_bytes_per_s=3 * MB,
        watch_s=30,
        state="over_limit",
        cause="in_sync_traffic",
    ),
)
"""The parts of one round, in order."""

RESTART = ThrottlePart(
    name="restart",
    description="the follower restarts during its move",
    kind=PartKind.RESTART,
    partition_bytes=150 * MB,
    watch_s=20,
)
BY_NAME = {part.name: part for part in (*PARTS, RESTART)}
"""Every part by name: those of a round, and `restart`."""


def parts_by_name(names: Sequence[str]) -> tuple[ThrottlePart, ...]:
    """
    Return the parts with these names, or the parts of a round if there are no names.

    Raises:
        LabError: a part does not exist.

    """
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        message = f"there is no part {', '.join(unknown)}: the parts are {', '.join(BY_NAME)}"
        raise LabError(message)
    return tuple(BY_NAME[name] for name in names) or PARTS
