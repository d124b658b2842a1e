"""The brokers, links, ports and processes of a lab: the contents of `lab.json`."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from conf.atomic_file import write_atomically
from lab.errors import LabError

CLUSTER = "lab"
LOAD_TOPIC = "lab-load"
LOAD_PREFIX = "load-"
CLIENTS = 0
"""The `follower` of the links for clients. No broker has this id."""
DEFAULT_STATE = Path(".state/lab")
RACKS = ("east-1a", "east-1b", "east-1c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """
    One observed broker. `peer_ports` maps each follower's id to this broker's listener for it.

    Clients connect to `client_port` directly, or to `proxied_port` through a proxy.
    """

    id: int
    client_port: int
    proxied_port: int
    controller_port: int
    exporter_port: int
    peer_ports: dict[int, int]
    logs: str

    @property
    def rack(self) -> str:
        """The rack; neighbouring ids are in different racks."""
        return RACKS[(self.id - 1) % len(RACKS)]

    @property
    def exporter_url(self) -> str:
        """The URL of the broker's JMX exporter."""
        return f"http://127.0.0.1:{self.exporter_port}/metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One ordered pair: the follower connects to `listen_port`, the proxy to `target_port` of the leader."""

    follower: int
    leader: int
    listen_port: int
    target_port: int


@dataclass(slots=True, kw_only=True)
class Lab:
    """
    A lab and its processes: name -> pid and create time (epoch seconds).

    `kafka_version` is the release of the observed brokers; None is the release of `.jars/kafka`.
    """

    state: Path
    brokers: list[Broker]
    links: list[Link]
    client_links: list[Link]
    telemetry_port: int
    telemetry_controller_port: int
    control_port: int
    telemetry_partitions: int = 2
    request_log: bool = True
    client_log: bool = True
    kafka_version: str | None = None
    cluster: str = CLUSTER
    status: str = "starting"
    started_at: str = ""
    processes: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def bootstrap_servers(self) -> str:
        """The observed cluster, without proxies."""
        return ",".join(f"127.0.0.1:{broker.client_port}" for broker in self.brokers)

    @property
    def proxied_bootstrap_servers(self) -> str:
        """The observed cluster, through the proxies for clients."""
        return ",".join(f"127.0.0.1:{link.listen_port}" for link in self.client_links)

    @property
    def telemetry_bootstrap_servers(self) -> str:
        """The telemetry broker."""
        return f"127.0.0.1:{self.telemetry_port}"

    @property
    def required_processes(self) -> dict[str, dict[str, float]]:
        """The processes that a running lab needs: all but the loads."""
        return {name: record for name, record in self.processes.items() if not name.startswith(LOAD_PREFIX)}

    @property
    def broker_ids(self) -> list[int]:
        """The ids of the observed brokers, ascending."""
        return [broker.id for broker in self.brokers]

    @property
    def settings_file(self) -> Path:
        """The settings overlay with which the pipeline reads this lab."""
        return self.state / "lab.toml"

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Return every ordered pair (follower, leader)."""
        return ((link.follower, link.leader) for link in self.links)

    def save(self) -> None:
        """Write `lab.json` atomically. It also has derived values, for readers other than this class."""
        derived = {
            "state": str(self.state),
            "bootstrap_servers": self.bootstrap_servers,
            "telemetry_bootstrap_servers": self.telemetry_bootstrap_servers,
            "proxy_control": f"127.0.0.1:{self.control_port}",
            "exporter_urls": {f"broker-{broker.id}": broker.exporter_url for broker in self.brokers},
            "settings_file": str(self.settings_file),
        }
        write_atomically(self.state / "lab.json", json.dumps(asdict(self) | derived, indent=2) + "\n")

    @classmethod
    def load(cls, state: Path) -> "Lab":
        """
        Read the lab of a state folder.

        Raises:
            LabError: there is no lab, or its file is damaged.

        """
        path = state.resolve() / "lab.json"
        if not path.exists():
            message = f"there is no lab in {state}: start one with `plumbline lab start --state {state}`"
            raise LabError(message)
        try:
            document = json.loads(path.read_text())
            brokers = [_broker(row) for row in document["brokers"]]
            links, client_links = (
                [Link(**row) for row in document[name]] for name in ("links", "client_links")
            )
            plain = {name: document[name] for name in _PLAIN}
            # A lab that an earlier version of this program started has no release of its own.
            plain["kafka_version"] = document.get("kafka_version")
            return cls(state=path.parent, brokers=brokers, links=links, client_links=client_links, **plain)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{path} cannot be read ({error!r}): stop the processes that it lists, then delete it"
            raise LabError(message) from error


_PLAIN = (
    "telemetry_port",
    "telemetry_controller_port",
    "control_port",
    "telemetry_partitions",
    "request_log",
    "client_log",
    "cluster",
    "status",
    "started_at",
    "processes",
)


def _broker(row: dict[str, object]) -> Broker:
    ports = row.pop("peer_ports")
    return Broker(**row, peer_ports={int(k): v for k, v in ports.items()})  # type: ignore[arg-type,attr-defined]


def lay_out(state: Path, brokers: int, ports: Iterator[int]) -> Lab:
    """Return a new lab with a port for every listener, exporter and proxy."""
    ids = range(1, brokers + 1)
    made = [
        Broker(
            id=broker_id,
            client_port=next(ports),
            proxied_port=next(ports),
            controller_port=next(ports),
            exporter_port=next(ports),
            peer_ports={follower: next(ports) for follower in ids},
            logs=str(state / "logs" / f"broker-{broker_id}"),
        )
        for broker_id in ids
    ]
    links = [
        Link(follower=f, leader=leader.id, listen_port=next(ports), target_port=leader.peer_ports[f])
        for leader in made
        for f in ids
        if f != leader.id
    ]
    client_links = [
        Link(follower=CLIENTS, leader=broker.id, listen_port=next(ports), target_port=broker.proxied_port)
        for broker in made
    ]
    return Lab(
        state=state,
        brokers=made,
        links=links,
        client_links=client_links,
        telemetry_port=next(ports),
        telemetry_controller_port=next(ports),
        control_port=next(ports),
    )
