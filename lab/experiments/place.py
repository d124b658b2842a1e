"""Where the load goes: a lab on this machine, or a cluster of the user."""

import re
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import KafkaException

from collectors.perf_test.run import SECRET
from conf.exit_codes import WrongUseError
from lab import jvm, topics
from lab.errors import LabError
from lab.experiments.errors import ExperimentError
from lab.experiments.spec import Experiment, LoadSpec, ResponseHold
from lab.layout import Lab
from lab.proxy.control import set_hold

REACH_TIMEOUT_S = 5.0
CLUSTER_ID = re.compile(r"Cluster ID: (\S+)")
TOPIC_TOOL = "org.apache.kafka.tools.TopicCommand"


class Place(Protocol):
    """
    The cluster that the runs of an experiment use.

    `description` is frozen with the plan. `arguments` are additional arguments of the producer tool, and
    `java_options` those of its JVM.
    """

    bootstrap_servers: str
    arguments: tuple[str, ...]
    java_options: tuple[str, ...]
    description: dict[str, Any]

    def begin(self) -> None:
        """Prepare for the runs."""

    def end(self) -> None:
        """Undo `begin`."""

    def has_topic(self, name: str) -> bool:
        """Return whether a topic exists."""

    def make_topic(self, name: str, load: LoadSpec) -> None:
        """Create a topic."""

    def drop_topic(self, name: str) -> None:
        """Delete a topic that `make_topic` created."""


class LabPlace:
    """A running lab. If it holds a broker's responses, clients connect through its proxies."""

    def __init__(self, state: Path, experiment: Experiment, where: Path) -> None:
        """
        Read the lab and check the experiment against it.

        Raises:
            LabError: there is no lab in this folder.
            WrongUseError: the lab does not have the broker, or has too few brokers.

        """
        self._lab, self._slow = Lab.load(state), experiment.lab or ResponseHold()
        ids = self._lab.broker_ids
        if self._slow.broker and self._slow.broker not in ids:
            message = f"{where}: [lab] broker = {self._slow.broker}: the lab's brokers are {ids}"
            raise WrongUseError(message)
        if not experiment.load.topic and experiment.load.replication_factor > len(ids):
            message = f"{where}: [load] replication_factor is more than the lab's {len(ids)} brokers"
            raise WrongUseError(message)
        is_held = self._slow.hold_ms > 0
        self.bootstrap_servers = (
            self._lab.proxied_bootstrap_servers if is_held else self._lab.bootstrap_servers
        )
        self.arguments: tuple[str, ...] = ()
        self.java_options: tuple[str, ...] = ()
        self.description: dict[str, Any] = {"kind": "lab", "brokers": len(ids)}

    def begin(self) -> None:
        """Slow down the broker of [lab]."""
        if self._slow.broker:
            set_hold(self._lab.state, {self._slow.broker: self._slow.hold_ms})

    def end(self) -> None:
        """Remove the hold."""
        if self._slow.broker:
            set_hold(self._lab.state, {self._slow.broker: 0.0})

    def has_topic(self, name: str) -> bool:
        """Return whether a topic exists."""
        try:
            metadata = topics.admin(self._lab.bootstrap_servers).list_topics(timeout=topics.READ_TIMEOUT_S)
        except KafkaException as error:
            message = f"the lab in {self._lab.state} does not answer: {error}. See `plumbline lab status`"
            raise ExperimentError(message) from error
        return name in metadata.topics

    def make_topic(self, name: str, load: LoadSpec) -> None:
        """Create a topic with its leaders spread over the brokers."""
        topics.create_load_topic(
            self._lab, name=name, partitions=load.partitions, replication_factor=load.replication_factor
        )

    def drop_topic(self, name: str) -> None:
        """Delete a topic."""
        topics.delete_many(self._lab, [name])


@dataclass(slots=True)
class ClusterPlace:
    """A cluster of the user, used with Kafka's own tools. Secrets stay in the user's properties file."""

    bootstrap_servers: str
    properties: Path | None
    java_options: tuple[str, ...] = ()
    description: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """
        Read the cluster id.

        Raises:
            ExperimentError: the cluster does not answer.

        """
        _reach(self.bootstrap_servers)
        output = self._ask("org.apache.kafka.tools.ClusterTool", "cluster-id", config="--config")
        found = CLUSTER_ID.search(output)
        settings = public_settings(self.properties) if self.properties else {}
        self.description = {"kind": "cluster", "id": found[1] if found else None, "properties": settings}
        self.arguments = ("--producer.config", str(self.properties)) if self.properties else ()

    def begin(self) -> None:
        """Change nothing: the cluster is the user's."""

    def end(self) -> None:
        """Change nothing."""

    def has_topic(self, name: str) -> bool:
        """Return whether a topic exists."""
        return name in self._ask(TOPIC_TOOL, "--list").split()

    def make_topic(self, name: str, load: LoadSpec) -> None:
        """Create a topic."""
        shape = ("--partitions", load.partitions, "--replication-factor", load.replication_factor)
        self._ask(TOPIC_TOOL, "--create", "--topic", name, *map(str, shape))

    def drop_topic(self, name: str) -> None:
        """Delete a topic."""
        self._ask(TOPIC_TOOL, "--delete", "--topic", name)

    def _ask(self, tool: str, *arguments: str, config: str = "--command-config") -> str:
        secured = (config, str(self.properties)) if self.properties else ()
        options = (*jvm.TOOL_OPTIONS, *self.java_options)
        named = ("--bootstrap-server", self.bootstrap_servers)
        command = jvm.tool(tool, *arguments, *named, *secured, options=options)
        try:
            return jvm.run_tool(command)
        except (LabError, subprocess.TimeoutExpired) as error:
            message = f"a Kafka tool failed at {self.bootstrap_servers}: {error}"
            raise ExperimentError(message) from error


def public_settings(file: Path) -> dict[str, str]:
    """Parse a Java properties file, without secrets and certificates, which are renewed."""
    lines = [line.strip() for line in file.read_text().splitlines()]
    pairs = (re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!")
    return {row[0]: row[-1] if len(row) > 1 else "" for row in pairs if _is_public(row[0])}


def _is_public(name: str) -> bool:
    return not SECRET.match(f"{name}=") and "certificate" not in name and "truststore" not in name


def _reach(bootstrap_servers: str) -> None:
    failures = [failure for server in bootstrap_servers.split(",") if (failure := _failure(server.strip()))]
    if len(failures) == len(bootstrap_servers.split(",")):
        message = f"no server can be reached: {'; '.join(failures)}. Check --bootstrap-server"
        raise ExperimentError(message)


def _failure(server: str) -> str | None:
    host, _, port = server.rpartition(":")
    if not host or not port.isdigit():
        message = f"--bootstrap-server: {server!r} is not HOST:PORT"
        raise WrongUseError(message)
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        return f"{server}: {error}"
    return None


def check_topic(place: Place, topic: str, where: Path) -> None:
    """
    Check that the topic of the user exists. The tool would wait for the topic at every record.

    Raises:
        WrongUseError: the topic does not exist.

    """
    if topic and not place.has_topic(topic):
        message = f"{where}: [load] topic = {topic!r} does not exist: create it, or remove the key"
        raise WrongUseError(message)
