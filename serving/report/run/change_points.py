"""
Long series of runs: where one arm itself changed, by Apache Otava's search for change points.

Otava pins another numpy than ours, so it lives in an environment of its own (`make otava`) and is started as
a program: a CSV in, JSON out, nothing of the network.
"""

import csv
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

from conf.settings import PROJECT
from verdicts.metrics import RunMetric
from verdicts.runs import ChangePoint, RunFigures

PROGRAM = PROJECT / ".otava" / "bin" / "otava"
LEAST_CHANGE, LEAST_ON_A_SIDE = 0.05, 5
"""A smaller change makes no difference; with fewer runs on a side the last night would be a level."""

LEAST_RUNS = 15
"""Of fewer runs there is too little before and after."""

TIMEOUT_S = 300
SERIES = "runs"
EVER = ("--since", "1970-01-01", "--until", "2200-01-01")


class NoChangePointsError(Exception):
    """The program is not there, or has failed; the message says which."""


def series_of(runs: Sequence[RunFigures], metric: RunMetric) -> list[tuple[datetime, str, float]]:
    """Return the runs that have an instant and the metric, in the order of time."""
    points = [(run.started_at, run.run, run.values.get(metric.name)) for run in runs]
    known = [(at, name, value) for at, name, value in points if at is not None and value is not None]
    return sorted(known)


def change_points(
    runs: Sequence[RunFigures], metric: RunMetric, *, program: Path = PROGRAM
) -> list[ChangePoint]:
    """
    Find where the runs of one arm changed from one level to another.

    Raises:
        NoChangePointsError: the runs are many enough, and nothing can look through them.

    """
    series = series_of(runs, metric)
    if len(series) < LEAST_RUNS:
        return []
    if not program.exists():
        message = f"no change points were looked for in {len(series)} runs: `make otava` installs what does"
        raise NoChangePointsError(message)
    with tempfile.TemporaryDirectory(prefix="plumbline-otava-") as folder:
        found = _looked_for(series, metric, Path(folder), program)
    return [
        ChangePoint(
            arm=runs[0].arm,
            run=series[change["index"]][1],
            at=series[change["index"]][0],
            metric=metric.name,
            change=_share(float(change["mean_before"]), float(change["mean_after"])),
            p=float(change["pvalue"]),
        )
        for point in found
        for change in point["changes"]
        if _is_a_level(change, len(series), metric)
    ]


def _is_a_level(change: dict[str, Any], runs: int, metric: RunMetric) -> bool:
    before, after = float(change["mean_before"]), float(change["mean_after"])
    is_long = LEAST_ON_A_SIDE <= change["index"] <= runs - LEAST_ON_A_SIDE
    return is_long and abs(after - before) > max(LEAST_CHANGE * abs(before), metric.step)


def _share(before: float, after: float) -> float:
    return after / before - 1 if before else inf


def _looked_for(
    series: Sequence[tuple[datetime, str, float]], metric: RunMetric, folder: Path, program: Path
) -> list[dict[str, Any]]:
    with (folder / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "nth", "value"])  # names are users' text and stay here
        writer.writerows([_iso(at), nth, value] for nth, (at, _, value) in enumerate(series))
    settings = {
        "type": "csv",
        "file": str(folder / "runs.csv"),
        "time_column": "time",
        "attributes": ["nth"],
        "metrics": {"value": {"column": "value", "direction": -1 if metric.is_lower_better else 1}},
        "csv_options": {"delimiter": ",", "quotechar": '"'},
    }
    (folder / "otava.yaml").write_text(json.dumps({"tests": {SERIES: settings}}))  # JSON is YAML too
    options = ["--config-file", str(folder / "otava.yaml"), "--output", "json", *EVER]
    environment = {"PATH": os.defpath, "HOME": str(folder), "TZ": "UTC"}
    try:
        done = subprocess.run(
            [str(program), "analyze", SERIES, *options],
            capture_output=True,
            check=True,
            env=environment,
            timeout=TIMEOUT_S,
        )
        found: list[dict[str, Any]] = json.loads(done.stdout)[SERIES]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        message = f"no change points: {program.name} failed ({error})"
        raise NoChangePointsError(message) from error
    return found


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
