"""
Scenario `metadata`: producers of several releases that meet many topics one after another (KIP-526).

Before 2.5 a producer asks for all its topics whenever it meets a new one; since then for the new one alone.
One more client forgets topics that it does not use (`metadata.max.idle.ms`).
"""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import jvm, topics, truth
from lab.clients.producer import TODAY
from lab.errors import LabError
from lab.layout import Lab
from lab.scenarios import Say

SCENARIO = "metadata"
DRIVER = Path(__file__).parent / "ManyTopics.java"
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
    started = [(one, _start(lab, one, prefix, plan.for_s)) for one in told]
    try:
        for one, process in started:
            said, _ = process.communicate(timeout=PATIENCE_S)
            if process.returncode:
                message = f"the producer {one['client_id']} failed:\n{said.decode(errors='replace')[-2000:]}"
                raise LabError(message)
    except subprocess.TimeoutExpired as error:
        message = f"the producers have not met their topics within {PATIENCE_S:g} s"
        raise LabError(message) from error
    finally:
        for _, process in started:
            process.kill()
            process.wait()
    return told


def _client(version: str, n: int, client_id: str, *, idle_ms: int | None = None) -> dict[str, Any]:
    return {"client_version": version, "client_id": client_id, "topics": n, "idle_ms": idle_ms}


def _start(lab: Lab, one: dict[str, Any], prefix: str, for_s: float) -> "subprocess.Popen[bytes]":
    version = None if one["client_version"] == TODAY else one["client_version"]
    is_idle = one["idle_ms"] is not None
    forgets = (f"metadata.max.idle.ms={one['idle_ms']}", f"metadata.max.age.ms={one['idle_ms']}")
    pause_ms = 1e3 * (for_s - IDLE_FOR_S * is_idle) / one["topics"]
    command = [
        *(jvm.java(), "-XX:+UseSerialGC", "-Xmx256m", "-cp", jvm.class_path(version), str(DRIVER)),
        *(prefix, str(one["topics"]), f"{pause_ms:.3f}", str(IDLE_FOR_S if is_idle else 0)),
        *(f"bootstrap.servers={lab.bootstrap_servers}", f"client.id={one['client_id']}"),
        *(forgets if is_idle else ()),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
