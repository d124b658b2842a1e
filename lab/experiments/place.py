"""Where the load goes: a lab on this machine, or a cluster that the user names."""

import re
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import KafkaException

from collectors.perf_test.run import SECRET
from lab import jvm, topics
from lab.errors import LabError
from lab.experiments.errors import ExperimentError, WrongError
from lab.experiments.spec import Experiment, InLab
from lab.experiments.spec import Load as Produced
from lab.layout import Lab
from lab.proxy.control import set_hold

REACH_TIMEOUT_S = 5.0
CLUSTER_ID = re.compile(r"Cluster ID: (\S+)")
TOPIC_TOOL = "org.apache.kafka.tools.TopicCommand"


class Place(Protocol):
    """
    What the runs need to know of it.

    `told` is frozen with the plan, `arguments` are more ones of the producer tool.
    """

    bootstrap_servers: str
    arguments: tuple[str, ...]
    told: dict[str, Any]

    def begin(self) -> None:
        """Get ready for the runs."""

    def end(self) -> None:
        """Take back what was set for them."""

    def has_topic(self, name: str) -> bool:
        """Tell whether a topic is there."""

    def make_topic(self, name: str, load: Produced) -> None:
        """Make a topic."""

    def drop_topic(self, name: str) -> None:
        """Delete a topic that was made here."""


class OfLab:
    """A lab that runs; where it holds a broker's responses, clients go by way of its proxies."""

    def __init__(self, state: Path, experiment: Experiment, where: Path) -> None:
        """
        Look at the lab.

        Raises:
            LabError: none runs there.
            WrongError: it has no such broker, or too few.

        """
        self._lab, self._slow = Lab.load(state), experiment.lab or InLab()
        ids = self._lab.broker_ids
        if self._slow.broker and self._slow.broker not in ids:
            message = f"{where}: [lab] broker = {self._slow.broker}: the lab's brokers are {ids}"
            raise WrongError(message)
        if not experiment.load.topic and experiment.load.replication_factor > len(ids):
            message = f"{where}: [load] replication_factor is more than the lab's {len(ids)} brokers"
            raise WrongError(message)
        is_held = self._slow.hold_ms > 0
        self.bootstrap_servers = (
            self._lab.proxied_bootstrap_servers if is_held else self._lab.bootstrap_servers
        )
        self.arguments: tuple[str, ...] = ()
        self.told: dict[str, Any] = {"kind": "lab", "brokers": len(ids)}

    def begin(self) -> None:
        """Slow down the broker that is to be slow."""
        if self._slow.broker:
            set_hold(self._lab.state, {self._slow.broker: self._slow.hold_ms})

    def end(self) -> None:
        """Let it answer at once again."""
        if self._slow.broker:
            set_hold(self._lab.state, {self._slow.broker: 0.0})

    def has_topic(self, name: str) -> bool:
        """Tell whether a topic is there."""
        try:
            told = topics.admin(self._lab.bootstrap_servers).list_topics(timeout=topics.REQUEST_TIMEOUT_S)
        except KafkaException as error:
            message = f"the lab in {self._lab.state} does not answer: {error}; look at `plumbline lab status`"
            raise ExperimentError(message) from error
        return name in told.topics

    def make_topic(self, name: str, load: Produced) -> None:
        """Make a topic whose leaders are spread over the brokers."""
        topics.create_load_topic(
            self._lab, name=name, partitions=load.partitions, replication_factor=load.replication_factor
        )

    def drop_topic(self, name: str) -> None:
        """Delete it."""
        topics.delete_many(self._lab, [name])


@dataclass(slots=True)
class OfCluster:
    """A cluster that was named, reached with Kafka's own tools; secrets stay in the user's file."""

    bootstrap_servers: str
    properties: Path | None
    told: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """
        Look whether it is there.

        Raises:
            ExperimentError: it cannot be reached.

        """
        _reach(self.bootstrap_servers)
        said = self._ask("org.apache.kafka.tools.ClusterTool", "cluster-id", config="--config")
        found = CLUSTER_ID.search(said)
        settings = public_settings(self.properties) if self.properties else {}
        self.told = {"kind": "cluster", "id": found[1] if found else None, "properties": settings}
        self.arguments = ("--producer.config", str(self.properties)) if self.properties else ()

    def begin(self) -> None:
        """Set nothing: it is not ours."""

    def end(self) -> None:
        """Nothing was set."""

    def has_topic(self, name: str) -> bool:
        """Tell whether a topic is there."""
        return name in self._ask(TOPIC_TOOL, "--list").split()

    def make_topic(self, name: str, load: Produced) -> None:
        """Make a topic."""
        shape = ("--partitions", load.partitions, "--replication-factor", load.replication_factor)
        self._ask(TOPIC_TOOL, "--create", "--topic", name, *map(str, shape))

    def drop_topic(self, name: str) -> None:
        """Delete it."""
        self._ask(TOPIC_TOOL, "--delete", "--topic", name)

    def _ask(self, tool: str, *arguments: str, config: str = "--command-config") -> str:
        secured = (config, str(self.properties)) if self.properties else ()
        command = jvm.tool(tool, *arguments, "--bootstrap-server", self.bootstrap_servers, *secured)
        try:
            return jvm.run_tool(command)
        except (LabError, subprocess.TimeoutExpired) as error:
            message = f"{self.bootstrap_servers} did not do as it was asked: {error}"
            raise ExperimentError(message) from error


def public_settings(file: Path) -> dict[str, str]:
    """Read a file of Java properties, as Kafka's tools take it; secrets are left out."""
    lines = [line.strip() for line in file.read_text().splitlines()]
    told = (re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {row[0]: row[-1] if len(row) > 1 else "" for row in told if not SECRET.match(f"{row[0]}=")}


def _reach(bootstrap_servers: str) -> None:
    failures = [failure for server in bootstrap_servers.split(",") if (failure := _failure(server.strip()))]
    if len(failures) == len(bootstrap_servers.split(",")):
        message = f"no server can be reached: {'; '.join(failures)}. Is --bootstrap-server right?"
        raise ExperimentError(message)


def _failure(server: str) -> str | None:
    host, _, port = server.rpartition(":")
    if not host or not port.isdigit():
        message = f"--bootstrap-server: {server!r} is not HOST:PORT"
        raise WrongError(message)
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        return f"{server}: {error}"
    return None


def check_topic(place: Place, topic: str, where: Path) -> None:
    """
    Make sure that a topic the user named is there: for each record to one that is not the tool waits.

    Raises:
        WrongError: it is not.

    """
    if topic and not place.has_topic(topic):
        message = f"{where}: [load] topic = {topic!r}: there is none; make it, or leave the key out"
        raise WrongError(message)
