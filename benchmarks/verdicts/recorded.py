"""The noise of real runs: a folder of null experiments, whose arms are the same thing under several names."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.verdicts.noise import Dice, Values
from benchmarks.verdicts.simulate import measured
from conf.settings import Settings
from jobs.answering import found_in, interpreted, session
from jobs.compare_runs import arms_of, runs_of
from jobs.compare_tables import tables_of_files
from jobs.raw_files import Origin, write_raw
from verdicts.metrics import OF_PERF_TEST
from verdicts.verdict import Measured


def values_of(folder: Path) -> dict[str, Values]:
    """Read what all runs in a folder came to, metric by metric, in the order they were started."""
    found = found_in(folder, {})
    with (
        tempfile.TemporaryDirectory() as scratch,
        session(Settings(), "verdicts") as spark,
        interpreted(spark),
    ):
        origin = Origin(folder=folder, cluster="recorded", time_zone="UTC")
        write_raw(found.understood, origin, Path(scratch) / "raw", on_file=lambda _file: None)
        tables = tables_of_files(spark, Path(scratch) / "raw", Path(scratch), has_requests=False)
        runs = runs_of(tables, list(arms_of(tables, None)), None)
    told = sorted((run for run in runs if run.started_at), key=lambda run: str(run.started_at))
    every = {metric.name: [run.values.get(metric.name) for run in told] for metric in OF_PERF_TEST}
    return {
        name: np.asarray(values, float)
        for name, values in every.items()
        if values and None not in values and min(of for of in values if of is not None) > 0
    }


def resampled(values: Values, runs: int, *, factor: float) -> Callable[[Dice], Measured]:
    """Give a way to part real runs into two arms by chance, the contender's times `factor`."""

    def draw(dice: Dice) -> Measured:
        drawn = dice.choice(values, 2 * runs, replace=False)
        return measured(drawn[:runs], drawn[runs:] * factor, is_blocked=False)

    return draw
