"""Build and run the command lines of brokers and Kafka tools, from the jars in `.jars`."""

import base64
import shutil
import subprocess
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

import conf.java
from lab.errors import LabError
from lab.layout import Broker, Lab

TOOL_TIMEOUT_S = 120

# As in kafka-run-class.sh. None of them changes the behaviour of a warm broker.
_BROKER_OPTIONS = (
    "-server",
    "-Xms256m",
    "-Xmx512m",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
# A tool runs for seconds. The C1 compiler is enough and leaves the cores to the brokers.
TOOL_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx256m",
    "-Duser.language=en",
    "-Duser.country=US",
)


def java() -> str:
    """
    Return the path of the java program.

    Raises:
        LabError: there is no Java.

    """
    try:
        return conf.java.java()
    except FileNotFoundError as error:
        raise LabError(str(error)) from error


def class_path(version: str | None = None) -> str:
    """
    Return the class path of a Kafka release; None is the release of `.jars/kafka`.

    Raises:
        LabError: the jars of the release are missing.

    """
    try:
        return conf.java.class_path(version)
    except FileNotFoundError as error:
        raise LabError(str(error)) from error


def tool(
    main_class: str,
    *arguments: str,
    options: tuple[str, ...] = TOOL_OPTIONS,
    version: str | None = None,
) -> list[str]:
    """Return the command line of a Kafka tool."""
    return [java(), *options, "-cp", class_path(version), main_class, *arguments]


def _broker(home: Path, logs: Path, agent: tuple[str, ...] = (), version: str | None = None) -> list[str]:
    return [
        java(),
        *_BROKER_OPTIONS,
        *agent,
        f"-Dkafka.logs.dir={logs}",
        f"-Dlog4j2.configurationFile={home / 'log4j2.xml'}",
        "-cp",
        class_path(version),
        "kafka.Kafka",
        str(home / "server.properties"),
    ]


def observed_broker(lab: Lab, broker: Broker) -> list[str]:
    """
    Return the command line of one observed broker, with the JMX exporter's agent.

    Raises:
        LabError: the jar of the JMX exporter's agent is missing.

    """
    home = lab.state / f"broker-{broker.id}"
    agents = sorted((conf.java.JARS / "agent").glob("jmx_prometheus_javaagent-*.jar"))
    if not agents:
        message = f"no JMX exporter agent in {conf.java.JARS / 'agent'}: run `make setup`"
        raise LabError(message)
    agent = f"-javaagent:{agents[-1]}=127.0.0.1:{broker.exporter_port}:{home / 'exporter.yaml'}"
    return _broker(home, Path(broker.logs), (agent,), lab.kafka_version)


def telemetry_broker(lab: Lab) -> list[str]:
    """Return the command line of the telemetry broker, whose release never changes: it keeps its data."""
    home = lab.state / "telemetry"
    return _broker(home, home / "logs")


def secured_broker(home: Path, options: Sequence[str]) -> list[str]:
    """Return the command line of a broker in `home`, with more options of its JVM."""
    return _broker(home, home / "logs", tuple(options))


def format_secured(home: Path, scram: Iterable[str]) -> None:
    """Format the data folder of a broker in `home`, with SCRAM credentials as StorageTool describes them."""
    _format(home, _kafka_uuid(), None, *(word for one in scram for word in ("--add-scram", one)))


def format_storage(lab: Lab) -> None:
    """
    Format the data folders of all brokers. Keep the telemetry broker's if it is formatted already.

    Kafka's StorageTool runs once for a release, which saves JVM starts. The feature levels that it writes
    (`bootstrap.checkpoint`; since 4.4 a snapshot in `__cluster_metadata-0`) are the same for every node of a
    release. The other nodes get a copy with new ids.
    """
    first, *others = [lab.state / f"broker-{broker.id}" for broker in lab.brokers]
    # Its warehouse outlives the brokers, and there a name belongs to one Kafka cluster.
    cluster_id = _kafka_uuid(uuid.uuid5(uuid.NAMESPACE_URL, lab.state.as_uri()))
    _format(first, cluster_id, lab.kafka_version)
    for broker, home in zip(lab.brokers[1:], others, strict=True):
        _copy_format(first / "data", home / "data", node_id=broker.id, cluster_id=cluster_id)
    telemetry = lab.state / "telemetry"
    if (telemetry / "data" / "meta.properties").exists():
        return
    if lab.kafka_version is None:
        _copy_format(first / "data", telemetry / "data", node_id=1, cluster_id=_kafka_uuid())
    else:
        _format(telemetry, _kafka_uuid(), None)


def _format(home: Path, cluster_id: str, version: str | None, *more: str) -> None:
    words = ("format", "-t", cluster_id, "-c", str(home / "server.properties"), *more)
    run_tool(tool("kafka.tools.StorageTool", *words, version=version))


def _copy_format(formatted: Path, data: Path, *, node_id: int, cluster_id: str) -> None:
    shutil.copytree(formatted, data)
    names = {"version": 1, "node.id": node_id, "directory.id": _kafka_uuid(), "cluster.id": cluster_id}
    (data / "meta.properties").write_text("".join(f"{key}={value}\n" for key, value in names.items()))


def _kafka_uuid(made: uuid.UUID | None = None) -> str:
    """Return an id in Kafka's format, by default a random one. Like Kafka's, it never begins with a dash."""
    return "A" + base64.urlsafe_b64encode((made or uuid.uuid4()).bytes).decode().rstrip("=")[1:]


def run_tool(command: list[str]) -> str:
    """
    Run a tool to its end and return its stdout.

    Raises:
        LabError: the tool failed; the message quotes its output.

    """
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, check=False)
    if done.returncode:
        name = next(
            (part for part in command if part.startswith(("kafka.", "org.apache.kafka."))), command[0]
        )
        message = (
            f"{name} failed with exit code {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
        raise LabError(message)
    return done.stdout


def set_logger(bootstrap_servers: str, broker_id: int, logger: str, level: str) -> None:
    """Set the level of one logger of a running broker. librdkafka has no BROKER_LOGGER resource."""
    run_tool(
        tool(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", bootstrap_servers, "--entity-type", "broker-loggers"),
            *("--entity-name", str(broker_id), "--alter", "--add-config", f"{logger}={level}"),
        )
    )
