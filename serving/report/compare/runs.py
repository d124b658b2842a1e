"""From tables of silver and gold to the runs that are compared: a row per run, at most 400 parts of each."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from answers import run_figures as figures_of_gold
from answers.runs import KEPT_UP
from answers.selection import GoldSelection
from conf.names import Kind
from schemas.rows import Row
from serving.report.compare.run_tables import RunTables
from transforms.frames import united
from transforms.gold.runs.figures import has_arm, run_facts, run_figures
from transforms.gold.runs.windows import run_windows
from verdicts.metrics import OF_PERF_TEST
from verdicts.runs import BEHIND_WARM_UP, STEADY_STATE, WHOLE, RunFigures, RunWindow

MOST_WITH_WINDOWS = 64
"""Of so many runs the windows are collected too; of more a figure shows nothing."""

MOST_ARMS = 100

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = tuple[str, str]


def arms_of(tables: RunTables, scenario: str | None) -> dict[str, int]:
    """Name the arms there are runs of, with the number of their runs."""
    told = united([frame.select("run", "arm", "scenario") for frame in (tables.runs, tables.perf_summaries)])
    chosen = told if scenario is None else told.filter(F.col("scenario") == scenario)
    counted = (
        chosen.filter(F.col("arm").isNotNull()).groupBy("arm").agg(F.count_distinct("run").alias("runs"))
    )
    return {row["arm"]: row["runs"] for row in counted.orderBy("arm").limit(MOST_ARMS).collect()}


def misread(tables: RunTables) -> str | None:
    """Say how many lines of performance tests were not understood."""
    n = tables.quarantine.filter(F.col("kind") == Kind.PERF_TEST.value).count()
    return (
        f"{n:,} lines of performance tests were not understood: see the report's data quality" if n else None
    )


def runs_of(tables: RunTables, arms: Sequence[str], scenario: str | None) -> list[RunFigures]:
    """Collect the runs of some arms: a row a way of making figures, of which a run has three at most."""
    summaries, windows, runs = (
        _chosen(frame, arms, scenario) for frame in (tables.perf_summaries, tables.perf_windows, tables.runs)
    )
    figures = rows_of(run_figures(summaries, windows, runs), "arm", "run", "method")
    facts = run_facts(runs, summaries).localCheckpoint()
    by_run: dict[Key, dict[str, Row]] = {}
    for row in figures:
        by_run.setdefault(_key(row), {})[row["method"] or WHOLE] = row
    parts = _windows_of(windows, facts, by_run)
    of_gold: dict[Key, dict[str, float]] = {}
    for row in _figures_of_gold(tables, facts):
        of_gold.setdefault(_key(row), {})[row["metric"]] = row["value"]
    return [run_of(of, parts.get(key, ()), of_gold.get(key, {})) for key, of in by_run.items()]


def run_of(
    by_method: Mapping[str, Row], windows: Sequence[RunWindow], of_gold: Mapping[str, float]
) -> RunFigures:
    """Choose how a run's figures are made: its steady state, else behind its warm-up, else all of it."""
    row = next(iter(by_method.values()))
    behind = BEHIND_WARM_UP if row["warm_up_s"] else WHOLE
    method = STEADY_STATE if STEADY_STATE in by_method else behind
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


def _figures_of_gold(tables: RunTables, facts: DataFrame) -> list[Row]:
    """Return the gold figures of runs; a run's latency is that from the end of its warm-up to its end."""
    rows = rows_of(facts, "arm", "run")
    timed = [
        row | {"since": row["started_at"] + timedelta(seconds=row["warm_up_s"] or 0.0)}
        for row in rows
        if row["started_at"] is not None and row["ended_at"] is not None
    ]
    return [
        figure
        for cluster in {row["cluster"] for row in rows if row["cluster"] is not None}
        for figure in figures_of_gold.run_figures(
            GoldSelection(gold=tables.gold, cluster=cluster),
            [row for row in timed if row["cluster"] == cluster],
        )
    ]


def rows_of(frame: DataFrame, *order: str) -> list[Row]:
    """Collect a frame; instants become aware datetimes, whatever the zone of the process is."""
    instants = {field.name for field in frame.schema.fields if isinstance(field.dataType, TimestampType)}
    columns = [F.unix_micros(name).alias(name) if name in instants else F.col(name) for name in frame.columns]
    rows = [row.asDict(recursive=True) for row in frame.orderBy(*order).select(*columns).collect()]
    return [{**row, **{name: _instant(row[name]) for name in instants}} for row in rows]


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def _windows_of(
    windows: DataFrame, facts: DataFrame, runs: Mapping[Key, object]
) -> dict[Key, list[RunWindow]]:
    if len(runs) > MOST_WITH_WINDOWS:
        return {}
    parts: dict[Key, list[RunWindow]] = {}
    for row in rows_of(run_windows(windows, facts), "arm", "run", "part"):
        told = {name: row[name] for name in RunWindow.__dataclass_fields__}
        parts.setdefault(_key(row), []).append(RunWindow(**told))
    return parts


def _chosen(frame: DataFrame, arms: Sequence[str], scenario: str | None) -> DataFrame:
    of_arms = frame.filter(has_arm(*arms))
    return of_arms if scenario is None else of_arms.filter(F.col("scenario") == scenario)


def _key(row: Row) -> Key:
    return row["arm"], row["run"]
