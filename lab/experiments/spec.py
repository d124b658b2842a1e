"""Parse the TOML file of an experiment. An error names the file and the key."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PositiveInt

from collectors.perf_test.run import SECRET
from conf.documents import checked, read_toml

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,249}$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]

RESERVED_SETTINGS = {
    "bootstrap.servers": "--state or --bootstrap-server sets the cluster",
    "client.id": "it is the name of the experiment and the arm",
}
"""Producer settings that an arm cannot set, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec:
    """What each run produces. `partitions` and `replication_factor` are for new topics."""

    records_per_s: Positive
    record_size_bytes: PositiveInt = 512
    topic: Topic = ""  # an existing topic; empty: a new topic for each block
    partitions: PositiveInt = 3
    replication_factor: PositiveInt = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHold:
    """Section [lab]: the proxies hold each response of a broker, one after another."""

    broker: int = 0
    hold_ms: NotNegative = 0.0

    def __post_init__(self) -> None:
        """
        Check that the fields go together.

        Raises:
            ValueError: one of them is missing.

        """
        if bool(self.broker) is not bool(self.hold_ms):
            message = "broker and hold_ms go together: set both or none"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One configuration to compare: a client release and producer settings."""

    name: Name
    client_version: str = ""  # empty: the release of the brokers
    properties: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """
        Check the names of the producer settings.

        Raises:
            ValueError: an arm cannot set one of them.

        """
        for key in self.properties:
            if key in RESERVED_SETTINGS:
                message = f"arm {self.name}: {key} cannot be set: {RESERVED_SETTINGS[key]}"
                raise ValueError(message)
            if SECRET.match(f"{key}="):
                message = f"arm {self.name}: {key} is a secret: put it in the --properties file"
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment: blocks of runs, each arm once per block."""

    name: Name
    repeats: PositiveInt
    for_s: Positive
    load: LoadSpec
    arms: Annotated[tuple[Arm, ...], Field(min_length=2)]
    seed: int = 1
    warm_up_s: NotNegative = 0.0
    cool_down_s: NotNegative = 0.0
    lab: ResponseHold | None = None

    def __post_init__(self) -> None:
        """
        Check that the arms have different names.

        Raises:
            ValueError: two arms have the same name.

        """
        names = [arm.name for arm in self.arms]
        if twice := [name for name in names if names.count(name) > 1]:
            message = f"[[arms]]: {twice[0]!r} is listed twice"
            raise ValueError(message)


def read(path: Path) -> Experiment:
    """
    Read the file of an experiment.

    Raises:
        WrongUseError: the file does not exist, is not TOML, or has a wrong key or value.

    """
    document = read_toml(path)
    arms = document.get("arms")
    for arm in arms if isinstance(arms, list) else ():
        if isinstance(arm, dict) and isinstance(arm.get("properties"), dict):
            arm["properties"] = _properties(arm["properties"])
    return checked(Experiment, document, path)


def _properties(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return settings with Kafka's names. In TOML an unquoted `linger.ms` is key `ms` of table `linger`."""
    rows: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            rows |= _properties(value, f"{name}.")
        elif isinstance(value, bool):
            rows[name] = str(value).lower()
        else:
            rows[name] = str(value) if isinstance(value, int | float) else value
    return rows
