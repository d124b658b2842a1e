"""An experiment as its TOML file tells it: what is wrong there is an error that names file and key."""

import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from math import inf
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_type_hints

from collectors.perf_test.run import SECRET
from lab.experiments.errors import WrongError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
OURS = {
    "bootstrap.servers": "--state or --bootstrap-server says where the load goes",
    "client.id": "it is made of the experiment's name and the arm's",
}
"""Settings of a producer that are not an arm's to choose, and who does."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What each run produces; of a topic made fresh also its shape."""

    records_per_s: float
    record_size_bytes: int = 512
    topic: str = ""  # one that is there; empty: a fresh one for each block
    partitions: int = 3
    replication_factor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class InLab:
    """What the lab does meanwhile: its proxies hold each response of a broker, one after another."""

    broker: int = 0
    hold_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What is compared: a release of the client, and the settings of its producer."""

    name: str
    client_version: str = ""  # empty: the newest that is here
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Blocks of runs: in each block every arm once."""

    name: str
    repeats: int
    for_s: float
    load: Load
    arms: tuple[Arm, ...]
    seed: int = 1
    warm_up_s: float = 0.0
    cool_down_s: float = 0.0
    lab: InLab | None = None


def read(path: Path) -> Experiment:
    """
    Read an experiment's file.

    Raises:
        WrongError: it is not there, no TOML, or a key or value is wrong.

    """
    try:
        told = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read: {error}"
        raise WrongError(message) from error
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: not valid TOML: {error}"
        raise WrongError(message) from error
    made = _made(Experiment, told, f"{path}:")
    _check(made, f"{path}:")
    return made


def _made(kind: type[T], told: Any, where: str) -> T:  # noqa: ANN401 (whatever stands in the file)
    if not isinstance(told, dict):
        message = f"{where} {told!r} is no section of keys and values"
        raise WrongError(message)
    types, known = get_type_hints(kind), {of.name: of for of in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(told) - set(known)):
        message = f"{where} unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}"
        raise WrongError(message)
    needed = [n for n, of in known.items() if of.default is MISSING and of.default_factory is MISSING]
    if missing := [name for name in needed if name not in told]:
        message = f"{where} {missing[0]} is missing: docs/experiments.md has a whole file to begin with"
        raise WrongError(message)
    return kind(**{name: _value(types[name], value, where, name) for name, value in told.items()})


def _value(kind: Any, value: Any, where: str, name: str) -> Any:  # noqa: ANN401 (keys are of several types)
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]
    if kind in (Load, InLab):
        return _made(kind, value, f"{where} [{name}]")
    if kind == tuple[Arm, ...]:
        if not isinstance(value, list):
            message = f"{where} {name} = {value!r}: rows are wanted, each begun with [[{name}]]"
            raise WrongError(message)
        return tuple(_made(Arm, row, f"{where} [[{name}]] {nth}:") for nth, row in enumerate(value, 1))
    if kind == dict[str, str]:
        if not isinstance(value, dict):
            message = f'{where} {name} = {value!r}: keys and values are wanted, as in {{"linger.ms" = 5}}'
            raise WrongError(message)
        return dict(_properties(value, "", f"{where} {name}"))
    wanted = (int, float) if kind is float else kind
    if isinstance(value, bool) or not isinstance(value, wanted):
        message = f"{where} {name} = {value!r} is not of type {kind.__name__}"
        raise WrongError(message)
    return kind(value)


def _properties(told: dict[str, Any], before: str, where: str) -> list[tuple[str, str]]:
    """Write settings as Kafka does: TOML takes an unquoted `linger.ms` for `ms` of a table `linger`."""
    rows: list[tuple[str, str]] = []
    for key, value in told.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            rows += _properties(value, f"{name}.", where)
        elif isinstance(value, bool | int | float | str):
            rows.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
        else:
            message = f"{where} {name} = {value!r}: a text, a number, true or false is wanted"
            raise WrongError(message)
    return rows


def _check(told: Experiment, where: str) -> None:
    arms = [arm.name for arm in told.arms]
    wrong = [
        *(
            f"name = {name!r}: letters, digits, . _ - alone"
            for name in (told.name, *arms)
            if not _is_name(name)
        ),
        *(["[[arms]]: two at least are wanted"] if len(arms) < 2 else []),  # noqa: PLR2004 (to compare)
        *(f"[[arms]]: {name!r} stands there twice" for name in sorted(set(arms)) if arms.count(name) > 1),
        *_too_small(told),
        *(
            [f"[load] topic = {told.load.topic!r} is no name of a topic"]
            if told.load.topic and not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", told.load.topic)
            else []
        ),
        *(of for arm in told.arms for of in _wrong_of(arm)),
    ]
    if told.lab and bool(told.lab.broker) is not bool(told.lab.hold_ms):
        wrong.append("[lab]: broker and hold_ms go together: which one answers late, and how late")
    if wrong:
        message = f"{where} {wrong[0]}"
        raise WrongError(message)


def _is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None


def _too_small(told: Experiment) -> list[str]:
    load, lab = told.load, told.lab or InLab()
    above_zero = {
        "repeats": told.repeats,
        "for_s": told.for_s,
        "[load] records_per_s": load.records_per_s,
        "[load] record_size_bytes": load.record_size_bytes,
        "[load] partitions": load.partitions,
        "[load] replication_factor": load.replication_factor,
    }
    from_zero = {"warm_up_s": told.warm_up_s, "cool_down_s": told.cool_down_s, "[lab] hold_ms": lab.hold_ms}
    return [
        *(
            f"{name} = {value:g}: a number above 0 is wanted"
            for name, value in above_zero.items()
            if not 0 < value < inf
        ),
        *(
            f"{name} = {value:g}: 0 or more is wanted"
            for name, value in from_zero.items()
            if not 0 <= value < inf
        ),
    ]


def _wrong_of(arm: Arm) -> list[str]:
    secrets = [key for key in arm.properties if SECRET.match(f"{key}=")]
    return [
        *(
            f"arm {arm.name}: {key} is no arm's to set: {why}"
            for key, why in OURS.items()
            if key in arm.properties
        ),
        *(f"arm {arm.name}: {key} is a secret: give it in the file of --properties" for key in secrets),
    ]
