"""
Scenario `skew`: partitioners with one slow broker, as in KIP-794's measurements.

Three brokers lead one partition each. Records have 512 bytes, linger.ms is 0, and one broker's proxy holds
each response 20 ms, one after another. Release 3.9.1 has every partitioner up to KIP-794. One arm uses the
current release, and one arm has keyed records. The arms take turns. Each arm but the keyed one begins with
a warm-up that is not measured.
"""

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import topics, truth
from lab.clients.driver import JavaClient, JavaClients
from lab.clients.producer import CURRENT_VERSION, Producer, Workload, client_id, produce
from lab.layout import Lab
from lab.proxy.control import set_hold
from lab.scenarios import Say

SCENARIO = "skew"
EVERY_PARTITIONER = "3.9.1"
KIP_480 = "org.apache.kafka.clients.producer"
KEYED, PATIENCE_S = "keyed", 60.0
LINGER = {"linger.ms": "0"}
ARMS = (
    Producer(
        arm="default-partitioner",
        client_version=EVERY_PARTITIONER,
        properties=LINGER | {"partitioner.class": f"{KIP_480}.internals.DefaultPartitioner"},
    ),
    Producer(
        arm="uniform-sticky",
        client_version=EVERY_PARTITIONER,
        properties=LINGER | {"partitioner.class": f"{KIP_480}.UniformStickyPartitioner"},
    ),
    Producer(
        arm="uniform",
        client_version=EVERY_PARTITIONER,
        properties=LINGER | {"partitioner.adaptive.partitioning.enable": "false"},
    ),
    Producer(arm="adaptive", client_version=EVERY_PARTITIONER, properties=LINGER),
    Producer(
        arm="availability-5ms",
        client_version=EVERY_PARTITIONER,
        properties=LINGER | {"partitioner.availability.timeout.ms": "5"},
    ),
    Producer(arm="today", client_version=CURRENT_VERSION, properties=LINGER),
)
PARTITIONER = {
    "default-partitioner": "sticky",
    "uniform-sticky": "sticky",
    "uniform": "uniform",
    "adaptive": "adaptive",
    "availability-5ms": "adaptive",
    "today": "adaptive",
}
"""The partitioner of each arm, as in `gold.partition_skew_summary`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewPlan:
    """Parameters of a run."""

    repeats: int = 1
    rates: tuple[float, ...] = (2048.0, 4096.0)
    hold_ms: float = 20.0
    warm_up_s: float = 7.0
    for_s: float = 15.0
    broker: int | None = None
    seed: int = 0


def run(state: Path, plan: SkewPlan, *, say: Say = print) -> Path:
    """
    Let every arm produce in turn while one broker is slow. Return the path of the ground truth.

    Raises:
        LabError: no lab runs in this folder, or a client failed.

    """
    lab = Lab.load(state)
    began_ns = time.time_ns()
    slow = plan.broker or random.Random(plan.seed).choice(lab.broker_ids)  # noqa: S311 (a repeatable pick)
    rounds = []
    set_hold(state, {slow: plan.hold_ms})
    try:
        for nth in range(plan.repeats):
            topic = f"{SCENARIO}-{began_ns // 1_000_000}-{nth}"
            topics.create_load_topic(lab, name=topic, partitions=len(lab.brokers), replication_factor=1)
            for rate in plan.rates:
                for producer in ARMS:
                    say(f"round {nth + 1} of {plan.repeats}: {producer.arm} at {rate:g} records/s")
                    rounds.append(_one(lab, producer, plan, topic, rate) | {"repeat": nth})
                say(f"round {nth + 1} of {plan.repeats}: {KEYED} at {rate:g} records/s")
                rounds.append(_keyed(lab, plan, topic, rate) | {"repeat": nth})
    finally:
        set_hold(state, {slow: 0.0})
    facts = {
        "scenario": SCENARIO,
        "slow_broker_id": slow,
        "hold_ms": plan.hold_ms,
        "since": truth.iso(began_ns),
        "until": truth.iso(time.time_ns()),
        "brokers": lab.broker_ids,
        "cluster": lab.cluster,
        "seed": plan.seed,
        "runs": rounds,
    }
    return truth.write(lab.state / "truth", SCENARIO, facts, at_ns=began_ns)


def _one(lab: Lab, producer: Producer, plan: SkewPlan, topic: str, rate: float) -> dict[str, Any]:
    work = Workload(
        scenario=SCENARIO,
        run=f"{topic}-{rate:g}",
        topic=topic,
        records_per_s=rate,
        for_s=plan.warm_up_s + plan.for_s,
        warm_up_s=plan.warm_up_s,
    )
    file = produce(lab, producer, work)
    return {
        "run": work.run,
        "arm": producer.arm,
        "records_per_s": rate,
        "partitioner": PARTITIONER[producer.arm],
        "client_id": client_id(producer, work),
        "client_version": producer.client_version,
        "topic": topic,
        "file": str(file),
    }


def _keyed(lab: Lab, plan: SkewPlan, topic: str, rate: float) -> dict[str, Any]:
    """Run a producer with keyed records. Keys choose the partitions, so the row has no partitioner."""
    client_id = f"{SCENARIO}-{KEYED}-{topic.rpartition('-')[2]}-{rate:g}"
    keyed = JavaClient(
        program="Keyed",
        client_version=EVERY_PARTITIONER,
        client_id=client_id,
        bootstrap_servers=lab.proxied_bootstrap_servers,
        arguments=(topic, f"{rate:g}", f"{plan.for_s:g}", "512"),
        properties=LINGER,
    )
    with JavaClients([keyed]) as clients:
        clients.wait(PATIENCE_S)
    return {
        "run": None,
        "arm": KEYED,
        "records_per_s": rate,
        "partitioner": None,
        "client_id": client_id,
        "client_version": EVERY_PARTITIONER,
        "topic": topic,
    }
