"""
Scenario `metadata`: producers of several releases that meet many topics one after another (KIP-526).

Before 2.5 a producer asks for all its topics whenever it meets a new one; since then for the new one alone.
One more client forgets topics that it does not use (`metadata.max.idle.ms`).
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import topics, truth
from lab.clients.driver import Driver, Drivers
from lab.clients.producer import TODAY
from lab.layout import Lab
from lab.scenarios import Say

SCENARIO = "metadata"
VERSIONS = ("2.4.1", "2.8.2", "3.9.1", TODAY)
IDLE_MS = 5_000
IDLE_FOR_S = 20
PATIENCE_S = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many topics are met, and in how much time."""

    repeats: int = 1
    topics: int = 1000
    idle_topics: int = 100
    for_s: float = 80.0


def run(state: Path, plan: Plan, *, say: Say = print) -> Path:
    """
    Let each release meet the topics, all at once; return the ground truth's path.

    Raises:
        LabError: no lab runs here, or a client failed.

    """
    lab = Lab.load(state)
    began_ns = time.time_ns()
    runs: list[dict[str, Any]] = []
    for nth in range(plan.repeats):
        prefix = f"{SCENARIO}-{began_ns // 1_000_000}-{nth}"
        say(f"round {nth + 1} of {plan.repeats}: creating {plan.topics} topics")
        topics.create_many(lab, [f"{prefix}-{number}" for number in range(plan.topics)])
        say(f"each of {', '.join(VERSIONS)} meets them one after another, {plan.for_s:g} s")
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


def _all_at_once(lab: Lab, plan: Plan, prefix: str, nth: int) -> list[dict[str, Any]]:
    told = [_client(version, plan.topics, f"{SCENARIO}-{version}-{nth}") for version in VERSIONS]
    told.append(_client(TODAY, plan.idle_topics, f"{SCENARIO}-{TODAY}-idle-{nth}", idle_ms=IDLE_MS))
    with Drivers(_driver(lab, one, prefix, plan.for_s) for one in told) as drivers:
        drivers.wait(PATIENCE_S)
    return told


def _client(version: str, n: int, client_id: str, *, idle_ms: int | None = None) -> dict[str, Any]:
    return {"client_version": version, "client_id": client_id, "topics": n, "idle_ms": idle_ms}


def _driver(lab: Lab, one: dict[str, Any], prefix: str, for_s: float) -> Driver:
    idle_ms, idle_for_s = one["idle_ms"], IDLE_FOR_S if one["idle_ms"] else 0
    pause_ms = 1e3 * (for_s - idle_for_s) / one["topics"]
    forgets = {"metadata.max.idle.ms": f"{idle_ms}", "metadata.max.age.ms": f"{idle_ms}"} if idle_ms else {}
    return Driver(
        program="ManyTopics",
        client_version=one["client_version"],
        client_id=one["client_id"],
        bootstrap_servers=lab.bootstrap_servers,
        arguments=(prefix, str(one["topics"]), f"{pause_ms:.3f}", str(idle_for_s)),
        properties=forgets,
    )
