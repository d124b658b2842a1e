"""
How `redirect` moves leaders: by elections behind turned replica orders, or by the death of a broker.

What is moved is given back as the truth has it: which partition, when, from whom to whom.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ElectionType, KafkaException, TopicPartition

from lab import crash, jvm, topics, truth
from lab.errors import LabError
from lab.layout import Lab
from lab.scenarios import Say

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECTION_TIMEOUT_S = 30.0
TURN_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """So many elections of so many partitions each, some time apart."""

    name: str
    partitions: int
    at_once: int
    elections: int
    apart_s: float
    acks: str
    for_s: float
    records_per_s: float = 20.0
    """Of each client: more, and two cores are busy enough to be part of what is measured."""

    is_crash: bool = False

    @property
    def told(self) -> str:
        """What happens, for a person."""
        return (
            "a broker dies" if self.is_crash else f"{self.elections} elections of {self.at_once} partitions"
        )


def elections(lab: Lab, topic: str, phase: Phase, say: Say) -> Iterator[Sequence[int]]:
    """Give the partitions of each election; when all had their turn, replica orders are turned again."""
    turns = 0
    while True:
        turns += 1
        say(f"{topic}: turning the replica orders")
        _turn(lab, topic, phase.partitions, turns)
        for first in range(0, phase.partitions - phase.at_once + 1, phase.at_once):
            yield range(first, first + phase.at_once)


def crash_leader(lab: Lab, topic: str, phase: Phase, controller_id: int, say: Say) -> list[dict[str, Any]]:
    """
    Let a broker die that leads partitions of the topic, and come back; one move for each of these.

    `was_controller`: it led the metadata quorum too, so a controller had to be elected before new leaders.
    """
    before, broker_id = topics.leaders(lab, topic), crash.victim(lab.broker_ids, controller_id)
    say(f"{topic}: broker {broker_id} dies and comes back after {phase.apart_s:g} s")
    killed_ns = time.time_ns()
    crash.kill(lab.state, broker_id)
    time.sleep(phase.apart_s)
    after = topics.leaders(lab, topic)
    crash.revive(lab.state, broker_id, topic)
    return [
        {
            "partition": partition,
            "asked_at": truth.iso(killed_ns),
            "answered_at": None,
            "old_leader_id": leader,
            "new_leader_id": after[partition],
            "was_controller": broker_id == controller_id,
        }
        for partition, leader in before.items()
        if leader == broker_id
    ]


def _turn(lab: Lab, topic: str, partitions: int, turns: int) -> None:
    """Make the second replica the preferred one: a reassignment among the same brokers, no data moves."""
    orders = topics.spread(lab.broker_ids, partitions, 3)
    turned = [order[turns % len(order) :] + order[: turns % len(order)] for order in orders]
    wanted = [{"topic": topic, "partition": nth, "replicas": order} for nth, order in enumerate(turned)]
    file = lab.state / "clients" / f"{topic}.turn-{turns}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": 1, "partitions": wanted}))
    to = ("--bootstrap-server", lab.bootstrap_servers, "--reassignment-json-file", str(file))
    jvm.run_tool(jvm.tool(TOOL, *to, "--execute"))
    topics.wait_until_placed(lab, topic, turned, TURN_TIMEOUT_S)


def elect(lab: Lab, topic: str, partitions: Sequence[int]) -> list[dict[str, Any]]:
    """Bring leaders back to the preferred replicas; one move for each partition."""
    before = topics.leaders(lab, topic)
    client = topics.admin(lab.bootstrap_servers)
    wanted = [TopicPartition(topic, partition) for partition in partitions]
    asked_ns = time.time_ns()
    try:
        found = client.elect_leaders(ElectionType.PREFERRED, wanted).result(timeout=ELECTION_TIMEOUT_S)
    except (KafkaException, TimeoutError) as error:
        message = f"the leaders of {topic} were not elected: {error}"
        raise LabError(message) from error
    answered_ns = time.time_ns()
    wrong = [f"{of.partition}: {error}" for of, error in found.items() if error is not None]
    if wrong:
        message = f"leaders of {topic} did not move: {'; '.join(wrong)}"
        raise LabError(message)
    after = topics.leaders(lab, topic)
    return [
        {
            "partition": partition,
            "asked_at": truth.iso(asked_ns),
            "answered_at": truth.iso(answered_ns),
            "old_leader_id": before[partition],
            "new_leader_id": after[partition],
        }
        for partition in partitions
    ]
