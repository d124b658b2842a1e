"""Produce load at a fixed rate with Kafka's ProducerPerformance."""

import time
from dataclasses import dataclass
from pathlib import Path

from lab import jvm, processes
from lab.errors import LabError
from lab.layout import LOAD_PREFIX, LOAD_TOPIC, Lab

FOREVER_S = 7 * 24 * 3600.0  # "until stopped": ProducerPerformance needs a number of records
TRICKLE_RECORDS_PER_S = 5.0  # every pair replicates now and then, and the cores stay idle
START_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to produce. Options that decide batching are explicit: their defaults differ between releases."""

    records_per_s: float
    record_size_bytes: int = 500
    topic: str = LOAD_TOPIC
    acks: str = "all"
    linger_ms: int = 5
    duration_s: float = FOREVER_S
    properties: tuple[str, ...] = ()
    """Additional producer settings, as KEY=VALUE."""


@dataclass(frozen=True, slots=True)
class RunningLoad:
    """A started load: its process, and the file with its stdout."""

    process: dict[str, float]
    output: Path

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return processes.find(self.process) is not None

    def wait_until_producing(self) -> None:
        """
        Return when the tool prints its first window, so a record is acknowledged.

        Raises:
            LabError: the load ended, or sent nothing in time; the message quotes its output.

        """
        deadline = time.monotonic() + START_TIMEOUT_S
        while b"records sent" not in self.output.read_bytes():
            if not self.is_alive or time.monotonic() > deadline:
                message = f"the load did not start:\n{processes.tail(self.output)}"
                raise LabError(message)
            time.sleep(0.1)

    def wait(self) -> None:
        """
        Return when all records are sent.

        Raises:
            LabError: the load ended without a summary line; the message quotes its output.

        """
        while self.is_alive:
            time.sleep(0.2)
        if b"99th" not in self.output.read_bytes():
            message = f"the load ended early:\n{processes.tail(self.output)}"
            raise LabError(message)

    def stop(self) -> None:
        """Stop the load now."""
        processes.end([self.process])


def command(bootstrap_servers: str, load: Load) -> list[str]:
    """Return the command line of ProducerPerformance. Its reporting windows are one second long."""
    return jvm.tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--bootstrap-server", bootstrap_servers, "--topic", load.topic),
        *("--num-records", str(max(1, round(load.records_per_s * load.duration_s)))),
        *("--record-size", str(load.record_size_bytes), "--throughput", str(load.records_per_s)),
        *("--reporting-interval", "1000"),
        *("--command-property", f"acks={load.acks}", f"linger.ms={load.linger_ms}", "client.id=lab-load"),
        *load.properties,
        options=("-Xmx256m", "-Duser.language=en", "-Duser.country=US"),
    )


def begin(lab: Lab, load: Load) -> RunningLoad:
    """Start a load on the observed cluster, as a process of the lab: `plumbline lab stop` stops it too."""
    name = f"{LOAD_PREFIX}{time.time_ns()}"
    output = lab.state / "load" / f"{name}.txt"
    process = processes.spawn(command(lab.bootstrap_servers, load), output=output)
    current = Lab.load(lab.state)
    loads = {
        other: record
        for other, record in current.processes.items()
        if other not in current.required_processes
    }
    alive = {other: record for other, record in loads.items() if processes.find(record)}
    current.processes = current.required_processes | alive | {name: process}
    current.save()
    return RunningLoad(process, output)
