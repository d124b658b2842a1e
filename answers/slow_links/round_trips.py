"""A2: round trips of broker pairs over a time range, with the estimator of `gold.broker_rtt`."""

from collections.abc import Collection, Sequence
from datetime import datetime

from answers.formats import ms, text
from answers.gold.histogram import added_up
from answers.gold.reader import QueryRows
from answers.gold.selection import (
    IN_SPAN,
    OF_EITHER_BROKER,
    OF_PAIRS,
    ONLY,
    STEP,
    WINDOW,
    WINDOW_END,
    BrokerPair,
    GoldSelection,
    keys_of,
)
from answers.listing import Column, Listing, count, interval, milliseconds
from answers.listing import text as shown
from schemas.gold.broker_rtt import COARSE_MS, MIN_N_P10, MIN_N_P50
from schemas.histogram import RELATIVE_ERROR
from schemas.rows import Row

METHODS = ("paired", "passive")
"""The method that is closest to the truth comes first."""

OF_WINDOWS = f"""{ONLY}
      AND ($but::TIMESTAMPTZ[] IS NULL OR window_start NOT IN (SELECT unnest($but::TIMESTAMPTZ[])))"""

CULPRITS = f"SELECT * FROM gold.broker_rtt_culprit WHERE {IN_SPAN} ORDER BY window_start"

ESTIMATOR = f"""CASE WHEN n >= {MIN_N_P10} AND clock_resolution_ms < {COARSE_MS} THEN 'p10'
    WHEN n >= {MIN_N_P50} THEN 'p50' END"""

_QUANTILES = {"p10": 0.1, "p50": 0.5, "p99": 0.99}
_RANKS = {name: f"rank_of({q}, total)" for name, q in _QUANTILES.items()} | {
    f"{end}_{name}": f"{end}_rank({_QUANTILES[name]}, blocks, total)"
    for end in ("low", "high")
    for name in ("p10", "p50")
}
_VALUES = ", ".join(
    f"within_ms(bucket_ms(rtt_{name}), rtt_min_ms, rtt_max_ms) AS rtt_{name}_ms" for name in _QUANTILES
)
_ESTIMATE = "CASE estimator WHEN 'p10' THEN {p10} WHEN 'p50' THEN {p50} END"
_SUMS = {
    "cluster": "min(cluster)",
    "since": "min(window_start)",
    "until": f"max({WINDOW_END})",
    "windows": "count(*)",
    "n": "sum(n)::BIGINT",
    "blocks": "sum(blocks)::BIGINT",
    "rtt_sum_ms": "sum_ms(rtt_sum_ms)",
    "rtt_min_ms": "min(rtt_min_ms)",
    "rtt_max_ms": "max(rtt_max_ms)",
    "clock_resolution_ms": "max(clock_resolution_ms)",
}
_PAIR_BY_METHOD = "follower_id, leader_id, method"
ROUND_TRIPS = f"""
    WITH picked AS NOT MATERIALIZED (
        SELECT *, {STEP} FROM gold.broker_rtt
        WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_PAIRS} AND {OF_WINDOWS}
    ),
    added AS ({added_up("picked", f"{_PAIR_BY_METHOD}, step_at", {"rtt": "rtt_hist"}, _RANKS, _SUMS)})
    SELECT {_PAIR_BY_METHOD}, {", ".join(_SUMS)}, coalesce(step_at, since) AS window_start,
           {_VALUES}, {ESTIMATOR} AS estimator,
           {_ESTIMATE.format(p10="rtt_p10_ms", p50="rtt_p50_ms")} AS rtt_ms,
           edge_ms({_ESTIMATE.format(p10="rtt_low_p10", p50="rtt_low_p50")}, -1) AS rtt_low_ms,
           edge_ms({_ESTIMATE.format(p10="rtt_high_p10", p50="rtt_high_p50")}, 1) AS rtt_high_ms,
           {RELATIVE_ERROR}::DOUBLE AS relative_error
    FROM added WHERE rtt_total > 0 ORDER BY method, {_PAIR_BY_METHOD}, window_start"""
WINDOWS = f"""
    SELECT * EXCLUDE (rtt_hist) FROM gold.broker_rtt WHERE {IN_SPAN} AND {OF_EITHER_BROKER}
    ORDER BY window_start, follower_id, leader_id, method"""
DRAWN = f"""
    SELECT window_start, follower_id, leader_id, method, rtt_ms FROM gold.broker_rtt
    WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_PAIRS}
    ORDER BY window_start, follower_id, leader_id, method"""
BASELINE = """
    SELECT arg_max_null(COLUMNS(['p10_ms', 'p50_ms', 'windows']), hour) FROM gold.broker_rtt_baseline
    WHERE cluster = $cluster AND follower_id = $follower AND leader_id = $leader AND method = $method
      AND hour < $until"""


def culprits(selection: GoldSelection) -> QueryRows:
    """Return the verdict of each window."""
    return selection.rows(CULPRITS)


def round_trips(
    selection: GoldSelection,
    *,
    only: Sequence[datetime] | None = None,
    but: Sequence[datetime] | None = None,
    pairs: Collection[BrokerPair] | None = None,
) -> QueryRows:
    """Return `broker_rtt_summary`: one row per pair and method, over some windows or all `but` some."""
    all_but = None if but is None else list(but)
    return selection.rows(
        ROUND_TRIPS, is_by_step=False, but=all_but, pairs=keys_of(pairs), **selection.of_windows(only)
    )


def windows(selection: GoldSelection) -> QueryRows:
    """Return the rows of `gold.broker_rtt` without histograms."""
    return selection.rows(WINDOWS)


def over_time(selection: GoldSelection, pairs: Collection[BrokerPair] | None = None) -> QueryRows:
    """Return each pair's round trips step by step; the histograms of a longer step are added up."""
    if selection.step == WINDOW:
        return selection.rows(DRAWN, pairs=keys_of(pairs))
    return selection.rows(ROUND_TRIPS, is_by_step=True, only=None, but=None, pairs=keys_of(pairs))


def baseline(selection: GoldSelection, pair: BrokerPair, method: str) -> Row:
    """Return the newest baseline of a pair; NULLs without one."""
    follower, leader = pair
    return selection.rows(BASELINE, method=method, follower=follower, leader=leader)[0]


def headline(
    pair: tuple[int, int], row: Row | None, baseline: Row, span: str = "the whole span"
) -> tuple[str, list[str]]:
    """Return the sentence about a pair's round trip over a span and its baseline, and its evidence."""
    follower, leader = pair
    if row is None or row["rtt_ms"] is None:
        n = row["n"] if row else 0
        sentence = f"Broker {follower} from broker {leader}: not enough data, {n} round trips."
        return sentence, [f"{MIN_N_P50} are needed for a median."]
    usual_ms, windows = baseline[f"{row['estimator']}_ms"], baseline["windows"]
    than = f"; its baseline is {ms(usual_ms)} ms." if usual_ms is not None else "."
    evidence = (
        f"{row['estimator']} of {row['n']:,} {row['method']} round trips over {span}, "
        f"95 % interval {ms(row['rtt_low_ms'])} to {ms(row['rtt_high_ms'])} ms."
    )
    quiet = [f"The baseline is the median of {windows} quiet windows."] if windows else []
    rtt = f"Broker {follower} fetches from broker {leader} at a round trip of {ms(row['rtt_ms'])} ms"
    return f"{rtt}{than}", [evidence, *quiet]


def pair_rows(summary: Sequence[Row], quiet: Sequence[Row]) -> list[Row]:
    """Return the pairs, the largest rise first, with their level outside of findings as `quiet_ms`."""
    levels = {(row["method"], row["follower_id"], row["leader_id"]): row for row in quiet}
    rows = []
    for row in summary:
        before = levels.get((row["method"], row["follower_id"], row["leader_id"]), {})
        column = f"rtt_{row['estimator']}_ms" if row.get("estimator") else ""
        # The same quantile on both sides, also where the two spans would choose different ones.
        quiet_ms = before.get(column)
        rise_ms = None if quiet_ms is None or row["rtt_ms"] is None else row["rtt_ms"] - quiet_ms
        rows.append({**row, "quiet_ms": quiet_ms, "rise_ms": rise_ms})
    return sorted(rows, key=_slowest_first)


def _slowest_first(row: Row) -> tuple[int, float, int, int]:
    size = row["rise_ms"] if row["rise_ms"] is not None else (row["rtt_ms"] or 0.0)
    return (METHODS.index(row["method"]), -size, row["follower_id"], row["leader_id"])


_PAIR = Column(
    "follower from leader",
    lambda row: f"{text(row['follower_id'])} from {text(row['leader_id'])}",
    is_text=True,
)
CHANGES = Listing(
    name="change-table",
    title="Change of each pair",
    lead="The largest rise first.",
    columns=(
        _PAIR,
        shown("method", "method"),
        milliseconds("change ms", "rise_ms", style="strong"),
        milliseconds("now ms", "rtt_ms"),
        milliseconds("earlier ms", "quiet_ms"),
        shown("quantile", "estimator"),
        count("n", "n"),
    ),
)
PAIRS = Listing(
    name="pair-table",
    title="Broker pairs",
    lead="The largest rise first.",
    opens=lambda row: ("/pair", {"follower": row["follower_id"], "leader": row["leader_id"]}),
    columns=(
        _PAIR,
        shown("method", "method"),
        milliseconds("RTT ms", "rtt_ms", style="strong"),
        Column(
            "quantile",
            lambda row: row["estimator"] or "not enough data",
            "estimator",
            is_text=True,
            in_terminal=False,
        ),
        interval("95 % interval ms", "rtt_low_ms", "rtt_high_ms"),
        count("n", "n"),
        milliseconds("p10 ms", "rtt_p10_ms", in_terminal=False),
        milliseconds("p50 ms", "rtt_p50_ms"),
        milliseconds("p99 ms", "rtt_p99_ms"),
        milliseconds("quiet ms", "quiet_ms", style="dim"),
        milliseconds("rise ms", "rise_ms"),
    ),
    about={
        "method": (
            "Paired: elapsed at the follower (NetworkClient: sent to received) less the leader's total "
            "without its send time, joined request by request; two durations, so no clocks are compared. "
            "Passive: the gap between two fetches of a connection by the leader's clock alone; it needs "
            "no second log and includes the follower's own work (about 0.2 ms when idle)."
        ),
        "RTT ms": (
            "The 10th percentile if there are 30 round trips and a clock finer than 1 ms, else the median"
            " from 12 round trips on, else nothing. Over a span, histograms are added up; percentiles are"
            " never averaged."
        ),
        "95 % interval ms": "From blocks of time; includes the width of a bucket.",
        "quiet ms": "The same quantile over the windows outside of all findings.",
    },
)
