"""Typed settings: one TOML file per deployment, read once in `main`."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from conf.documents import checked, read_toml
from conf.exit_codes import WrongUseError
from conf.export import Export
from conf.kafka_security import KafkaSecurity, take_former

PROJECT = Path(__file__).resolve().parent.parent
BASE = PROJECT / "conf" / "base.toml"

KEY_CHARS = 32
USER_INFO = re.compile(r"(?:[^:/?#]*://)?[^/?#]*@")  # `urlsplit` shows the password in some of its errors

FORMER_LOGINS = (
    ("telemetry", "client_options", "security"),
    ("collector", "cluster_client_options", "cluster_security"),
)
"""The sections with logins of Kafka clients: where they were until version 0.1, and where they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """The Kafka cluster that carries the telemetry, never the observed cluster."""

    bootstrap_servers: str = "127.0.0.1:9092"
    topic_prefix: str = "telemetry."
    own_client_prefix: str = "plumbline-"
    security: KafkaSecurity = field(default_factory=KafkaSecurity)
    own_principals: tuple[str, ...] = ()  # of Plumbline's clients; empty: see `Settings.own_principals`
    client_options: dict[str, str] = field(default_factory=dict)  # more options of librdkafka, its names


@dataclass(frozen=True, slots=True, kw_only=True)
class TailedFile:
    """One log that a collector follows; `path` may be a glob that matches the rotated files of the log."""

    path: str
    kind: Literal["request-log", "client-log", "state-change"]  # names the topic and the parser
    node: str
    follow_links: bool = False  # also symlinks that lead out of the log's folder

    def __post_init__(self) -> None:
        """
        Check that the node of a request log ends in its broker's id: otherwise each line goes to quarantine.

        Raises:
            ValueError: it does not.

        """
        if self.kind == "request-log" and not self.node[-1:].isdecimal():
            message = f"node = {self.node!r}: must end in the broker's id, as in broker-1"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapedEndpoint:
    """One JMX exporter that a collector scrapes."""

    url: str
    node: str
    ca_file: str = ""  # "": trust the system's certificate authorities
    bearer_token_file: str = ""

    def __post_init__(self) -> None:
        """
        Check that the URL has no user info, which would be in the log.

        Raises:
            ValueError: it has; the message does not show it.

        """
        if USER_INFO.match(self.url):
            message = "url has a password: it belongs in a file; only bearer_token_file is supported"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """The inputs of one collector and the folder where it stores its positions."""

    cluster: str = ""  # name of the observed cluster; what publishes telemetry needs it
    meta_properties: str = ""  # of a broker here: has Kafka's id of the cluster; empty: only polls name it
    time_zone: str = "UTC"
    state: str = ".state/collector"
    files: tuple[TailedFile, ...] = ()
    endpoints: tuple[ScrapedEndpoint, ...] = ()
    scrape_interval_s: float = 10.0
    cluster_bootstrap_servers: str = ""  # observed cluster, polled for throttles; empty: no poll
    cluster_security: KafkaSecurity = field(
        default_factory=KafkaSecurity
    )  # also sample, perf-test, experiment
    cluster_client_options: dict[str, str] = field(default_factory=dict)  # more options of librdkafka
    cluster_poll_interval_s: float = 30.0
    poll_interval_s: float = 0.2
    metrics_port: int = 0  # 0: the system picks a free port


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """How to read an existing Prometheus; secrets are in separate files, not in the settings."""

    node_label: str = "instance"  # the label whose value identifies the node
    nodes: dict[str, str] = field(default_factory=dict)  # value pattern = node; default: value without port
    drop_labels: tuple[str, ...] = ("job", "instance")  # labels that the server added
    username: str = ""
    password_file: str = ""
    bearer_token_file: str = ""
    headers: dict[str, str] = field(default_factory=dict)  # for example X-Scope-OrgID, the tenant
    ca_file: str = ""  # "": trust the system's certificate authorities
    cert_file: str = ""
    key_file: str = ""
    timeout_s: float = 120.0
    retries: int = 5
    max_answer_mib: int = 64  # uncompressed; a response needs about six times as much memory


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseSettings:
    """The folders of the Delta tables and of the streams' checkpoints."""

    root: str = ".state/warehouse"
    checkpoints: str = ".state/checkpoints"

    def __post_init__(self) -> None:
        """
        Check that both are folders: `Path` would turn a URL into a local folder of that name.

        Raises:
            ValueError: one is a URL.

        """
        for name, folder in (("root", self.root), ("checkpoints", self.checkpoints)):
            if "://" in folder:
                message = (
                    f"{name} = {folder!r}: must be a folder that driver and executors mount; "
                    "an object store has neither the locks nor the renames that the writers rely on: "
                    "docs/spark-cluster.md"
                )
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """The streams from the telemetry topics into bronze and silver."""

    trigger: str = "1 second"  # how often to check whether a batch is due
    min_offsets_per_trigger: int = 1_000  # a batch is due when this many lines are unread
    max_trigger_delay_s: int = 10  # or when the last batch began this long ago
    max_offsets_per_trigger: int = 200_000
    max_scrapes_per_trigger: int = 60  # a scrape has 10,000 samples and more
    max_scrape_bytes: int = 32 * 1024 * 1024  # uncompressed; a task holds several copies of a page
    max_scrape_samples: int = 500_000
    max_sample_labels: int = 64
    max_label_chars: int = 4_096  # per label name and per label value
    metrics_port: int = 0
    lease_timeout_s: float = 5.0
    max_ahead_s: int = 3_600  # of a line's instant after its Kafka timestamp; more is a wrong clock
    pseudonym_key_file: str = ""  # if set, silver and gold hash client ids and principals
    follower_listeners: tuple[str, ...] = ()  # inter-broker listeners; empty: learnt (`silver.listeners`)
    controller_listeners: tuple[str, ...] = ()  # empty: any that serves no client (learnt)
    follower_principals: tuple[str, ...] = ()  # of brokers and controllers, "User:broker"; empty: any


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildGold:
    """The stream from silver to gold."""

    trigger: str = "5 seconds"  # a 10 s window is then built five times, with client logs seven
    max_files_per_trigger: int = 1_000
    max_bytes_per_trigger: str = "16m"  # per input table, compressed; splits a backlog
    lease_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The rules between the layers."""

    suites: str = "conf/expectations"  # relative to the project's folder
    lease_timeout_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintain:
    """Retention and file sizes of `plumbline maintain`; 0 days: keep forever."""

    bronze_days: int = 7
    silver_days: int = 30
    gold_days: int = 0
    target_file_mib: int = 128
    compact_from_files: int = 1_000  # small files of today, or of a table without a date partition
    vacuum_retention_hours: int = 48  # longer than a report reads back; a stopped stream extends it
    lease_timeout_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """Options of a Spark session that `spark-submit` has not created."""

    master: str = "local[2]"
    driver_memory: str = "2g"
    shuffle_partitions: int = 2
    jars: str = ".jars/spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of Plumbline."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    collector: Collector = field(default_factory=Collector)
    prometheus: Prometheus = field(default_factory=Prometheus)
    warehouse: WarehouseSettings = field(default_factory=WarehouseSettings)
    ingest: Ingest = field(default_factory=Ingest)
    build_gold: BuildGold = field(default_factory=BuildGold)
    quality: Quality = field(default_factory=Quality)
    maintain: Maintain = field(default_factory=Maintain)
    export: Export = field(default_factory=Export)
    spark: Spark = field(default_factory=Spark)

    @classmethod
    def load(cls, *paths: Path) -> "Settings":
        """
        Return `conf/base.toml` overlaid with the TOML files; for each key the last file wins.

        Raises:
            WrongUseError: a key or value is wrong, or a file is not TOML; the message names file and key.

        """
        settings, merged = cls(), dict[str, Any]()
        for path in (BASE, *paths):
            document = read_toml(path)
            _drop_former(document, path)
            for name, section in document.items():
                is_section = isinstance(section, dict) and name in merged
                merged[name] = merged[name] | section if is_section else section
            settings = checked(cls, merged, path)
        return settings

    @property
    def warehouse_root(self) -> Path:
        """The warehouse folder, resolved against the working directory."""
        return Path(self.warehouse.root).resolve()

    @property
    def own_principals(self) -> tuple[str, ...]:
        """
        The principals of Plumbline's own clients: the setting, else those of its two logins.

        A login without authentication is `User:ANONYMOUS`. With certificates and OAUTHBEARER only the broker
        knows it.
        """
        logins = (self.telemetry.security, self.collector.cluster_security)
        known = dict.fromkeys(name for each in logins if (name := each.principal))
        return self.telemetry.own_principals or tuple(known)

    def check_cluster(self, *paths: Path) -> None:
        """
        Check that the observed cluster has a name, as what publishes telemetry needs it.

        Raises:
            WrongUseError: it has none; the message names the setting and the file to set it in.

        """
        if not self.collector.cluster.strip():
            file = paths[-1] if paths else "a --conf file"
            message = (
                f"{file}: [collector] cluster is not set: name the observed Kafka cluster, for example "
                'cluster = "payments". An earlier version used "lab": with a warehouse of such telemetry, '
                'set cluster = "lab"'
            )
            raise WrongUseError(message)

    @property
    def pseudonym_key(self) -> str:
        """
        The key for hashes of names, read once per process; empty: names are not hashed.

        Raises:
            WrongUseError: the file cannot be read, or is too short to keep anything secret.

        """
        return read_key(self.ingest.pseudonym_key_file)


@cache
def read_key(file: str) -> str:
    """
    Return the key in a file, read once per process; empty without a file.

    Raises:
        WrongUseError: the file cannot be read, or is too short to keep anything secret.

    """
    if not file:
        return ""
    try:
        key = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"[ingest] pseudonym_key_file = {file!r} cannot be read: {error}"
        raise WrongUseError(message) from error
    if len(key) < KEY_CHARS:
        message = (
            f"[ingest] pseudonym_key_file = {file!r} has {len(key)} characters, but needs {KEY_CHARS}: "
            "create a key with `openssl rand -hex 32`"
        )
        raise WrongUseError(message)
    return key


def _drop_former(document: dict[str, Any], path: Path) -> None:
    """
    Remove former settings, which are accepted for one more version.

    `committer` must be `delta-rs`. The triggers of former gold streams have no effect: `trigger` is for all.
    The login of Kafka clients was in `client_options`, with its password.
    """
    for section, options, security in FORMER_LOGINS:
        table = document.get(section)
        former = table.get(options) if isinstance(table, dict) else None
        if isinstance(table, dict) and isinstance(former, dict) and (login := take_former(former)):
            table[security] = login | table.get(security, {})
    gold = document.get("build_gold")
    if isinstance(gold, dict):
        for name in ("clients_trigger", "metrics_trigger", "throttles_trigger"):
            gold.pop(name, None)
    warehouse = document.get("warehouse")
    committer = warehouse.pop("committer", "delta-rs") if isinstance(warehouse, dict) else "delta-rs"
    if committer != "delta-rs":
        message = f"{path}: [warehouse] committer = {committer!r} is not supported any more: remove the line"
        raise WrongUseError(message)
