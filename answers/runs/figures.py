"""Gold figures of each performance-test run after its warm-up, for comparisons of runs."""

from collections.abc import Sequence

from answers.gold.histogram import added_up
from answers.gold.selection import WINDOW_END, GoldSelection
from answers.partition_skew.spread import EVENNESS, REQUEST_LOG, of_log
from schemas.gold.leader_redirect import REDIRECT
from schemas.rows import Row

APART = "\x1f"
"""Separates arm and run: runs of a block share their name."""

LATENCIES = ("leader_local", "true")
LOOKUPS = ("lookups", "topics_asked", "response_bytes")
HELD_P99 = "produce_held_p99_ms"
EVENNESS_FIGURES = ("max_over_mean", "coefficient_of_variation")

_IS_OF_RUN = "cluster = $cluster AND run IS NOT NULL AND arm IS NOT NULL"


def _long(table: str, rows: str, columns: Sequence[str]) -> str:
    """Return the query of (run, arm, metric, value) from rows with a column for each figure."""
    figures = ", ".join(f"{{'metric': '{table}.{name}', 'value': {name}::DOUBLE}}" for name in columns)
    return f"SELECT run, arm, unnest([{figures}], recursive := true) FROM ({rows})"


_OURS = f"""
    SELECT * REPLACE (arm || chr({ord(APART)}) || run AS run) FROM gold.partition_skew WHERE {_IS_OF_RUN}"""
# The least even topic, if there are several.
_SKEW = f"""
    WITH {of_log(_OURS)},
    span AS (SELECT * FROM of_log), {EVENNESS}
    SELECT split_part(run, chr({ord(APART)}), 2) AS run, split_part(run, chr({ord(APART)}), 1) AS arm,
           {", ".join(f"max({name}) AS {name}" for name in EVENNESS_FIGURES)}
    FROM evenness WHERE method = '{REQUEST_LOG}' GROUP BY 1, 2"""
_REDIRECTS = f"""
    SELECT run, arm, median(redirect_ms) AS redirect_p50_ms, max(redirect_ms) AS redirect_max_ms
    FROM gold.leader_redirect WHERE {_IS_OF_RUN} AND kind = '{REDIRECT}' AND redirect_ms IS NOT NULL
    GROUP BY run, arm"""
_LOOKUPS = f"""
    SELECT run, arm, {", ".join(f"sum({name}) AS {name}" for name in LOOKUPS)}
    FROM gold.metadata_lookup WHERE {_IS_OF_RUN} GROUP BY run, arm"""
_RANKS = {"p50": "rank_of(0.5, total)", "p99": "rank_of(0.99, total)"}
_LATENCIES = [f"{latency}_{rank}" for latency in LATENCIES for rank in _RANKS]
# The windows that are completely inside the run after its warm-up.
_MEANWHILE = f"""
    WITH spans AS (
        SELECT unnest($runs::STRUCT(run VARCHAR, arm VARCHAR, since TIMESTAMPTZ, ended_at TIMESTAMPTZ)[],
                      recursive := true)
    ),
    meanwhile AS (
        SELECT * FROM {{table}} JOIN spans ON window_start >= since AND {WINDOW_END} <= ended_at
        WHERE cluster = $cluster AND {{condition}}
    )"""
_FETCHES = f"""
    {_MEANWHILE.format(table="gold.fetch_latency", condition="kind = 'follower'")}
    SELECT run, arm, {", ".join(f"bucket_ms({name}) AS {name}_ms" for name in _LATENCIES)}
    FROM ({added_up("meanwhile", "run, arm", {name: f"{name}_hist" for name in LATENCIES}, _RANKS)})"""
_HELD = f"""
    {_MEANWHILE.format(table="gold.produce_held", condition="follower_id IS NOT NULL")}
    SELECT run, arm, '{HELD_P99}' AS metric, bucket_ms(held_p99)::DOUBLE AS value
    FROM ({added_up("meanwhile", "run, arm", {"held": "held_hist"}, _RANKS)})"""
FIGURES = f"""
    SELECT * FROM (
        {_long("partition_skew", _SKEW, EVENNESS_FIGURES)}
        UNION ALL
        {_long("leader_redirect", _REDIRECTS, ("redirect_p50_ms", "redirect_max_ms"))}
        UNION ALL
        {_long("metadata_lookup", _LOOKUPS, LOOKUPS)}
        UNION ALL
        {_long("fetch_latency", _FETCHES, [f"{name}_ms" for name in _LATENCIES])}
        UNION ALL
        SELECT * FROM ({_HELD})
    ) WHERE value IS NOT NULL ORDER BY arm, run, metric"""


def run_figures(selection: GoldSelection, runs: Sequence[Row]) -> list[Row]:
    """
    Return (run, arm, metric, value), without missing values.

    `metric` is table.column, or `produce_held_p99_ms`.

    `runs` have `run`, `arm`, `since` (the end of the warm-up) and `ended_at`; fetches and holds need both.
    """
    return selection.rows(
        FIGURES, runs=[{name: row[name] for name in ("run", "arm", "since", "ended_at")} for row in runs]
    )
