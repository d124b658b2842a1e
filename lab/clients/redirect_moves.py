"""
Move leaders for scenario `redirect`: by elections after a rotation of the replica orders, or by a crash.

Each function returns its moves as rows of the ground truth: partition, instant, old leader, new leader.
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
class RedirectPhase:
    """A number of elections with a number of partitions each, at a fixed interval."""

    name: str
    partitions: int
    at_once: int
    elections: int
    apart_s: float
    acks: str
    for_s: float
    records_per_s: float = 20.0
    """Rate of each client. A higher rate would keep two cores so busy that it affects the measurement."""

    is_crash: bool = False

    @property
    def description(self) -> str:
        """What happens in the phase, in words."""
        return (
            "a broker is killed"
            if self.is_crash
            else f"{self.elections} elections of {self.at_once} partitions"
        )


def elections(lab: Lab, topic: str, phase: RedirectPhase, say: Say) -> Iterator[Sequence[int]]:
    """Rotate the replica orders and yield the partitions of each election. Repeat without end."""
    rotations = 0
    while True:
        rotations += 1
        say(f"{topic}: rotating the replica orders")
        _rotate_replicas(lab, topic, phase.partitions, rotations)
        for first in range(0, phase.partitions - phase.at_once + 1, phase.at_once):
            yield range(first, first + phase.at_once)


def crash_leader(
    lab: Lab, topic: str, phase: RedirectPhase, controller_id: int, say: Say
) -> list[dict[str, Any]]:
    """
    Kill a broker that leads partitions of the topic, and restart it. Return one move per partition.

    `was_controller`: the broker also led the metadata quorum, so a controller election came before the new
    leaders.
    """
    before, broker_id = topics.leaders(lab, topic), crash.broker_to_kill(lab.broker_ids, controller_id)
    say(f"{topic}: broker {broker_id} is killed and restarts after {phase.apart_s:g} s")
    killed_ns = time.time_ns()
    crash.kill(lab.state, broker_id)
    time.sleep(phase.apart_s)
    after = topics.leaders(lab, topic)
    crash.restart(lab.state, broker_id, topic)
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


def _rotate_replicas(lab: Lab, topic: str, partitions: int, rotations: int) -> None:
    """Rotate the replica order, so that another replica is the preferred one. This moves no data."""
    orders = topics.spread(lab.broker_ids, partitions, 3)
    turned = [order[rotations % len(order) :] + order[: rotations % len(order)] for order in orders]
    partitions_document = [
        {"topic": topic, "partition": nth, "replicas": order} for nth, order in enumerate(turned)
    ]
    file = lab.state / "clients" / f"{topic}.turn-{rotations}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": 1, "partitions": partitions_document}))
    to = ("--bootstrap-server", lab.bootstrap_servers, "--reassignment-json-file", str(file))
    jvm.run_tool(jvm.tool(TOOL, *to, "--execute"))
    topics.wait_until_placed(lab, topic, turned, TURN_TIMEOUT_S)


def elect(lab: Lab, topic: str, partitions: Sequence[int]) -> list[dict[str, Any]]:
    """
    Elect the preferred replicas as leaders. Return one move per partition.

    Raises:
        LabError: the election failed for a partition.

    """
    before = topics.leaders(lab, topic)
    client = topics.admin(lab.bootstrap_servers)
    wanted = [TopicPartition(topic, partition) for partition in partitions]
    requested_ns = time.time_ns()
    try:
        found = client.elect_leaders(ElectionType.PREFERRED, wanted).result(timeout=ELECTION_TIMEOUT_S)
    except (KafkaException, TimeoutError) as error:
        message = f"the leaders of {topic} were not elected: {error}"
        raise LabError(message) from error
    answered_ns = time.time_ns()
    wrong = [f"{p.partition}: {error}" for p, error in found.items() if error is not None]
    if wrong:
        message = f"leaders of {topic} did not move: {'; '.join(wrong)}"
        raise LabError(message)
    after = topics.leaders(lab, topic)
    return [
        {
            "partition": partition,
            "asked_at": truth.iso(requested_ns),
            "answered_at": truth.iso(answered_ns),
            "old_leader_id": before[partition],
            "new_leader_id": after[partition],
        }
        for partition in partitions
    ]
