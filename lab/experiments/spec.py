"""Parse the TOML file of an experiment. An error names the file and the key."""

import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_type_hints

from collectors.perf_test.run import SECRET
from lab.experiments.errors import ExperimentConfigError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
RESERVED_SETTINGS = {
    "bootstrap.servers": "--state or --bootstrap-server sets the cluster",
    "client.id": "it is the name of the experiment and the arm",
}
"""Producer settings that an arm cannot set, with the reason."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec:
    """What each run produces. `partitions` and `replication_factor` are for new topics."""

    records_per_s: float
    record_size_bytes: int = 512
    topic: str = ""  # an existing topic; empty: a new topic for each block
    partitions: int = 3
    replication_factor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHold:
    """Section [lab]: the proxies hold each response of a broker, one after another."""

    broker: int = 0
    hold_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One configuration to compare: a client release and producer settings."""

    name: str
    client_version: str = ""  # empty: the release of the brokers
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment: blocks of runs, each arm once per block."""

    name: str
    repeats: int
    for_s: float
    load: LoadSpec
    arms: tuple[Arm, ...]
    seed: int = 1
    warm_up_s: float = 0.0
    cool_down_s: float = 0.0
    lab: ResponseHold | None = None


def read(path: Path) -> Experiment:
    """
    Read the file of an experiment.

    Raises:
        ExperimentConfigError: the file does not exist, is not TOML, or has a wrong key or value.

    """
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read: {error}"
        raise ExperimentConfigError(message) from error
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: not valid TOML: {error}"
        raise ExperimentConfigError(message) from error
    experiment = _made(Experiment, document, f"{path}:")
    _check(experiment, f"{path}:")
    return experiment


def _made(kind: type[T], section: Any, where: str) -> T:  # noqa: ANN401 (any TOML value)
    if not isinstance(section, dict):
        message = f"{where} {section!r} is not a section of keys and values"
        raise ExperimentConfigError(message)
    types, known = get_type_hints(kind), {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(section) - set(known)):
        message = f"{where} unknown key {unknown[0]!r}; known keys: {', '.join(sorted(known))}"
        raise ExperimentConfigError(message)
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    if missing := [name for name in needed if name not in section]:
        message = f"{where} {missing[0]} is missing: see the complete file in docs/experiments.md"
        raise ExperimentConfigError(message)
    return kind(**{name: _value(types[name], value, where, name) for name, value in section.items()})


def _value(kind: Any, value: Any, where: str, name: str) -> Any:  # noqa: ANN401 (any TOML value)
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]
    if kind in (LoadSpec, ResponseHold):
        return _made(kind, value, f"{where} [{name}]")
    if kind == tuple[Arm, ...]:
        if not isinstance(value, list):
            message = f"{where} {name} = {value!r} is not a list of [[{name}]] sections"
            raise ExperimentConfigError(message)
        return tuple(_made(Arm, row, f"{where} [[{name}]] {nth}:") for nth, row in enumerate(value, 1))
    if kind == dict[str, str]:
        if not isinstance(value, dict):
            message = f'{where} {name} = {value!r} is not a table, for example {{"linger.ms" = 5}}'
            raise ExperimentConfigError(message)
        return dict(_properties(value, "", f"{where} {name}"))
    expected = (int, float) if kind is float else kind
    if isinstance(value, bool) or not isinstance(value, expected):
        message = f"{where} {name} = {value!r} is not of type {kind.__name__}"
        raise ExperimentConfigError(message)
    return kind(value)


def _properties(table: dict[str, Any], prefix: str, where: str) -> list[tuple[str, str]]:
    """Return settings with Kafka's names. In TOML an unquoted `linger.ms` is key `ms` of table `linger`."""
    rows: list[tuple[str, str]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            rows += _properties(value, f"{name}.", where)
        elif isinstance(value, bool | int | float | str):
            rows.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
        else:
            message = f"{where} {name} = {value!r} is not a string, a number or a boolean"
            raise ExperimentConfigError(message)
    return rows


def _check(experiment: Experiment, where: str) -> None:
    arms = [arm.name for arm in experiment.arms]
    wrong = [
        *(
            f"name = {name!r}: only letters, digits, . _ - are allowed"
            for name in (experiment.name, *arms)
            if not _is_name(name)
        ),
        *(["[[arms]]: at least two are required"] if len(arms) < 2 else []),  # noqa: PLR2004 (a comparison needs two)
        *(f"[[arms]]: {name!r} is listed twice" for name in sorted(set(arms)) if arms.count(name) > 1),
        *_out_of_range(experiment),
        *(
            [f"[load] topic = {experiment.load.topic!r} is not a valid topic name"]
            if experiment.load.topic and not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", experiment.load.topic)
            else []
        ),
        *(error for arm in experiment.arms for error in _setting_errors(arm)),
    ]
    if experiment.lab and bool(experiment.lab.broker) is not bool(experiment.lab.hold_ms):
        wrong.append("[lab]: broker and hold_ms go together: set both or none")
    if wrong:
        message = f"{where} {wrong[0]}"
        raise ExperimentConfigError(message)


def _is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None


def _out_of_range(experiment: Experiment) -> list[str]:
    load, lab = experiment.load, experiment.lab or ResponseHold()
    above_zero = {
        "repeats": experiment.repeats,
        "for_s": experiment.for_s,
        "[load] records_per_s": load.records_per_s,
        "[load] record_size_bytes": load.record_size_bytes,
        "[load] partitions": load.partitions,
        "[load] replication_factor": load.replication_factor,
    }
    from_zero = {
        "warm_up_s": experiment.warm_up_s,
        "cool_down_s": experiment.cool_down_s,
        "[lab] hold_ms": lab.hold_ms,
    }
    return [
        *(
            f"{name} = {value:g} is not a number above 0"
            for name, value in above_zero.items()
            if not 0 < value < inf
        ),
        *(
            f"{name} = {value:g} is not a number of 0 or more"
            for name, value in from_zero.items()
            if not 0 <= value < inf
        ),
    ]


def _setting_errors(arm: Arm) -> list[str]:
    secrets = [key for key in arm.properties if SECRET.match(f"{key}=")]
    return [
        *(
            f"arm {arm.name}: {key} cannot be set: {why}"
            for key, why in RESERVED_SETTINGS.items()
            if key in arm.properties
        ),
        *(f"arm {arm.name}: {key} is a secret: put it in the --properties file" for key in secrets),
    ]
