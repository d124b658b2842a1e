"""Real runs that `plumbline experiment` has kept: judged one experiment at a time, and their noise."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from answers.runs.measured import arms
from benchmarks.verdicts.noise import Dice, Values
from benchmarks.verdicts.simulate import measured
from engine.ingest.raw_files import Origin, write_raw
from lab.experiments.run_folder import PLAN
from serving.report.compare.run_tables import tables_of_files
from serving.report.compare.runs import runs_of
from serving.report.run.found import found_in
from verdicts.comparison import ComparisonRequest, compared
from verdicts.metrics import OF_PERF_TEST
from verdicts.runs import RunFigures
from verdicts.verdict import JudgedMetric, MeasuredMetric

METRIC = "avg_ms"
"""What decides: the mean after the warm-up, which every release's windows give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExperiment:
    """A frozen plan of two arms; `is_null` when both are the same but for their names."""

    name: str
    baseline: str
    contender: str
    is_null: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """An experiment and its verdict."""

    experiment: RecordedExperiment
    judged: JudgedMetric
    blocks: int


def experiments_in(folder: Path) -> list[RecordedExperiment]:
    """Read the plans of the experiments of two arms in a folder, or in the folders in it."""
    plans = [json.loads(file.read_text())["experiment"] for file in sorted(folder.rglob(PLAN))]
    return [_experiment(plan) for plan in plans if len(plan["arms"]) == len(("baseline", "contender"))]


def _experiment(plan: dict[str, object]) -> RecordedExperiment:
    arms = plan["arms"]
    assert isinstance(arms, list)  # noqa: S101 (what `plumbline experiment` has written)
    first, second = arms
    settings = ("client_version", "properties")
    return RecordedExperiment(
        name=str(plan["name"]),
        baseline=first["name"],
        contender=second["name"],
        is_null=all(first[name] == second[name] for name in settings),
    )


def runs_in(folder: Path) -> list[RunFigures]:
    """Return the figures of all runs in a folder."""
    found = found_in(folder, {})
    with tempfile.TemporaryDirectory() as scratch:
        origin = Origin(folder=folder, cluster="recorded", time_zone="UTC")
        write_raw(found.understood, origin, Path(scratch) / "raw", on_file=lambda _file: None)
        tables = tables_of_files(Path(scratch) / "raw", Path(scratch), "recorded", has_requests=False)
    return runs_of(tables, list(arms(tables, None)), None)


def judged_live(experiments: Sequence[RecordedExperiment], runs: Sequence[RunFigures]) -> list[Live]:
    """Judge each experiment by the code of `plumbline compare`, as if it stood alone."""
    found = []
    for experiment in experiments:
        of_it = [run for run in runs if run.scenario == experiment.name]
        asked = ComparisonRequest(
            baseline=experiment.baseline, contender=experiment.contender, metrics=(METRIC,)
        )
        comparison = compared(of_it, asked)
        found.append(Live(experiment=experiment, judged=comparison.deciding, blocks=len(comparison.baseline)))
    return found


def values_of(runs: Sequence[RunFigures]) -> dict[str, Values]:
    """Return each metric of the runs in order of their start, if every run has it above zero."""
    started = sorted((run for run in runs if run.started_at), key=lambda run: str(run.started_at))
    every = {metric.name: [run.values.get(metric.name) for run in started] for metric in OF_PERF_TEST}
    return {
        name: np.asarray(values, float)
        for name, values in every.items()
        if values and None not in values and min(of for of in values if of is not None) > 0
    }


def resampled(values: Values, runs: int, *, factor: float) -> Callable[[Dice], MeasuredMetric]:
    """Return a function that splits real runs into two arms by chance, the contender's times `factor`."""

    def draw(dice: Dice) -> MeasuredMetric:
        drawn = dice.choice(values, 2 * runs, replace=False)
        return measured(drawn[:runs], drawn[runs:] * factor, is_blocked=False)

    return draw
