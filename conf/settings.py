"""Typed settings: one TOML file a deployment, read once at the edge of a program."""

import tomllib
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from conf.export import Export

PROJECT = Path(__file__).resolve().parent.parent
BASE = PROJECT / "conf" / "base.toml"

KEY_CHARS = 32

S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """The Kafka cluster that carries the telemetry, never the one that is observed."""

    bootstrap_servers: str = "127.0.0.1:9092"
    topic_prefix: str = "telemetry."
    own_client_prefix: str = "plumbline-"
    client_options: dict[str, str] = field(default_factory=dict)  # TLS and SASL, in librdkafka's words


@dataclass(frozen=True, slots=True, kw_only=True)
class TailedFile:
    """One log a collector follows; `path` may hold a glob for the rotated files of the same log."""

    path: str
    kind: str
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedEndpoint:
    """One JMX exporter a collector scrapes."""

    url: str
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """What one collector reads and where it remembers how far it got."""

    cluster: str = "lab"
    time_zone: str = "UTC"
    state: str = ".state/collector"
    files: tuple[TailedFile, ...] = ()
    endpoints: tuple[ScrapedEndpoint, ...] = ()
    scrape_interval_s: float = 10.0
    cluster_bootstrap_servers: str = ""  # observed cluster, to poll its throttles; empty: not polled
    cluster_client_options: dict[str, str] = field(default_factory=dict)  # TLS and SASL for that
    cluster_poll_interval_s: float = 30.0
    poll_interval_s: float = 0.2
    metrics_port: int = 0  # 0 asks the system for a free port


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """How an existing Prometheus is read; secrets stand in files of their own, and not here."""

    node_label: str = "instance"  # of the label whose value tells the node
    nodes: dict[str, str] = field(default_factory=dict)  # pattern of that value = node; else it less its port
    drop_labels: tuple[str, ...] = ("job", "instance")  # what the server added to what was exposed
    username: str = ""
    password_file: str = ""
    bearer_token_file: str = ""
    headers: dict[str, str] = field(default_factory=dict)  # a tenant's name: X-Scope-OrgID
    ca_file: str = ""  # "" trusts the system's authorities
    cert_file: str = ""
    key_file: str = ""
    timeout_s: float = 120.0
    retries: int = 5
    max_answer_mib: int = 64  # unpacked; about six times as much memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Warehouse:
    """Where the Delta tables and the checkpoints of the streams live."""

    root: str = ".state/warehouse"
    checkpoints: str = ".state/checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """The streams from the telemetry topics into bronze and silver."""

    trigger: str = "1 second"  # how often it is looked whether a batch is due
    min_offsets_per_trigger: int = 1_000  # with so many lines to read, a batch is due at once
    max_trigger_delay_s: int = 5  # with fewer, when the last batch began so long ago
    max_offsets_per_trigger: int = 200_000
    max_scrapes_per_trigger: int = 60  # a scrape is 10,000 samples and more
    max_scrape_bytes: int = 32 * 1024 * 1024  # unpacked; a task holds a page several times
    max_scrape_samples: int = 500_000
    max_sample_labels: int = 64
    max_label_chars: int = 4_096  # of a name or a value
    metrics_port: int = 0
    lease_timeout_s: float = 5.0
    pseudonym_key_file: str = ""  # with one, silver and gold hold hashes for client ids and principals


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildGold:
    """The stream from silver to gold."""

    trigger: str = "5 seconds"
    clients_trigger: str = "10 seconds"  # of the tables about clients: skew, redirects, lookups
    metrics_trigger: str = "10 seconds"  # of the tables made from metrics
    throttles_trigger: str = "10 seconds"  # of the tables about throttles and moves
    max_files_per_trigger: int = 1_000
    max_bytes_per_trigger: str = "16m"  # of each table read, as it lies on disk: what a backlog is cut into
    lease_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The rules between the layers."""

    suites: str = "conf/expectations"  # a relative folder is meant from the project's
    lease_timeout_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintain:
    """What `plumbline maintain` keeps and how it packs it; 0 days is for ever."""

    bronze_days: int = 7
    silver_days: int = 30
    gold_days: int = 0
    target_file_mib: int = 128
    compact_from_files: int = 1_000  # small files of the running day, or of a table without days
    vacuum_retention_hours: int = 48  # further back than a report reads; streams that stand still are asked
    lease_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """How a session is made when `spark-submit` has not made one."""

    master: str = "local[2]"
    driver_memory: str = "2g"
    shuffle_partitions: int = 2
    jars: str = ".jars/spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a program of ours can be told by a file."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    collector: Collector = field(default_factory=Collector)
    prometheus: Prometheus = field(default_factory=Prometheus)
    warehouse: Warehouse = field(default_factory=Warehouse)
    ingest: Ingest = field(default_factory=Ingest)
    build_gold: BuildGold = field(default_factory=BuildGold)
    quality: Quality = field(default_factory=Quality)
    maintain: Maintain = field(default_factory=Maintain)
    export: Export = field(default_factory=Export)
    spark: Spark = field(default_factory=Spark)

    @classmethod
    def load(cls, *paths: Path) -> "Settings":
        """
        Lay the given TOML files over `conf/base.toml`, the last one winning key by key.

        Raises:
            ValueError: a key is unknown, or a file is not TOML; the message names file, section and key.

        """
        settings = cls()
        for path in (BASE, *paths):
            try:
                told = tomllib.loads(path.read_text())
            except tomllib.TOMLDecodeError as error:
                message = f"{path}: not valid TOML: {error}"
                raise ValueError(message) from error
            _drop_committer(told, path)
            settings = _overlay(settings, told, where=str(path))
            _check_folders(settings.warehouse, path)
        return settings

    @property
    def warehouse_root(self) -> Path:
        """The warehouse folder, resolved against the working directory."""
        return Path(self.warehouse.root).resolve()

    @property
    def pseudonym_key(self) -> str:
        """
        The key that names are hashed with, read once a process; empty: they are kept as they are.

        Raises:
            ValueError: the file cannot be read, or is too short to keep anything secret.

        """
        return read_key(self.ingest.pseudonym_key_file)


@cache
def read_key(file: str) -> str:
    """
    Return the key in a file, read once a process; empty without a file.

    Raises:
        ValueError: the file cannot be read, or is too short to keep anything secret.

    """
    if not file:
        return ""
    try:
        key = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"[ingest] pseudonym_key_file = {file!r} cannot be read: {error}"
        raise ValueError(message) from error
    if len(key) < KEY_CHARS:
        message = (
            f"[ingest] pseudonym_key_file = {file!r} holds {len(key)} characters, {KEY_CHARS} are the least: "
            "`openssl rand -hex 32` makes a key"
        )
        raise ValueError(message)
    return key


def _drop_committer(document: dict[str, Any], path: Path) -> None:
    """Accept the former setting for one more version where it names the only committer that is left."""
    warehouse = document.get("warehouse")
    committer = warehouse.pop("committer", "delta-rs") if isinstance(warehouse, dict) else "delta-rs"
    if committer != "delta-rs":
        message = f"{path}: [warehouse] committer = {committer!r} is gone, delta-rs commits: remove the line"
        raise ValueError(message)


def _check_folders(warehouse: Warehouse, path: Path) -> None:
    for name, told in (("root", warehouse.root), ("checkpoints", warehouse.checkpoints)):
        if "://" in told:  # taken for a path it would be a folder of that name, on this machine alone
            message = (
                f"{path}: [warehouse] {name} = {told!r}: a folder on a file system that driver and "
                "executors mount is wanted; an object store has neither the locks nor the renames that the "
                "writers rely on: docs/spark-cluster.md"
            )
            raise ValueError(message)


ROWS: dict[str, type] = {"files": TailedFile, "endpoints": ScrapedEndpoint}


def _overlay(settings: S, told: dict[str, Any], *, where: str) -> S:
    known = {f.name: f for f in fields(settings)}  # type: ignore[arg-type]
    unknown = sorted(set(told) - set(known))
    if unknown:
        message = f"{where}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}"
        raise ValueError(message)
    changes: dict[str, Any] = {}
    for name, value in told.items():
        current = getattr(settings, name)
        here = f"{where}: [{name}]"
        if is_dataclass(current):
            if not isinstance(value, dict):
                message = f"{where}: {name} = {value!r}: a section is wanted, as in [{name}]"
                raise ValueError(message)
            changes[name] = _overlay(current, value, where=here)
        elif name in ROWS:
            if not isinstance(value, list):
                message = f"{where} {name} = {value!r}: rows are wanted, as in [[collector.{name}]]"
                raise ValueError(message)
            changes[name] = tuple(_made(ROWS[name], row, here) for row in value)
        elif isinstance(current, tuple):
            if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
                message = f'{here} {name} = {value!r}: a list is wanted, as in ["job", "instance"]'
                raise ValueError(message)
            changes[name] = tuple(value)
        else:
            changes[name] = _checked(
                value, current, f"{here} {name}" if "[" not in where else f"{where} {name}"
            )
    return replace(settings, **changes)  # type: ignore[type-var]


def _made(kind: type[S], row: Any, where: str) -> S:  # noqa: ANN401 (whatever stands in the file)
    if not isinstance(row, dict):
        message = f"{where}: {row!r} is no row of keys and values"
        raise ValueError(message)  # noqa: TRY004 (as in `_checked`)
    try:
        return kind(**row)
    except TypeError as error:
        message = f"{where}: {error}"
        raise ValueError(message) from error


def _checked(value: Any, current: Any, where: str) -> Any:  # noqa: ANN401 (settings are of several types)
    wanted = (int, float) if isinstance(current, float) else type(current)
    if isinstance(value, bool) or not isinstance(value, wanted):
        message = f"{where}: {value!r} is not of type {type(current).__name__}"
        raise ValueError(message)  # noqa: TRY004 (one error for all that is wrong with a settings file)
    return value
