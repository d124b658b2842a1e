"""Real producers of any release on the observed cluster, each a performance test whose lines are kept."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from collectors.errors import CollectorError
from collectors.perf_test.run import Run, RunRecording, command, file_of, record_run
from lab import config
from lab.errors import LabError
from lab.layout import Lab

NODE = "lab-client-1"
TODAY = "4.3.1"
"""The release of the lab's brokers; its clients are run from the same jars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """One client: what it is called, of which release, and how it is set up."""

    arm: str
    client_version: str
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What each of some clients has to send, by way of the proxies unless its properties say otherwise."""

    scenario: str
    run: str
    topic: str
    records_per_s: float
    for_s: float
    record_size_bytes: int = 512
    warm_up_s: float = 0.0
    is_logged: bool = False  # the client's own log, as a second witness


def folder_of(lab: Lab) -> Path:
    """Return where the lines of the clients are kept: beside the brokers' logs, one report has both."""
    return lab.state / "logs" / "perf-test"


def log_of(lab: Lab, producer: Producer, work: Work) -> Path:
    """Return where a client's own log is, when it is asked for one: NetworkClient at DEBUG."""
    return lab.state / "clients" / f"{work.run}.{producer.arm}.log"


def client_id(producer: Producer, work: Work) -> str:
    """Name the client by scenario and arm: a run is known by it and by the time."""
    return f"{work.scenario}-{producer.arm}"


def produce(lab: Lab, producer: Producer, work: Work) -> Path:
    """
    Run one producer to its end; return the file with its lines.

    Raises:
        LabError: it failed, or its jars are not there; its last lines are quoted.

    """
    run = Run(
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
        said = "\n".join(file.read_text(errors="replace").splitlines()[-5:])
        message = f"the producer {producer.arm} ended with exit code {code}:\n{said}"
        raise LabError(message)
    return file


def all_at_once(lab: Lab, producers: Iterable[Producer], work: Work) -> "Crowd":
    """Start several producers side by side; the caller does its part and then waits for them."""
    return Crowd(lab, list(producers), work)


class Crowd:
    """Producers that run side by side."""

    def __init__(self, lab: Lab, producers: list[Producer], work: Work) -> None:
        """Start them."""
        self._failures: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._one, args=(lab, producer, work), daemon=True)
            for producer in producers
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """
        Return when all have ended.

        Raises:
            LabError: one of them failed.

        """
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _one(self, lab: Lab, producer: Producer, work: Work) -> None:
        try:
            produce(lab, producer, work)
        except Exception as error:  # noqa: BLE001 (whoever waits for it raises it)
            self._failures.append(error)


def _logging(lab: Lab, producer: Producer, work: Work) -> list[str]:
    if not work.is_logged:
        return []
    log = log_of(lab, producer, work)
    settings = log.with_suffix(".xml")
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(config.client_log4j2(log))
    return [f"-Dlog4j2.configurationFile={settings}"]


def arguments_of(bootstrap_servers: str, producer: Producer, work: Work) -> list[str]:
    """Return what the tool is told, in words that all releases know."""
    told = {"bootstrap.servers": bootstrap_servers, "client.id": client_id(producer, work)}
    properties = told | dict(producer.properties)
    return [
        *("--topic", work.topic, "--num-records", str(round(work.records_per_s * work.for_s))),
        *("--record-size", str(work.record_size_bytes), "--throughput", f"{work.records_per_s:g}"),
        *("--print-metrics", "--producer-props", *(f"{key}={value}" for key, value in properties.items())),
    ]
