"""From tables of silver and gold to the runs that are compared: a row per run, at most 400 parts of each."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from answers.gold.selection import GoldSelection
from answers.runs import figures as figures_of_gold
from answers.runs import measured as measured_runs
from answers.runs.summaries import KEPT_UP
from conf.names import Kind
from schemas.rows import Row
from verdicts.metrics import OF_PERF_TEST
from verdicts.runs import BEHIND_WARM_UP, STEADY_STATE, WHOLE, RunFigures, RunWindow

MOST_WITH_WINDOWS = 64
"""The maximum number of runs whose windows are read; a figure of more runs shows nothing."""

Key = tuple[str, str]


def misread(tables: GoldSelection) -> str | None:
    """Return a caution about lines of performance tests that were not understood."""
    n = measured_runs.misread_lines(tables, Kind.PERF_TEST.value)
    return (
        f"{n:,} lines of performance tests were not understood: see the report's data quality" if n else None
    )


def runs_of(tables: GoldSelection, arms: Sequence[str], scenario: str | None) -> list[RunFigures]:
    """Return the runs of some arms."""
    by_run: dict[Key, dict[str, Row]] = {}
    for row in measured_runs.figures(tables, arms, scenario):
        by_run.setdefault(_key(row), {})[row["method"] or WHOLE] = row
    parts: dict[Key, list[RunWindow]] = {}
    if len(by_run) <= MOST_WITH_WINDOWS:
        for row in measured_runs.windows(tables, arms, scenario):
            window = RunWindow(**{name: row[name] for name in RunWindow.__dataclass_fields__})
            parts.setdefault(_key(row), []).append(window)
    of_gold: dict[Key, dict[str, float]] = {}
    for row in _figures_of_gold(tables, [next(iter(rows.values())) for rows in by_run.values()]):
        of_gold.setdefault(_key(row), {})[row["metric"]] = row["value"]
    return [run_of(of, parts.get(key, ()), of_gold.get(key, {})) for key, of in by_run.items()]


def run_of(
    by_method: Mapping[str, Row], windows: Sequence[RunWindow], of_gold: Mapping[str, float]
) -> RunFigures:
    """Return a run's figures: those of its steady state, else after its warm-up, else of the whole run."""
    row = next(iter(by_method.values()))
    after_warm_up = BEHIND_WARM_UP if row["warm_up_s"] else WHOLE
    method = STEADY_STATE if STEADY_STATE in by_method else after_warm_up
    chosen, whole = by_method.get(method, {}), by_method.get(WHOLE, {})
    asked, achieved = row["asked_records_per_s"], (chosen or whole).get("records_per_s")
    return RunFigures(
        run=row["run"],
        arm=row["arm"],
        scenario=row["scenario"],
        client_version=row["client_version"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        starts=row["starts"],
        exit_code=row["exit_code"],
        warm_up_s=row["warm_up_s"],
        asked_records=row["asked_records"],
        asked_records_per_s=asked,
        record_size_bytes=row["record_size_bytes"],
        configuration=row["configuration"] or (),
        summaries=whole.get("lines") or 0,
        sent_records=whole.get("records"),
        is_rate_missed=asked is not None and achieved is not None and achieved < KEPT_UP * asked,
        method=method,
        values={metric.name: chosen.get(metric.name) for metric in OF_PERF_TEST} | dict(of_gold),
        windows=windows,
    )


def _figures_of_gold(tables: GoldSelection, runs: Sequence[Row]) -> list[Row]:
    """Return the gold figures of runs; a run's latency is that from the end of its warm-up to its end."""
    timed = [
        row | {"since": row["started_at"] + timedelta(seconds=row["warm_up_s"] or 0.0)}
        for row in runs
        if row["started_at"] is not None and row["ended_at"] is not None
    ]
    return figures_of_gold.run_figures(tables, timed)


def _key(row: Row) -> Key:
    return row["arm"], row["run"]
