"""Render the configuration files of a lab from `lab/templates`."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lab.layout import Broker, Lab

# UTC timestamps with nanoseconds, then System.nanoTime (%N), which is comparable across JVMs on one host.
LOG_LAYOUT = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX}{UTC} %N %p %m (%c)%n"

EXPORTER_DEFAULT_RULES = "{}\n"
"""Exports every MBean with default names. A lab's exporters use it except during scenario `throttle`."""

EXPORTER_REPLICATION_RULES = """\
# Used during a scenario: default names and labels, restricted to these MBeans.
includeObjectNames:
  - "kafka.server:type=LeaderReplication"
  - "kafka.server:type=FollowerReplication"
  - "kafka.server:type=BrokerTopicMetrics,*"
  - "kafka.server:type=ReplicaManager,*"
  - "kafka.server:type=ReplicaFetcherManager,*"
  - "kafka.server:type=FetcherLagMetrics,*"
  - "kafka.server:type=FetcherStats,*"
  - "kafka.log:type=Log,*"
  - "kafka.network:type=RequestMetrics,name=TotalTimeMs,*"
  - "kafka.network:type=RequestMetrics,name=RemoteTimeMs,*"
  - "java.lang:type=Runtime"
"""

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    autoescape=False,  # noqa: S701 (renders properties, TOML and XML, never HTML)
    keep_trailing_newline=True,
    trim_blocks=False,
)


def _render(template: str, **values: object) -> str:
    return _TEMPLATES.get_template(template).render(**values)


def server_properties(lab: Lab, broker: Broker) -> str:
    """Return the settings of one observed broker. Its listeners for other brokers advertise the proxies."""
    proxied = {link.follower: link.listen_port for link in lab.links if link.leader == broker.id}
    return _render(
        "server.properties.j2",
        broker=broker,
        advertised={f: proxied.get(f, port) for f, port in broker.peer_ports.items()},
        for_clients=next(link.listen_port for link in lab.client_links if link.leader == broker.id),
        voters=",".join(f"{b.id}@127.0.0.1:{b.controller_port}" for b in lab.brokers),
        data=lab.state / f"broker-{broker.id}" / "data",
        replication_factor=min(3, len(lab.brokers)),
    )


def telemetry_properties(lab: Lab) -> str:
    """Return the settings of the telemetry broker, a separate cluster."""
    return _render(
        "telemetry.properties.j2",
        client_port=lab.telemetry_port,
        controller_port=lab.telemetry_controller_port,
        data=lab.state / "telemetry" / "data",
        max_message_bytes=MAX_MESSAGE_BYTES,
    )


def write_secured(home: Path, **values: object) -> None:
    """Write the configuration of a broker with three secured listeners."""
    text = _render("secured.properties.j2", max_message_bytes=MAX_MESSAGE_BYTES, data=home / "data", **values)
    _write(home / "server.properties", text)
    _write(home / "log4j2.xml", log4j2(home / "logs", request_log=False, client_log=False))


def log4j2(logs: Path, *, request_log: bool, client_log: bool) -> str:
    """Return the log4j2 configuration of a broker: 20 rotated files of 256 MB, `NAME.log.1` and up."""
    return _render(
        "log4j2.xml.j2", logs=logs, layout=LOG_LAYOUT, request_log=request_log, client_log=client_log
    )


def client_log4j2(log: Path) -> str:
    """Return the log4j2 configuration of a client that logs each request and each response."""
    return _render("client-log4j2.xml.j2", log=log, layout=LOG_LAYOUT)


def lab_toml(lab: Lab) -> str:
    """Return the settings overlay for the collectors and jobs that read this lab."""
    parent = lab.state.parent
    return _render(
        "lab.toml.j2",
        telemetry_bootstrap=lab.telemetry_bootstrap_servers,
        cluster=lab.cluster,
        collector_state=str(parent / "collector"),
        meta_properties=str(lab.state / f"broker-{lab.brokers[0].id}" / "data" / "meta.properties"),
        brokers=lab.brokers,
        warehouse=str(parent / "warehouse"),
        checkpoints=str(parent / "checkpoints"),
    )


def write_all(lab: Lab) -> None:
    """Write the configuration files of every broker, and the settings overlay."""
    for broker in lab.brokers:
        home = lab.state / f"broker-{broker.id}"
        _write(home / "server.properties", server_properties(lab, broker))
        logging = log4j2(Path(broker.logs), request_log=lab.request_log, client_log=lab.client_log)
        _write(home / "log4j2.xml", logging)
        write_exporter_rules(lab, broker, EXPORTER_DEFAULT_RULES)
    home = lab.state / "telemetry"
    _write(home / "server.properties", telemetry_properties(lab))
    _write(home / "log4j2.xml", log4j2(home / "logs", request_log=False, client_log=False))
    _write(lab.settings_file, lab_toml(lab))


def write_exporter_rules(lab: Lab, broker: Broker, text: str) -> None:
    """Write the rules of a broker's exporter. A running exporter reloads them at its next scrape."""
    _write(lab.state / f"broker-{broker.id}" / "exporter.yaml", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
