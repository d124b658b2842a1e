"""
Scenario `metadata`: producers of several releases that use many topics one after another (KIP-526).

Before 2.5 a producer requests metadata of all its topics whenever it uses a new one. Since 2.5 it requests
only the new topic. One more client forgets unused topics (`metadata.max.idle.ms`).
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import topics, truth
from lab.clients.driver import JavaClient, JavaClients
from lab.clients.producer import CURRENT_VERSION
from lab.layout import Lab
from lab.scenarios import Say

SCENARIO = "metadata"
VERSIONS = ("2.4.1", "2.8.2", "3.9.1", CURRENT_VERSION)
IDLE_MS = 5_000
IDLE_FOR_S = 20
PATIENCE_S = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPlan:
    """The number of topics and the time in which the clients use them."""

    repeats: int = 1
    topics: int = 1000
    idle_topics: int = 100
    for_s: float = 80.0


def run(state: Path, plan: MetadataPlan, *, say: Say = print) -> Path:
    """
    Let the clients of all releases use the topics at the same time. Return the path of the ground truth.

    Raises:
        LabError: no lab runs in this folder, or a client failed.

    """
    lab = Lab.load(state)
    began_ns = time.time_ns()
    runs: list[dict[str, Any]] = []
    for nth in range(plan.repeats):
        prefix = f"{SCENARIO}-{began_ns // 1_000_000}-{nth}"
        say(f"round {nth + 1} of {plan.repeats}: creating {plan.topics} topics")
        topics.create_many(lab, [f"{prefix}-{number}" for number in range(plan.topics)])
        say(f"clients {', '.join(VERSIONS)} use them one after another, {plan.for_s:g} s")
        runs += [one | {"repeat": nth} for one in _all_at_once(lab, plan, prefix, nth)]
        topics.delete_many(lab, [f"{prefix}-{number}" for number in range(plan.topics)])
    facts = {
        "scenario": SCENARIO,
        "since": truth.iso(began_ns),
        "until": truth.iso(time.time_ns()),
        "topics": plan.topics,
        "brokers": lab.broker_ids,
        "cluster": lab.cluster,
        "runs": runs,
    }
    return truth.write(lab.state / "truth", SCENARIO, facts, at_ns=began_ns)


def _all_at_once(lab: Lab, plan: MetadataPlan, prefix: str, nth: int) -> list[dict[str, Any]]:
    clients = [_client(version, plan.topics, f"{SCENARIO}-{version}-{nth}") for version in VERSIONS]
    clients.append(
        _client(
            CURRENT_VERSION, plan.idle_topics, f"{SCENARIO}-{CURRENT_VERSION}-idle-{nth}", idle_ms=IDLE_MS
        )
    )
    with JavaClients(_java_client(lab, one, prefix, plan.for_s) for one in clients) as java_clients:
        java_clients.wait(PATIENCE_S)
    return clients


def _client(version: str, n: int, client_id: str, *, idle_ms: int | None = None) -> dict[str, Any]:
    return {"client_version": version, "client_id": client_id, "topics": n, "idle_ms": idle_ms}


def _java_client(lab: Lab, one: dict[str, Any], prefix: str, for_s: float) -> JavaClient:
    idle_ms, idle_for_s = one["idle_ms"], IDLE_FOR_S if one["idle_ms"] else 0
    pause_ms = 1e3 * (for_s - idle_for_s) / one["topics"]
    properties = (
        {"metadata.max.idle.ms": f"{idle_ms}", "metadata.max.age.ms": f"{idle_ms}"} if idle_ms else {}
    )
    return JavaClient(
        program="ManyTopics",
        client_version=one["client_version"],
        client_id=one["client_id"],
        bootstrap_servers=lab.bootstrap_servers,
        arguments=(prefix, str(one["topics"]), f"{pause_ms:.3f}", str(idle_for_s)),
        properties=properties,
    )
