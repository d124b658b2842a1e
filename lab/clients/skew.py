"""
Scenario `skew`: partitioners beside a slow broker, as KIP-794 measured them.

Three brokers, three partitions of one leader each, 512-byte records, linger 0, one broker that holds each
response 20 ms, one after another. One client jar has every partitioner up to KIP-794; today's client is there
as well, and one that gives its records keys. Arms take turns, and each begins with a warm-up that is not
measured.
"""

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import topics, truth
from lab.clients.driver import Driver, Drivers
from lab.clients.producer import TODAY, Producer, Work, client_id, produce
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
    Producer(arm="today", client_version=TODAY, properties=LINGER),
)
PARTITIONER = {
    "default-partitioner": "sticky",
    "uniform-sticky": "sticky",
    "uniform": "uniform",
    "adaptive": "adaptive",
    "availability-5ms": "adaptive",
    "today": "adaptive",
}
"""Which partitioner each arm has, in the words of `gold.partition_skew_summary`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How the partitioners are put to the test."""

    repeats: int = 1
    rates: tuple[float, ...] = (2048.0, 4096.0)
    hold_ms: float = 20.0
    warm_up_s: float = 7.0
    for_s: float = 15.0
    broker: int | None = None
    seed: int = 0


def run(state: Path, plan: Plan, *, say: Say = print) -> Path:
    """
    Let every arm produce in turn beside a slow broker; return the ground truth's path.

    Raises:
        LabError: no lab runs here, or a client failed.

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


def _one(lab: Lab, producer: Producer, plan: Plan, topic: str, rate: float) -> dict[str, Any]:
    work = Work(
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


def _keyed(lab: Lab, plan: Plan, topic: str, rate: float) -> dict[str, Any]:
    """Let keys choose the partitions: no partitioner may be named for it."""
    client_id = f"{SCENARIO}-{KEYED}-{topic.rpartition('-')[2]}-{rate:g}"
    keyed = Driver(
        program="Keyed",
        client_version=EVERY_PARTITIONER,
        client_id=client_id,
        bootstrap_servers=lab.proxied_bootstrap_servers,
        arguments=(topic, f"{rate:g}", f"{plan.for_s:g}", "512"),
        properties=LINGER,
    )
    with Drivers([keyed]) as drivers:
        drivers.wait(PATIENCE_S)
    return {
        "run": None,
        "arm": KEYED,
        "records_per_s": rate,
        "partitioner": None,
        "client_id": client_id,
        "client_version": EVERY_PARTITIONER,
        "topic": topic,
    }
