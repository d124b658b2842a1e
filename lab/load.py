"""A produce load at a fixed rate, made by Kafka's own ProducerPerformance."""

import time
from dataclasses import dataclass
from pathlib import Path

from lab import jvm, processes
from lab.errors import LabError
from lab.layout import LOAD_PREFIX, LOAD_TOPIC, Lab

FOREVER_S = 7 * 24 * 3600.0  # "until stopped": ProducerPerformance wants a number of records
TRICKLE_RECORDS_PER_S = 5.0  # enough that each pair has news now and then, too little to keep a core busy
START_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is produced: the options that decide batching are set, not left to a release's defaults."""

    records_per_s: float
    record_size_bytes: int = 500
    topic: str = LOAD_TOPIC
    acks: str = "all"
    linger_ms: int = 5
    duration_s: float = FOREVER_S
    properties: tuple[str, ...] = ()
    """More settings of the producer, as KEY=VALUE."""


@dataclass(frozen=True, slots=True)
class Running:
    """A load that was started: its process and where its stdout goes."""

    process: dict[str, float]
    output: Path

    @property
    def is_alive(self) -> bool:
        """Tell whether it still produces."""
        return processes.find(self.process) is not None

    def wait_until_producing(self) -> None:
        """
        Return when the first record was acknowledged, which the first window line tells.

        Raises:
            LabError: it ended or nothing was sent in time; its output is quoted.

        """
        deadline = time.monotonic() + START_TIMEOUT_S
        while b"records sent" not in self.output.read_bytes():
            if not self.is_alive or time.monotonic() > deadline:
                message = f"the load did not start:\n{processes.tail(self.output)}"
                raise LabError(message)
            time.sleep(0.1)

    def wait(self) -> None:
        """
        Return when all records were sent.

        Raises:
            LabError: it ended without its summary line; its output is quoted.

        """
        while self.is_alive:
            time.sleep(0.2)
        if b"99th" not in self.output.read_bytes():
            message = f"the load broke off:\n{processes.tail(self.output)}"
            raise LabError(message)

    def stop(self) -> None:
        """End it now."""
        processes.end([self.process])


def command(bootstrap_servers: str, load: Load) -> list[str]:
    """Return ProducerPerformance's command line; its windows are one second long."""
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


def begin(lab: Lab, load: Load) -> Running:
    """Start a load on the observed cluster; it is one of the lab's processes, so `stop` ends it too."""
    name = f"{LOAD_PREFIX}{time.time_ns()}"
    output = lab.state / "load" / f"{name}.txt"
    process = processes.spawn(command(lab.bootstrap_servers, load), output=output)
    current = Lab.load(lab.state)
    loads = {other: record for other, record in current.processes.items() if other not in current.standing}
    going = {other: record for other, record in loads.items() if processes.find(record)}
    current.processes = current.standing | going | {name: process}
    current.save()
    return Running(process, output)
