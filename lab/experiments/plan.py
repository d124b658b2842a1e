"""The plan of an experiment, frozen on disk before the first run. A resumed experiment uses the same plan."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from conf import java
from conf.atomic_file import write_atomically
from conf.documents import checked
from conf.exit_codes import WrongUseError
from lab.experiments.order import orders
from lab.experiments.run_folder import RunFolder, RunId
from lab.experiments.spec import Arm, Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentPlan:
    """
    An experiment, its place, and the order of the arms in each block.

    The random `mark` makes the names of its topics unique.
    """

    experiment: Experiment
    place: dict[str, Any]
    order: list[list[str]]
    mark: str
    made_at: str

    def run_ids(self) -> Iterator[RunId]:
        """Return block and arm of each run, in order."""
        return ((self.block(number), arm) for number, arms in enumerate(self.order, 1) for arm in arms)

    def block(self, number: int) -> str:
        """Return the name of a block, which is the `run` of its performance tests."""
        return f"{self.experiment.name}-{number:03}"

    def topic(self, block: str) -> str:
        """Return the topic of a block."""
        return self.experiment.load.topic or f"{block}-{self.mark}"

    def arm(self, name: str) -> Arm:
        """Return the arm with this name."""
        return next(arm for arm in self.experiment.arms if arm.name == name)

    def save(self, file: Path) -> None:
        """Write the plan atomically."""
        write_atomically(file, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, file: Path) -> Self:
        """
        Read a frozen plan.

        Raises:
            WrongUseError: the file is damaged.

        """
        try:
            return checked(cls, json.loads(file.read_text()), file)
        except ValueError as error:
            message = f"{file} cannot be read ({error}): use another --keep"
            raise WrongUseError(message) from error


def with_versions(experiment: Experiment, where: Path) -> Experiment:
    """
    Return the experiment with a release for each arm; the default is the brokers' current release.

    Raises:
        WrongUseError: the jars of a release are missing.

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
            raise WrongUseError(message)
    return replace(experiment, arms=arms)


def freeze_plan(
    folder: RunFolder, experiment: Experiment, place: dict[str, Any], where: Path
) -> ExperimentPlan:
    """
    Freeze the plan of a new experiment, or return the frozen plan. A larger `repeats` adds blocks to it.

    Raises:
        WrongUseError: the folder has another plan, or runs without a plan.

    """
    if not folder.frozen.exists():
        if any(folder.runs.glob("*")):
            message = f"{folder.runs} has runs, but {folder.root} has no experiment.json: use another --keep"
            raise WrongUseError(message)
        mark, made_at = secrets.token_hex(4), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        new = ExperimentPlan(experiment=experiment, place=place, order=[], mark=mark, made_at=made_at)
    else:
        new = check_frozen(folder, experiment, place, where)
    names = [arm.name for arm in new.experiment.arms]
    more = orders(names, experiment.repeats, experiment.seed)[len(new.order) :]
    new = replace(
        new, experiment=replace(new.experiment, repeats=experiment.repeats), order=[*new.order, *more]
    )
    new.save(folder.frozen)
    return new


def check_frozen(
    folder: RunFolder, experiment: Experiment, place: dict[str, Any] | None, where: Path
) -> ExperimentPlan:
    """
    Return the frozen plan if it matches the experiment and, if known, the place.

    Raises:
        WrongUseError: the plan does not match; the message lists the differences.

    """
    plan = ExperimentPlan.load(folder.frozen)
    if differs := differences(plan, experiment, plan.place if place is None else place):
        message = (
            f"{where} differs from the frozen {folder.frozen}: {'; '.join(differs)}. Their runs "
            "would be mixed: undo the change, or use another --keep or another name"
        )
        raise WrongUseError(message)
    return plan


def differences(plan: ExperimentPlan, experiment: Experiment, place: dict[str, Any]) -> list[str]:
    """Return the differences from the frozen plan. A larger `repeats` is no difference, a smaller one is."""
    before, now = (
        dict(_flat(_keyed(*each))) for each in ((plan.experiment, plan.place), (experiment, place))
    )
    if now["repeats"] >= before["repeats"]:
        del before["repeats"], now["repeats"]
    names = [*before, *(name for name in now if name not in before)]
    return [
        f"{name} was {_shown(before.get(name))}, is {_shown(now.get(name))}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _keyed(experiment: Experiment, place: dict[str, Any]) -> dict[str, Any]:
    fields = asdict(experiment)
    arms = {arm.name: {"client_version": arm.client_version, **arm.properties} for arm in experiment.arms}
    return fields | {"arms": arms, "place": place}


def _flat(fields: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)
