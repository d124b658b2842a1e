"""The ground truth of one part: leaders, followers, instants, and the verdict to expect."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab import truth
from lab.throttle import rates
from lab.throttle.parts import PartKind, ThrottlePart
from lab.throttle.sizes import DiskSizes, Replica

LEADER, FOLLOWER = "leader", "follower"
INSTANTS = (
    "created",
    "filled",
    "asked",
    "limit_set",
    "begun",
    "stopped",
    "started",
    "back",
    "done",
    "cancel_asked",
    "verify_asked",
    "cleared",
)
"""
Events in the order in which they happen, epoch ns. Events that a part does not have are null in the truth.

`limit_set` and `begun` are when Kafka's tool printed it, or when the brokers acknowledged the setting. `done`
is when a poll (every 0.25 s) first found only the new replicas, all in sync. `cleared` is when the throttles
were removed.
"""


@dataclass(slots=True)
class PartRecord:
    """One run of a part: its topic, its replicas before and after the move, and its events."""

    part: ThrottlePart
    topic: str
    placements: Sequence[tuple[list[int], list[int]]]
    topic_id: str = ""
    bytes_at_start: Mapping[Replica, int] = field(default_factory=dict)
    at_ns: dict[str, int] = field(default_factory=dict)

    @property
    def sources(self) -> list[Replica]:
        """The leader of each partition before the move."""
        return [(before[0], nth) for nth, (before, _) in enumerate(self.placements)]

    @property
    def targets(self) -> list[Replica]:
        """The new replica of each partition, or the follower if no replica moves."""
        return [(after[-1], nth) for nth, (_, after) in enumerate(self.placements)]

    @property
    def broker_ids(self) -> list[int]:
        """The brokers on which the tool sets rates."""
        return sorted({broker for broker, _ in (*self.sources, *self.targets)})

    def carried_replicas(self, broker_id: int, direction: str) -> list[Replica]:
        """Return the new replicas whose bytes a broker sends as leader, or receives as follower."""
        here = self.sources if direction == LEADER else self.targets
        return [target for target, (broker, _) in zip(self.targets, here, strict=True) if broker == broker_id]

    @property
    def ended_ns(self) -> int:
        """When the part's main phase ended: the move, or the observation of a fault without a move."""
        return self.at_ns.get("done") or self.at_ns.get("cancel_asked") or self.at_ns["cleared"]


def sides(record: PartRecord) -> list[tuple[int, str]]:
    """Return every broker with a rate, in both directions."""
    return [(broker, direction) for broker in record.broker_ids for direction in (LEADER, FOLLOWER)]


def states(record: PartRecord) -> list[dict[str, Any]]:
    """
    Return the expected state of each broker and direction, with its time range.

    The tool sets both rates on every broker of the move. `state` is None if the broker carries no replica of
    the move in that direction: no state is expected. `is_listed` is True if the topic's list names a replica
    for it.
    """
    return list(_states(record))


def _states(record: PartRecord) -> Iterator[dict[str, Any]]:
    part, at_ns = record.part, record.at_ns
    for broker_id, direction in sides(record):
        is_carrying = bool(record.carried_replicas(broker_id, direction))
        row = {
            "broker_id": broker_id,
            "direction": direction,
            "limit_bytes_per_s": part.limit_bytes_per_s,
            "is_listed": part.kind is PartKind.IN_SYNC
            or (is_carrying and part.kind is not PartKind.INEFFECTIVE),
        }
        yield row | {
            "since": truth.iso(at_ns["limit_set"]),
            "until": truth.iso(record.ended_ns),
            "state": part.state if is_carrying else None,
            "cause": part.cause if is_carrying else None,
        }
        if part.kind is PartKind.LEFT_OVER:
            yield row | {
                "since": truth.iso(record.ended_ns),
                "until": truth.iso(at_ns["cleared"]),
                "state": PartKind.LEFT_OVER.value if is_carrying else None,
                "cause": None,
            }


def on_disk(record: PartRecord, seen: Sequence[DiskSizes]) -> list[dict[str, Any]]:
    """Return the rate of each broker and direction that carries replicas, from the sizes on disk."""
    # Begin with the last sample before the limit: a first burst may pass before the next sample, 0.5 s later.
    since_ns = max((one.at_ns for one in seen if one.at_ns <= record.at_ns["limit_set"]), default=0)
    until = [one for one in seen if since_ns <= one.at_ns <= record.ended_ns]
    found = []
    for broker_id, direction in sides(record):
        if replicas := record.carried_replicas(broker_id, direction):
            measured = rates.summary([(one.at_ns, one.total(replicas)) for one in until])
            found.append({"broker_id": broker_id, "direction": direction, "measured": measured})
    return found


def ground_truth(record: PartRecord, seen: Sequence[DiskSizes]) -> dict[str, Any]:
    """Return the ground truth of one part."""
    part = record.part
    return {
        "name": part.name,
        "kind": part.kind.value,
        "told": part.description,
        "topic": record.topic,
        "topic_id": record.topic_id,
        "limit_bytes_per_s": part.limit_bytes_per_s,
        "produce_bytes_per_s": part.produce_bytes_per_s,
        "leaders": sorted({broker for broker, _ in record.sources}),
        "followers": sorted({broker for broker, _ in record.targets}),
        "partitions": [
            {
                "partition": nth,
                "replicas_before": before,
                "replicas_after": after,
                "bytes_at_start": record.bytes_at_start.get((before[0], nth)),
            }
            for nth, (before, after) in enumerate(record.placements)
        ],
        **{f"{name}_at": _instant(record, name) for name in INSTANTS},
        "states": states(record),
        "on_disk": on_disk(record, seen),
    }


def _instant(record: PartRecord, name: str) -> str | None:
    at_ns = record.at_ns.get(name)
    return None if at_ns is None else truth.iso(at_ns)
