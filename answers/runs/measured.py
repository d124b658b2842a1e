"""Performance-test runs as a comparison needs them: their arms, settings, figures and windows."""

from collections.abc import Sequence

from answers.gold.selection import GoldSelection
from schemas.gold.run_comparison import RUN_FIGURES
from schemas.rows import Row

MOST_PARTS = 400
"""The maximum number of parts, half an hour of 5 s windows. Windows of longer runs are merged."""

WHOLE, STEADY_STATE, BEHIND_WARM_UP = "whole", "steady_state", "behind_warm_up"

_RUN = "cluster, run, arm"
_IS_ASKED = "($scenario::VARCHAR IS NULL OR scenario = $scenario)"
_CHOSEN = f"cluster = $cluster AND list_contains($arms::VARCHAR[], arm) AND {_IS_ASKED}"
ARMS = f"""
    SELECT arm, count(DISTINCT run) AS runs FROM (
        SELECT cluster, run, arm, scenario FROM silver.runs
        UNION ALL SELECT cluster, run, arm, scenario FROM silver.perf_summaries
    ) WHERE cluster = $cluster AND arm IS NOT NULL AND {_IS_ASKED} GROUP BY arm ORDER BY arm LIMIT 100"""
MISREAD = "SELECT count(*) AS n FROM silver.quarantine WHERE cluster = $cluster AND kind = $kind"
CLUSTERS = """
    SELECT cluster FROM silver.runs WHERE cluster IS NOT NULL
    UNION SELECT cluster FROM silver.perf_summaries WHERE cluster IS NOT NULL ORDER BY cluster"""

_FACTS = (
    *("scenario", "client_version", "started_at", "ended_at", "warm_up_s", "exit_code"),
    *("asked_records", "asked_records_per_s", "record_size_bytes", "configuration"),
)
_FIGURES = ", ".join(
    name for name in RUN_FIGURES.schema.names if name not in {"cluster", "run", "arm", "starts", *_FACTS}
)
# A run without a run document has only its client version.
_SETTINGS = f"""
    SELECT {_RUN}, {", ".join(f"max({name}) AS {name}" for name in _FACTS)},
           count(DISTINCT started_at) AS starts
    FROM (
        SELECT * FROM silver.runs
        UNION ALL BY NAME SELECT {_RUN}, scenario, client_version FROM silver.perf_summaries
    ) WHERE {_CHOSEN} GROUP BY {_RUN}"""
# The tool does not print the duration of a window. It follows from the rate, or from the previous line if
# nothing was sent. A window is measured if it began after the warm-up.
_TIMED = f"""
    SELECT *, coalesce(since_start_s, sum(seconds) OVER (of_run ROWS UNBOUNDED PRECEDING)) AS at_s,
           warm_s = 0 OR coalesce(since_start_s - seconds >= warm_s, false) AS is_measured
    FROM (
        SELECT each.*, coalesce(warm_up_s, 0) AS warm_s, row_number() OVER of_run - 1 AS window_index,
               (epoch_us(logged_at) - epoch_us(started_at)) / 1e6 AS since_start_s,
               coalesce(CASE WHEN records_per_s > 0 THEN records / records_per_s END,
                        (epoch_us(logged_at) - lag(epoch_us(logged_at)) OVER of_run) / 1e6) AS seconds
        FROM (
            SELECT DISTINCT ON (cluster, position) *,
                   try_cast(split_part(position, '/', -1) AS BIGINT) AS place
            FROM silver.perf_windows WHERE {_CHOSEN}
        ) AS each LEFT JOIN settings USING (cluster, run, arm)
        WINDOW of_run AS (PARTITION BY cluster, each.run, each.arm ORDER BY place)
    ) WINDOW of_run AS (PARTITION BY {_RUN} ORDER BY place)"""


def _whole(each: str, total: str) -> str:
    """Return the total over all windows; NULL if a window has no value."""
    return f"CASE WHEN count({each}) = count(*) THEN {total} END"


def _mean(name: str, weight: str) -> str:
    value = f"(CASE WHEN records = 0 THEN 0 ELSE {name} END) * {weight}"
    return _whole(value, f"CASE WHEN sum({weight}) > 0 THEN sum({value}) / sum({weight}) END")


# Means and rates are weighted.
_SUMS = f"""
    {_whole("seconds", "sum(seconds)")} AS seconds, sum(records)::BIGINT AS records,
    {_whole("seconds", "sum(records) / nullif(sum(seconds), 0)")} AS records_per_s,
    {_mean("mib_per_s", "seconds")} AS mib_per_s, {_mean("avg_ms", "records")} AS avg_ms,
    max(max_ms) AS max_ms"""
# A name that was used twice has several lines; `lines` counts them, and the figures are those of one.
FIGURES = f"""
    WITH settings AS ({_SETTINGS}),
    printed AS (
        SELECT *, CASE WHEN is_steady_state THEN '{STEADY_STATE}' ELSE '{WHOLE}' END AS method
        FROM (SELECT DISTINCT ON (cluster, position) * FROM silver.perf_summaries WHERE {_CHOSEN})
    ),
    figures AS (
        SELECT *, count(*) OVER (PARTITION BY {_RUN}, method) AS lines FROM printed
        QUALIFY row_number() OVER (PARTITION BY {_RUN}, method ORDER BY position DESC) = 1
        UNION ALL BY NAME
        SELECT {_RUN}, '{BEHIND_WARM_UP}' AS method, count(*) AS lines, {_SUMS}
        FROM ({_TIMED}) WHERE warm_s > 0 AND is_measured GROUP BY {_RUN}
    )
    SELECT settings.*, {_FIGURES} FROM settings LEFT JOIN figures USING (cluster, run, arm)
    ORDER BY arm, run, method"""
WINDOWS = f"""
    WITH settings AS ({_SETTINGS})
    SELECT {_RUN}, part, max(at_s) AS at_s, {_SUMS}, bool_and(is_measured) AS is_measured
    FROM (
        SELECT *, floor(window_index * least(1e0, {MOST_PARTS}e0 / count(*) OVER (PARTITION BY {_RUN})))::INT
            AS part
        FROM ({_TIMED})
    ) GROUP BY {_RUN}, part ORDER BY arm, run, part"""


def arms(selection: GoldSelection, scenario: str | None) -> dict[str, int]:
    """Return the number of runs of each arm."""
    return {row["arm"]: row["runs"] for row in selection.rows(ARMS, scenario=scenario)}


def misread_lines(selection: GoldSelection, kind: str) -> int:
    """Return how many lines of a kind are in quarantine."""
    return int(selection.rows(MISREAD, kind=kind)[0]["n"])


def figures(selection: GoldSelection, arms: Sequence[str], scenario: str | None) -> list[Row]:
    """Return `gold.run_figures` of some arms: at most three rows per run, one for each method."""
    return selection.rows(FIGURES, arms=list(arms), scenario=scenario)


def windows(selection: GoldSelection, arms: Sequence[str], scenario: str | None) -> list[Row]:
    """Return `gold.run_windows` of some arms, in order."""
    return selection.rows(WINDOWS, arms=list(arms), scenario=scenario)
