"""
Scenario `redirect`: leaders move while clients of several releases produce (KIP-951).

Every client meets every move, so releases are compared move by move. Kafka's reassignment tool rotates the
replica orders, which moves no data. Preferred elections then move the leaders: one partition at a time (the
client's own behaviour), ten at a time, and the KIP's case of 100 partitions with acks=all. In the last phase
a leader is killed: a disconnect, not a redirect.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lab import crash, topics, truth
from lab.clients.driver import JavaClient, JavaClients
from lab.clients.producer import CURRENT_VERSION, Producer, ProducerGroup, Workload, client_id, log_of
from lab.clients.redirect_moves import RedirectPhase, crash_leader, elect, elections
from lab.layout import Lab
from lab.scenarios import Say

SCENARIO = "redirect"
# Each record is a separate batch with a random partition, so that clients use every partition often.
EVENLY = {"batch.size": "0", "linger.ms": "0", "partitioner.adaptive.partitioning.enable": "false"}
VERSIONS = {"3.6.0": "neither part", "3.6.2": "no backoff, no hint", "3.9.1": "both", CURRENT_VERSION: "both"}
"""The parts of KIP-951 in each release: retry without backoff, and the new leader in the response."""

READERS = ("3.6.0", CURRENT_VERSION)
"""Releases of the consumers. An old leader answers them with error 74, and producers with error 6."""

PATIENCE_S, SETTLED_S = 60.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectPlan:
    """How leaders move. `scenario` begins the names of topics and clients, and labels their runs."""

    scenario: str = SCENARIO
    repeats: int = 1
    warm_up_s: float = 15.0
    phases: Sequence[RedirectPhase] = (
        RedirectPhase(name="one", partitions=12, at_once=1, elections=30, apart_s=1.2, acks="1", for_s=75),
        RedirectPhase(name="ten", partitions=12, at_once=10, elections=4, apart_s=4, acks="1", for_s=40),
        RedirectPhase(
            name="hundred",
            partitions=100,
            at_once=100,
            elections=2,
            apart_s=8,
            acks="all",
            for_s=40,
        ),
        RedirectPhase(
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


def run(state: Path, plan: RedirectPlan, *, say: Say = print) -> Path:
    """
    Move leaders away from running clients. Return the path of the ground truth.

    Raises:
        LabError: no lab runs in this folder, a client failed, or a leader did not move.

    """
    lab = Lab.load(state)
    began_ns = time.time_ns()
    runs: list[dict[str, Any]] = []
    moves: list[dict[str, Any]] = []
    for nth in range(plan.repeats):
        for phase in plan.phases:
            say(f"round {nth + 1} of {plan.repeats}: {phase.description}")
            topic = f"{plan.scenario}-{began_ns // 1_000_000}-{nth}-{phase.name}"
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
    lab: Lab, plan: RedirectPlan, phase: RedirectPhase, topic: str, say: Say
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    properties = EVENLY | {"acks": phase.acks, "bootstrap.servers": lab.bootstrap_servers}
    producers = [Producer(arm=version, client_version=version, properties=properties) for version in VERSIONS]
    work = Workload(
        scenario=plan.scenario,
        run=topic,
        topic=topic,
        records_per_s=phase.records_per_s,
        for_s=plan.warm_up_s + phase.for_s,
        warm_up_s=plan.warm_up_s,
        is_logged=True,
    )
    readers = [_reader(lab, version, work) for version in READERS]
    producing = ProducerGroup(lab, producers, work)
    moves = []
    with JavaClients(readers) as reading:
        time.sleep(plan.warm_up_s)
        if phase.is_crash:
            controller_id = crash.active_controller(lab)
            time.sleep(SETTLED_S)  # so that the controller's last responses are within the runs
            moves += crash_leader(lab, topic, phase, controller_id, say)
        for partitions in islice(elections(lab, topic, phase, say), phase.elections):
            moves += elect(lab, topic, partitions)
            time.sleep(phase.apart_s)
        producing.wait()
        reading.wait(PATIENCE_S)
    clients = [
        _client(producer.client_version, work, phase, client_id(producer, work), log_of(lab, producer, work))
        for producer in producers
    ]
    clients += [_client(reader.client_version, work, phase, reader.client_id) for reader in readers]
    return clients, [move | {"phase": phase.name, "topic": topic} for move in moves]


def _client(
    version: str, work: Workload, phase: RedirectPhase, client_id: str, log: Path | None = None
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


def _reader(lab: Lab, version: str, work: Workload) -> JavaClient:
    return JavaClient(
        program="Reader",
        client_version=version,
        client_id=f"{work.scenario}-{version}-reads",
        bootstrap_servers=lab.bootstrap_servers,
        arguments=(work.topic, f"{work.for_s:g}"),
        properties={},
    )
