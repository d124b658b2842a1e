"""Run real producers of any release on the observed cluster. Each one is recorded as a performance test."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from collectors.errors import CollectorError
from collectors.perf_test.run import RunDescription, RunRecording, command, file_of, record_run
from lab import config
from lab.errors import LabError
from lab.layout import Lab

NODE = "lab-client-1"
CURRENT_VERSION = "4.3.1"
"""The release of the lab's brokers. Its clients run from the same jars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """One client: the name of its arm, its release and its settings."""

    arm: str
    client_version: str
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What each producer sends. Producers connect through the proxies unless their properties override it."""

    scenario: str
    run: str
    topic: str
    records_per_s: float
    for_s: float
    record_size_bytes: int = 512
    warm_up_s: float = 0.0
    is_logged: bool = False  # also write the client's own log, as independent evidence


def folder_of(lab: Lab) -> Path:
    """Return the folder for the producers' output, next to the brokers' logs: one report reads both."""
    return lab.state / "logs" / "perf-test"


def log_of(lab: Lab, producer: Producer, work: Workload) -> Path:
    """Return the path of a client's own log (NetworkClient at DEBUG), if `is_logged`."""
    return lab.state / "clients" / f"{work.run}.{producer.arm}.log"


def client_id(producer: Producer, work: Workload) -> str:
    """Return the client id of an arm. Different runs use the same id; their times tell them apart."""
    return f"{work.scenario}-{producer.arm}"


def produce(lab: Lab, producer: Producer, work: Workload) -> Path:
    """
    Run one producer to its end. Return the file with its output.

    Raises:
        LabError: the producer failed (the message quotes its last lines), or its jars are missing.

    """
    run = RunDescription(
        run=work.run,
        arm=producer.arm,
        scenario=work.scenario,
        client_version=producer.client_version,
        warm_up_s=work.warm_up_s,
    )
    file = file_of(folder_of(lab), run, datetime.now(UTC))
    arguments = arguments_of(lab.proxied_bootstrap_servers, producer, work)
    try:
        tool = command(producer.client_version, arguments, options=_logging(lab, producer, work))
        code = record_run(tool, arguments, RunRecording(run=run, node=NODE, file=file))
    except CollectorError as error:
        raise LabError(str(error)) from error
    if code:
        output = "\n".join(file.read_text(errors="replace").splitlines()[-5:])
        message = f"the producer {producer.arm} ended with exit code {code}:\n{output}"
        raise LabError(message)
    return file


class ProducerGroup:
    """Producers that run side by side."""

    def __init__(self, lab: Lab, producers: list[Producer], work: Workload) -> None:
        """Start the producers."""
        self._failures: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._one, args=(lab, producer, work), daemon=True)
            for producer in producers
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """
        Return when all producers have ended.

        Raises:
            LabError: a producer failed.

        """
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _one(self, lab: Lab, producer: Producer, work: Workload) -> None:
        try:
            produce(lab, producer, work)
        except Exception as error:  # noqa: BLE001 (`wait` raises it)
            self._failures.append(error)


def _logging(lab: Lab, producer: Producer, work: Workload) -> list[str]:
    if not work.is_logged:
        return []
    log = log_of(lab, producer, work)
    settings = log.with_suffix(".xml")
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(config.client_log4j2(log))
    return [f"-Dlog4j2.configurationFile={settings}"]


def arguments_of(bootstrap_servers: str, producer: Producer, work: Workload) -> list[str]:
    """Return the arguments of ProducerPerformance that all releases accept."""
    required = {"bootstrap.servers": bootstrap_servers, "client.id": client_id(producer, work)}
    properties = required | dict(producer.properties)
    return [
        *("--topic", work.topic, "--num-records", str(round(work.records_per_s * work.for_s))),
        *("--record-size", str(work.record_size_bytes), "--throughput", f"{work.records_per_s:g}"),
        *("--print-metrics", "--producer-props", *(f"{key}={value}" for key, value in properties.items())),
    ]
