"""What was done in one part, written down: who leads, who follows, from when to when, what is expected."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab import truth
from lab.throttle import rates
from lab.throttle.parts import Kind, Part
from lab.throttle.sizes import Replica, Seen

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
In the order in which they happen, epoch ns; those that a part has not are NULL in the truth.

`limit_set` and `begun` are when Kafka's tool said so (or a setting was answered), `done` when the cluster was
first seen with the new replicas alone and in sync, by asking it every 0.25 s, `cleared` when the tool had
taken the throttles away.
"""


@dataclass(slots=True)
class Journey:
    """One part as it goes: its topic, where its partitions are and shall be, and what happened when."""

    part: Part
    topic: str
    placed: Sequence[tuple[list[int], list[int]]]
    topic_id: str = ""
    bytes_at_start: Mapping[Replica, int] = field(default_factory=dict)
    at_ns: dict[str, int] = field(default_factory=dict)

    @property
    def sources(self) -> list[Replica]:
        """The leader of each partition before the move."""
        return [(before[0], nth) for nth, (before, _) in enumerate(self.placed)]

    @property
    def targets(self) -> list[Replica]:
        """The new replica of each partition; the follower where none moves."""
        return [(after[-1], nth) for nth, (_, after) in enumerate(self.placed)]

    @property
    def broker_ids(self) -> list[int]:
        """The brokers on which the tool sets rates."""
        return sorted({broker for broker, _ in (*self.sources, *self.targets)})

    def carried(self, broker_id: int, direction: str) -> list[Replica]:
        """Give the new replicas whose bytes a broker sends as leader, or takes as follower."""
        here = self.sources if direction == LEADER else self.targets
        return [target for target, (broker, _) in zip(self.targets, here, strict=True) if broker == broker_id]

    @property
    def ended_ns(self) -> int:
        """When what the part is about was over: the move, or the watch over a fault without one."""
        return self.at_ns.get("done") or self.at_ns.get("cancel_asked") or self.at_ns["cleared"]


def sides(journey: Journey) -> list[tuple[int, str]]:
    """Give each broker with a rate, in both directions."""
    return [(broker, direction) for broker in journey.broker_ids for direction in (LEADER, FOLLOWER)]


def states(journey: Journey) -> list[dict[str, Any]]:
    """
    Give what is to be found of each broker and direction, from when to when.

    `state` is None where a rate is set (the tool sets both on every broker it touches) and no replica of the
    move is carried in that direction: nothing is expected there. `is_listed` says whether the topic's list
    names one.
    """
    return list(_states(journey))


def _states(journey: Journey) -> Iterator[dict[str, Any]]:
    part, at_ns = journey.part, journey.at_ns
    for broker_id, direction in sides(journey):
        is_carrying = bool(journey.carried(broker_id, direction))
        told = {
            "broker_id": broker_id,
            "direction": direction,
            "limit_bytes_per_s": part.limit_bytes_per_s,
            "is_listed": part.kind is Kind.IN_SYNC or (is_carrying and part.kind is not Kind.INEFFECTIVE),
        }
        yield told | {
            "since": truth.iso(at_ns["limit_set"]),
            "until": truth.iso(journey.ended_ns),
            "state": part.state if is_carrying else None,
            "cause": part.cause if is_carrying else None,
        }
        if part.kind is Kind.LEFT_OVER:
            yield told | {
                "since": truth.iso(journey.ended_ns),
                "until": truth.iso(at_ns["cleared"]),
                "state": Kind.LEFT_OVER.value if is_carrying else None,
                "cause": None,
            }


def on_disk(journey: Journey, seen: Sequence[Seen]) -> list[dict[str, Any]]:
    """Give the rate of each broker and direction that carries something, from the sizes on disk."""
    # From the last look before: half a second behind the limit a first burst may have passed.
    since_ns = max((one.at_ns for one in seen if one.at_ns <= journey.at_ns["limit_set"]), default=0)
    until = [one for one in seen if since_ns <= one.at_ns <= journey.ended_ns]
    found = []
    for broker_id, direction in sides(journey):
        if replicas := journey.carried(broker_id, direction):
            told = rates.summary([(one.at_ns, one.total(replicas)) for one in until])
            found.append({"broker_id": broker_id, "direction": direction, "measured": told})
    return found


def told(journey: Journey, seen: Sequence[Seen]) -> dict[str, Any]:
    """Give the ground truth of one part."""
    part = journey.part
    return {
        "name": part.name,
        "kind": part.kind.value,
        "told": part.told,
        "topic": journey.topic,
        "topic_id": journey.topic_id,
        "limit_bytes_per_s": part.limit_bytes_per_s,
        "produce_bytes_per_s": part.produce_bytes_per_s,
        "leaders": sorted({broker for broker, _ in journey.sources}),
        "followers": sorted({broker for broker, _ in journey.targets}),
        "partitions": [
            {
                "partition": nth,
                "replicas_before": before,
                "replicas_after": after,
                "bytes_at_start": journey.bytes_at_start.get((before[0], nth)),
            }
            for nth, (before, after) in enumerate(journey.placed)
        ],
        **{f"{name}_at": _instant(journey, name) for name in INSTANTS},
        "states": states(journey),
        "on_disk": on_disk(journey, seen),
    }


def _instant(journey: Journey, name: str) -> str | None:
    at_ns = journey.at_ns.get(name)
    return None if at_ns is None else truth.iso(at_ns)
