"""
The parts of scenario `throttle`: what is moved from where to where, how fast it may go, what is done wrong.

Sizes and limits are chosen for Kafka's way of throttling. It checks and then serves, so a fetch may go over
by one response: partitions x replica.fetch.max.bytes (1 MiB). Two partitions at 6 MB/s make that 3 % of what
a window of 11 s holds. A follower that has to wait looks again when another partition has news, at the latest
after 0.5 s: a trickle in another topic, as every cluster has, keeps that short, else it were 5 % of a window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lab.errors import LabError

MB = 1_000_000
LIMIT_BYTES_PER_S = 6 * MB
OVERHEAD_S = 24.0
"""Of each part: topic, data, two calls of Kafka's tool, and the wait until the windows are empty again."""


class Kind(StrEnum):
    """What is done: a move as it should be, or one fault on purpose."""

    MOVE = "move"
    INEFFECTIVE = "ineffective"
    STUCK = "stuck"
    LEFT_OVER = "left_over"
    IN_SYNC = "in_sync"
    RESTART = "restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    One part; `sources` and `targets` are places in the list of brokers, taken in turn by the partitions.

    `watch_s` is how long a fault lasts that ends by no move: stuck, left over, traffic of replicas in sync.
    """

    name: str
    told: str
    sources: tuple[int, ...] = (0,)
    targets: tuple[int, ...] = (1,)
    kind: Kind = Kind.MOVE
    limit_bytes_per_s: int = LIMIT_BYTES_PER_S
    partitions: int = 2
    partition_bytes: int = 150 * MB
    produce_bytes_per_s: int = 0
    watch_s: float = 0.0
    state: str = "compliant"
    cause: str | None = None

    @property
    def total_bytes(self) -> int:
        """What is produced beforehand, in all partitions, but for less than one record."""
        return self.partitions * self.partition_bytes

    @property
    def move_s(self) -> float:
        """How long the move takes when it keeps to its limit; 0 where it never ends or is not held."""
        if self.kind in (Kind.INEFFECTIVE, Kind.STUCK, Kind.IN_SYNC):
            return 0.0
        return self.total_bytes / max(1, self.limit_bytes_per_s - self.produce_bytes_per_s)

    @property
    def expected_s(self) -> float:
        """How long the whole part is expected to take."""
        return OVERHEAD_S + self.move_s + self.watch_s

    def placed(self, broker_ids: Sequence[int]) -> list[tuple[list[int], list[int]]]:
        """
        Give each partition's replicas before and after.

        Raises:
            LabError: there are too few brokers.

        """
        if len(broker_ids) <= max(*self.sources, *self.targets):
            message = f"throttle needs three brokers, this lab has {len(broker_ids)}: `lab start --brokers 3`"
            raise LabError(message)
        return [self._placed(nth, broker_ids) for nth in range(self.partitions)]

    def _placed(self, nth: int, broker_ids: Sequence[int]) -> tuple[list[int], list[int]]:
        source = broker_ids[self.sources[nth % len(self.sources)]]
        target = broker_ids[self.targets[nth % len(self.targets)]]
        if self.kind is Kind.IN_SYNC:
            return [source, target], [source, target]
        return [source], [target]


def _moves() -> tuple[Part, ...]:
    shapes = {
        "a": ("two brokers, one to the other", (0,), (1,)),
        "b": ("three brokers, one to two", (0,), (1, 2)),
        "c": ("three brokers, two to one", (0, 1), (2,)),
    }
    return tuple(
        Part(
            name=f"{name}_load" if produced else name,
            told=f"{told}, {'1 MB/s produced meanwhile' if produced else 'nothing produced'}",
            sources=sources,
            targets=targets,
            produce_bytes_per_s=produced,
        )
        for name, (told, sources, targets) in shapes.items()
        for produced in (0, MB)
    )


PARTS = (
    *_moves(),
    Part(
        name="ineffective",
        told="the brokers have a rate, the topic has no list",
        kind=Kind.INEFFECTIVE,
        limit_bytes_per_s=2 * MB,
        watch_s=10,
        state="ineffective",
    ),
    Part(
        name="stuck",
        told="the throttle is below what is produced: the new replica falls behind",
        kind=Kind.STUCK,
        limit_bytes_per_s=MB,
        partitions=1,
        partition_bytes=60 * MB,
        produce_bytes_per_s=2_500_000,
        watch_s=60,  # three whole windows behind the first, wherever it begins in one
        state="stuck",
    ),
    Part(
        name="left_over",
        told="the move is done and nobody takes the throttle away",
        kind=Kind.LEFT_OVER,
        partition_bytes=60 * MB,
        watch_s=30,
    ),
    Part(
        name="tiny",
        told="400 kB/s: one response is more than the quota of five seconds",
        limit_bytes_per_s=400_000,
        partition_bytes=10 * MB,
        state="over_limit",
        cause="tiny_quota",
    ),
    Part(
        name="in_sync",
        told="replicas in sync carry more than the limit: counted and never held",
        kind=Kind.IN_SYNC,
        limit_bytes_per_s=MB,
        partition_bytes=0,
        produce_bytes_per_s=3 * MB,
        watch_s=30,
        state="over_limit",
        cause="in_sync_traffic",
    ),
)
"""One round, in this order."""

RESTART = Part(
    name="restart",
    told="the follower is restarted in the middle of its move",
    kind=Kind.RESTART,
    partition_bytes=150 * MB,
    watch_s=20,
)
BY_NAME = {part.name: part for part in (*PARTS, RESTART)}
"""Every part that can be asked for by name: those of a round, and `restart`."""


def chosen(names: Sequence[str]) -> tuple[Part, ...]:
    """
    Give the parts of these names; without a name those of a round.

    Raises:
        LabError: there is no such part.

    """
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        message = f"no part {', '.join(unknown)}: there are {', '.join(BY_NAME)}"
        raise LabError(message)
    return tuple(BY_NAME[name] for name in names) or PARTS
