"""What was decided before the first run, frozen on disk: who goes on later goes on with the same."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from conf import java
from experiments.errors import WrongError
from experiments.kept import Folder, Unit
from experiments.order import orders
from experiments.spec import Arm, Experiment, InLab, Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    An experiment, the place where it runs and the order of each block.

    `mark` is in the names of its fresh topics: nobody else has made one of that name.
    """

    experiment: Experiment
    place: dict[str, Any]
    order: list[list[str]]
    mark: str
    made_at: str

    def units(self) -> Iterator[Unit]:
        """Give block and arm of each run, in order."""
        return ((self.block(nth), arm) for nth, arms in enumerate(self.order, 1) for arm in arms)

    def block(self, nth: int) -> str:
        """Name a block: it is the `run` of its runs."""
        return f"{self.experiment.name}-{nth:03}"

    def topic(self, block: str) -> str:
        """Name the topic that a block's runs produce to."""
        return self.experiment.load.topic or f"{block}-{self.mark}"

    def arm(self, name: str) -> Arm:
        """Give an arm by its name."""
        return next(arm for arm in self.experiment.arms if arm.name == name)

    def save(self, file: Path) -> None:
        """Write it whole or not at all."""
        new = file.with_name(f".{file.name}.new")
        new.write_text(json.dumps(asdict(self), indent=2) + "\n")
        new.replace(file)

    @classmethod
    def load(cls, file: Path) -> Self:
        """
        Read a frozen plan.

        Raises:
            WrongError: it is damaged.

        """
        try:
            told = json.loads(file.read_text())
            experiment = told.pop("experiment")
            rows = {
                "load": Load(**experiment["load"]),
                "lab": InLab(**experiment["lab"]) if experiment["lab"] else None,
                "arms": tuple(Arm(**arm) for arm in experiment["arms"]),
            }
            return cls(experiment=Experiment(**experiment | rows), **told)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{file} cannot be read ({error!r}): give another --keep"
            raise WrongError(message) from error


def with_versions(experiment: Experiment, where: Path) -> Experiment:
    """
    Name the release of each arm that names none: the brokers' own, as of now.

    Raises:
        WrongError: there is no such client here.

    """
    known = java.client_versions()
    arms = tuple(
        replace(arm, client_version=arm.client_version or java.brokers_version() or "")
        for arm in experiment.arms
    )
    for arm in arms:
        if arm.client_version not in known:
            wrong = java.missing_client(arm.client_version) if known else "no Kafka jars: run `make setup`"
            message = f"{where}: arm {arm.name}: {wrong}"
            raise WrongError(message)
    return replace(experiment, arms=arms)


def frozen(folder: Folder, experiment: Experiment, place: dict[str, Any], where: Path) -> Plan:
    """
    Freeze a new experiment's plan, or return the one that stands there; more repeats add blocks to it.

    Raises:
        WrongError: what stands there is something else, and runs of both would be mixed.

    """
    if not folder.frozen.exists():
        if any(folder.runs.glob("*")):
            message = f"{folder.runs} holds runs, and no experiment.json tells of what: give another --keep"
            raise WrongError(message)
        mark, made_at = secrets.token_hex(4), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        new = Plan(experiment=experiment, place=place, order=[], mark=mark, made_at=made_at)
    else:
        new = refuse_another(folder, experiment, place, where)
    names = [arm.name for arm in new.experiment.arms]
    more = orders(names, experiment.repeats, experiment.seed)[len(new.order) :]
    new = replace(
        new, experiment=replace(new.experiment, repeats=experiment.repeats), order=[*new.order, *more]
    )
    new.save(folder.frozen)
    return new


def refuse_another(folder: Folder, experiment: Experiment, place: dict[str, Any] | None, where: Path) -> Plan:
    """
    Return the frozen plan, if it is of this experiment, at this place where that is known yet.

    Raises:
        WrongError: it is another one; the differences are named.

    """
    plan = Plan.load(folder.frozen)
    if differs := differences(plan, experiment, plan.place if place is None else place):
        message = (
            f"{where} is not what {folder.frozen} has frozen: {'; '.join(differs)}. Runs of both would be "
            "mixed: take it back, or give another --keep or another name"
        )
        raise WrongError(message)
    return plan


def differences(plan: Plan, experiment: Experiment, place: dict[str, Any]) -> list[str]:
    """Name what is not as it was frozen; more repeats are no difference, fewer are."""
    before, now = (dict(_flat(_keyed(*of))) for of in ((plan.experiment, plan.place), (experiment, place)))
    if now["repeats"] >= before["repeats"]:
        del before["repeats"], now["repeats"]
    names = [*before, *(name for name in now if name not in before)]
    return [
        f"{name} was {_said(before.get(name))}, is {_said(now.get(name))}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _keyed(experiment: Experiment, place: dict[str, Any]) -> dict[str, Any]:
    told = asdict(experiment)
    arms = {arm.name: {"client_version": arm.client_version, **arm.properties} for arm in experiment.arms}
    return told | {"arms": arms, "place": place}


def _flat(told: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in told.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _said(value: object) -> str:
    return "not there" if value is None else repr(value)
