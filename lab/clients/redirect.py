"""
Scenario `redirect`: leaders move away from clients of several releases that all produce at once (KIP-951).

Every client meets every move, so the releases are compared pair by pair. Replica orders are turned by Kafka's
reassignment tool, which moves no data, and preferred elections then move the leaders: one partition at a
time (what the client does), ten at a time, and the KIP's own case of 100 partitions with acks=all. At the end
a leader dies instead of moving: that is a disconnect and no redirect.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from confluent_kafka import ElectionType, KafkaException, TopicPartition

from lab import crash, jvm, topics, truth
from lab.clients.driver import Driver, Drivers
from lab.clients.producer import TODAY, Crowd, Producer, Work, client_id, log_of
from lab.errors import LabError
from lab.layout import Lab
from lab.scenarios import Say

SCENARIO = "redirect"
# Each record is a batch of its own and the partition drawn anew: every partition is tried often.
EVENLY = {"batch.size": "0", "linger.ms": "0", "partitioner.adaptive.partitioning.enable": "false"}
VERSIONS = {"3.6.0": "neither part", "3.6.2": "no backoff, no hint", "3.9.1": "both", TODAY: "both"}
"""What each release has of KIP-951: a retry without backoff, and the new leader in the answer."""

READERS = ("3.6.0", TODAY)
"""Consumers beside the producers: an old leader answers them 74 where producers get 6."""

TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECTION_TIMEOUT_S = 30.0
TURN_TIMEOUT_S = 60.0
PATIENCE_S, SETTLED_S = 60.0, 3.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How leaders are moved."""

    repeats: int = 1
    warm_up_s: float = 15.0
    phases: Sequence[Phase] = (
        Phase(name="one", partitions=12, at_once=1, elections=30, apart_s=1.2, acks="1", for_s=75),
        Phase(name="ten", partitions=12, at_once=10, elections=4, apart_s=4, acks="1", for_s=40),
        Phase(
            name="hundred",
            partitions=100,
            at_once=100,
            elections=2,
            apart_s=8,
            acks="all",
            for_s=40,
        ),
        Phase(
            name="dead",
            partitions=12,
            at_once=0,
            elections=0,
            apart_s=20,
            acks="1",
            for_s=35,
            records_per_s=40,
            is_crash=True,
        ),
    )


def run(state: Path, plan: Plan, *, say: Say = print) -> Path:
    """
    Move leaders away from running clients; return the ground truth's path.

    Raises:
        LabError: no lab runs here, a client failed, or a leader did not move.

    """
    lab = Lab.load(state)
    began_ns = time.time_ns()
    runs: list[dict[str, Any]] = []
    moves: list[dict[str, Any]] = []
    for nth in range(plan.repeats):
        for phase in plan.phases:
            say(f"round {nth + 1} of {plan.repeats}: {phase.told}")
            topic = f"{SCENARIO}-{began_ns // 1_000_000}-{nth}-{phase.name}"
            topics.create_load_topic(lab, name=topic, partitions=phase.partitions)
            clients, moved = _phase(lab, plan, phase, topic, say)
            runs += [one | {"repeat": nth} for one in clients]
            moves += [one | {"repeat": nth} for one in moved]
    facts = {
        "scenario": SCENARIO,
        "since": truth.iso(began_ns),
        "until": truth.iso(time.time_ns()),
        "brokers": lab.broker_ids,
        "cluster": lab.cluster,
        "runs": runs,
        "moves": moves,
    }
    return truth.write(lab.state / "truth", SCENARIO, facts, at_ns=began_ns)


def _phase(
    lab: Lab, plan: Plan, phase: Phase, topic: str, say: Say
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    properties = EVENLY | {"acks": phase.acks, "bootstrap.servers": lab.bootstrap_servers}
    producers = [Producer(arm=version, client_version=version, properties=properties) for version in VERSIONS]
    work = Work(
        scenario=SCENARIO,
        run=topic,
        topic=topic,
        records_per_s=phase.records_per_s,
        for_s=plan.warm_up_s + phase.for_s,
        warm_up_s=plan.warm_up_s,
        is_logged=True,
    )
    readers = [_reader(lab, version, work) for version in READERS]
    crowd = Crowd(lab, producers, work)
    moves = []
    with Drivers(readers) as reading:
        time.sleep(plan.warm_up_s)
        if phase.is_crash:
            controller_id = crash.active_controller(lab)
            time.sleep(SETTLED_S)  # its last answers shall lie within the runs
            moves += _crash(lab, topic, phase, controller_id, say)
        for partitions in islice(_elections(lab, topic, phase, say), phase.elections):
            moves += _elect(lab, topic, partitions)
            time.sleep(phase.apart_s)
        crowd.wait()
        reading.wait(PATIENCE_S)
    told = [
        _client(producer.client_version, work, phase, client_id(producer, work), log_of(lab, producer, work))
        for producer in producers
    ]
    told += [_client(reader.client_version, work, phase, reader.client_id) for reader in readers]
    return told, [move | {"phase": phase.name, "topic": topic} for move in moves]


def _client(
    version: str, work: Work, phase: Phase, client_id: str, log: Path | None = None
) -> dict[str, Any]:
    return {
        "run": work.run,
        "phase": phase.name,
        "api": "FETCH" if log is None else "PRODUCE",
        "arm": version,
        "client_id": client_id,
        "client_version": version,
        "has": VERSIONS[version],
        "log": None if log is None else str(log),
    }


def _reader(lab: Lab, version: str, work: Work) -> Driver:
    return Driver(
        program="Reader",
        client_version=version,
        client_id=f"{SCENARIO}-{version}-reads",
        bootstrap_servers=lab.bootstrap_servers,
        arguments=(work.topic, f"{work.for_s:g}"),
        properties={},
    )


def _elections(lab: Lab, topic: str, phase: Phase, say: Say) -> Iterator[Sequence[int]]:
    """Give the partitions of each election; when all had their turn, replica orders are turned again."""
    turns = 0
    while True:
        turns += 1
        say(f"{topic}: turning the replica orders")
        _turn(lab, topic, phase.partitions, turns)
        for first in range(0, phase.partitions - phase.at_once + 1, phase.at_once):
            yield range(first, first + phase.at_once)


def _crash(lab: Lab, topic: str, phase: Phase, controller_id: int, say: Say) -> list[dict[str, Any]]:
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
    deadline = time.monotonic() + TURN_TIMEOUT_S
    while not topics.has_orders(lab, topic, turned):
        if time.monotonic() > deadline:
            message = f"the replica orders of {topic} were not turned within {TURN_TIMEOUT_S:g} s"
            raise LabError(message)
        time.sleep(0.2)


def _elect(lab: Lab, topic: str, partitions: Sequence[int]) -> list[dict[str, Any]]:
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
