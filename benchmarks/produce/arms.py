"""The arms of `make verify-produce`: what is slow, and the load that shows it."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks.truth.record import note_meta
from lab import cluster, jvm, load, topics
from lab.layout import Lab
from lab.proxy.control import set_delay

DONE = "arm.json"
ORACLE = ("kafka.cluster.Partition", "DEBUG")
"""The logger that says which offset each follower has reached. Never switch it on in production."""

SETTLE_S, LOG_LAG_S = 8.0, 1.5
PULSE_S, PULSES_EVERY_S = 0.05, 0.2
SLOW_WRITES, SLOW_WRITE_MS = "slow-writes", 5.0

Pairs = tuple[tuple[int, int, float], ...]
"""Delays: follower, leader, milliseconds of a round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceArm:
    """One recording: what is slow from `quiet_s` on, and the load."""

    name: str
    about: str
    delays: Pairs = ()
    disk: int | None = None  # broker whose writes to log segments take `SLOW_WRITE_MS` longer
    paused: int | None = None  # broker that is stopped in pulses
    stopped: int | None = None  # broker that is stopped until it has left the ISR
    brokers: int = 3
    replication_factor: int = 3
    acks: str = "all"
    properties: tuple[str, ...] = field(default=())
    quiet_s: float = 20.0
    slow_s: float = 30.0
    records_per_s: float = 200.0


ARMS = (
    ProduceArm(name="quiet", about="nothing is slow"),
    ProduceArm(name="slow-link", about="follower 2 from leader 1: 10 ms", delays=((2, 1, 10.0),)),
    ProduceArm(name="slow-disk", about="each write of broker 3 to a log takes 5 ms longer", disk=3),
    ProduceArm(name="pauses", about="broker 3 is stopped for 50 ms, five times a second", paused=3),
    ProduceArm(name="out-of-isr", about="broker 3 is stopped and leaves the ISR", stopped=3, slow_s=60.0),
    ProduceArm(
        name="both-slow",
        about="followers 2 and 3 from leader 1: 10 and 20 ms",
        delays=((2, 1, 10.0), (3, 1, 20.0)),
    ),
    ProduceArm(
        name="acks-1", about="acks=1; follower 2 from leader 1: 10 ms", delays=((2, 1, 10.0),), acks="1"
    ),
    ProduceArm(
        name="several-partitions",
        about="several partitions a request; follower 2 from leader 1: 10 ms",
        delays=((2, 1, 10.0),),
        records_per_s=800.0,
        properties=(
            "linger.ms=20",
            "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner",
        ),
    ),
    ProduceArm(
        name="rf-2",
        about="replication factor 2; follower 2 from leader 1: 10 ms",
        delays=((2, 1, 10.0),),
        replication_factor=2,
    ),
    ProduceArm(
        name="five-brokers",
        about="five brokers; follower 2 from leader 1: 10 ms",
        delays=((2, 1, 10.0),),
        brokers=5,
        records_per_s=60.0,  # five brokers keep two cores busy; so it takes longer to be as many requests
        quiet_s=60.0,
        slow_s=60.0,
    ),
)


def record(arm: ProduceArm, folder: Path, say: Callable[[str], None] = print) -> None:
    """Record an arm in a folder; one that is done is not recorded again."""
    if (folder / DONE).exists():
        say(f"{arm.name}: recorded before, in {folder}")
        return
    say(f"{arm.name}: {arm.about}")
    note_meta(folder)
    with _slow_writes(arm, folder):
        lab = cluster.start(folder / "lab", brokers=arm.brokers, fresh=True, say=lambda _: None)
    try:
        topic = f"arm-{arm.name}"
        topics.create_load_topic(lab, name=topic, replication_factor=arm.replication_factor)
        for broker in lab.brokers:
            jvm.set_logger(lab.bootstrap_servers, broker.id, *ORACLE)
        running = load.begin(
            lab,
            load.Load(records_per_s=arm.records_per_s, topic=topic, acks=arm.acks, properties=arm.properties),
        )
        running.wait_until_producing()
        time.sleep(SETTLE_S)
        quiet_ns = time.time_ns()
        time.sleep(arm.quiet_s)
        slow_ns = time.time_ns()
        with _slow(arm, lab, folder / SLOW_WRITES):
            time.sleep(arm.slow_s)
            end_ns = time.time_ns()
        running.stop()
        time.sleep(LOG_LAG_S)
    finally:
        cluster.stop(folder / "lab", say=lambda _: None)
    instants = {"quiet_ns": quiet_ns, "slow_ns": slow_ns, "end_ns": end_ns, "topic": topic}
    (folder / DONE).write_text(json.dumps(instants))


@contextmanager
def _slow_writes(arm: ProduceArm, folder: Path) -> Iterator[None]:
    """Make the brokers that start meanwhile able to have a slow disk (`slow_writes.c`)."""
    if arm.disk is None:
        yield
        return
    library, source = folder / "slow_writes.so", Path(__file__).with_name("slow_writes.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)  # noqa: S607
    variables = {
        "LD_PRELOAD": str(library),
        "SLOW_WRITES": str(folder / SLOW_WRITES),
        "SLOW_WRITES_OF": f"/broker-{arm.disk}/",
        "SLOW_WRITES_US": str(round(SLOW_WRITE_MS * 1e3)),
    }
    with patch.dict(os.environ, variables):
        yield


@contextmanager
def _slow(arm: ProduceArm, lab: Lab, slow_writes: Path) -> Iterator[None]:
    if arm.disk is not None:
        slow_writes.touch()
    if arm.delays:
        set_delay(lab.state, {(follower, leader): delay_ms for follower, leader, delay_ms in arm.delays})
    stops = _pulses(lab, arm.paused) if arm.paused else nullcontext()
    if arm.stopped:
        os.kill(_pid(lab, arm.stopped), signal.SIGSTOP)
    try:
        with stops:
            yield
    finally:
        slow_writes.unlink(missing_ok=True)
        if arm.stopped:
            os.kill(_pid(lab, arm.stopped), signal.SIGCONT)


@contextmanager
def _pulses(lab: Lab, broker: int) -> Iterator[None]:
    ended, pid = threading.Event(), _pid(lab, broker)

    def pulse() -> None:
        while not ended.wait(PULSES_EVERY_S - PULSE_S):
            os.kill(pid, signal.SIGSTOP)
            ended.wait(PULSE_S)
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=partial(pulse), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)


def _pid(lab: Lab, broker: int) -> int:
    return int(Lab.load(lab.state).processes[f"broker-{broker}"]["pid"])
