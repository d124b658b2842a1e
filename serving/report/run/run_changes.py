"""Long series of performance tests in a report: where an arm itself changed, from one night to the next."""

from collections.abc import Sequence
from pathlib import Path

from answers.runs.series import RunSeries, series_of
from schemas.rows import Row
from serving.report.run.change_points import LEAST_RUNS, PROGRAM, NoChangePointsError, change_points
from verdicts.metrics import METRICS
from verdicts.runs import ChangePoint, RunFigures

SOUGHT = ("avg_ms", "p99_ms", "records_per_s")
MOST_SERIES = 12
"""Each is looked through once a metric, some seconds together."""


def run_changes(summaries: Sequence[Row], *, program: Path = PROGRAM) -> tuple[list[Row], list[str]]:
    """
    Find where an arm of a scenario changed from one level to another, from rows of `gold.perf_runs`.

    Return rows of `gold.run_changes`, and what could not be looked for, in sentences.
    """
    long = [series for series in series_of(summaries) if len(series.rows) >= LEAST_RUNS]
    found: list[Row] = []
    untold = [
        f"change points were looked for in the first {MOST_SERIES} of {len(long)} long series of runs only"
    ] * (len(long) > MOST_SERIES)
    for series in long[:MOST_SERIES]:
        runs = [_figures(row) for row in series.rows]
        for name in SOUGHT:
            try:
                points = change_points(runs, METRICS[name], program=program)
            except NoChangePointsError as error:
                return found, [*untold, str(error)]
            found += [_row(series, point) for point in points]
    return found, untold


def _figures(row: Row) -> RunFigures:
    return RunFigures(
        run=row["run"] or "",
        arm=row["arm"] or "",
        started_at=row["logged_at"],
        values={name: row[name] for name in SOUGHT},
    )


def _row(series: RunSeries, point: ChangePoint) -> Row:
    return {
        "cluster": series.rows[0]["cluster"],
        "scenario": series.scenario,
        "arm": series.arm,
        "metric": point.metric,
        "run": point.run,
        "changed_at": point.at,
        "change": point.change,
        "p": point.p,
        "runs": len(series.rows),
    }
