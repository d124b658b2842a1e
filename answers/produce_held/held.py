"""A7: how long PRODUCE requests wait for replication over a time range, and for which follower."""

from collections.abc import Sequence
from dataclasses import replace

from answers.formats import text
from answers.gold.histogram import added_up
from answers.gold.reader import QueryRows
from answers.gold.selection import IN_SPAN, OF_EITHER_BROKER, OF_TOPIC, WINDOW_END, GoldSelection
from answers.listing import Column, Listing, broker, count, milliseconds, percent
from answers.listing import text as shown
from answers.produce_held.verdict import HOLDS, MIN_WINDOWS, MOST_APART_S, PARTS, Held, is_holding
from schemas.gold.produce_held import COUNTS, WAITS
from schemas.histogram import RELATIVE_ERROR
from schemas.rows import Row

_PICKED = f"SELECT * FROM gold.produce_held WHERE {IN_SPAN} AND {OF_TOPIC}"
"""The filter of brokers comes after the sums: shares are of all that a leader's requests waited for."""

RUNS = f"""
    WITH of_pairs AS (
        SELECT leader_id, follower_id, window_start, sum(n_released) AS released,
               sum(n_released + n_tie) AS completed, sum_ms(held_sum_ms) AS held_ms,
               window_start = max(window_start) OVER () AS is_last
        FROM gold.produce_held WHERE {IN_SPAN} AND {OF_TOPIC} GROUP BY leader_id, follower_id, window_start
    ),
    holding AS (
        SELECT *, window_start - lag(window_start) OVER of_pair AS apart
        FROM of_pairs WHERE {OF_EITHER_BROKER} AND follower_id IS NOT NULL AND {HOLDS}
        WINDOW of_pair AS (PARTITION BY leader_id, follower_id ORDER BY window_start)
    ),
    runs AS (
        SELECT *, count(*) FILTER (apart > INTERVAL {MOST_APART_S} SECOND)
            OVER (PARTITION BY leader_id, follower_id ORDER BY window_start) AS run
        FROM holding
    )
    SELECT leader_id, follower_id, min(window_start) AS window_start, max({WINDOW_END}) AS until,
           bool_or(is_last) AS is_open
    FROM runs GROUP BY leader_id, follower_id, run
    HAVING count(*) >= {MIN_WINDOWS}
    ORDER BY sum_ms(held_ms) DESC, window_start, leader_id, follower_id"""
"""The runs of windows in which a follower holds a leader's requests back, by the mean; the worst is first."""

_SUMS = (
    {"cluster": "min(cluster)", "window_start": "min(window_start)", "until": f"max({WINDOW_END})"}
    | {"windows": "count(DISTINCT window_start)"}
    | {name: f"sum({name})::BIGINT" for name in COUNTS}
    | {
        f"{wait}_{name}_ms": f"{function}({wait}_{name}_ms)"
        for wait in WAITS
        for name, function in {"sum": "sum_ms", "min": "min", "max": "max"}.items()
    }
)
_RANKS = {f"p{q}": f"rank_of({q / 100}, total)" for q in sorted({q for of in WAITS.values() for q in of})}
_VALUES = ", ".join(
    f"within_ms(bucket_ms({wait}_p{q}), {wait}_min_ms, {wait}_max_ms) AS {wait}_p{q}_ms"
    for wait, quantiles in WAITS.items()
    for q in quantiles
)


def _summed(*by: str) -> str:
    """Return the query of counts, sums and quantiles by some columns; the most held come first."""
    keys, hists = ", ".join(by), {wait: f"{wait}_hist" for wait in WAITS}
    waited = "(sum(n - n_not_held - n_failed) OVER (PARTITION BY leader_id))"
    return f"""
    WITH picked AS NOT MATERIALIZED ({_PICKED})
    SELECT {keys}, {", ".join(_SUMS)}, {_VALUES}, coalesce(busy_total, 0) AS n_parts,
           ratio(n_released, {waited}) AS share_released, {RELATIVE_ERROR}::DOUBLE AS relative_error
    FROM ({added_up("picked", keys, hists, _RANKS, _SUMS)})
    ORDER BY held_sum_ms DESC NULLS LAST, {keys}"""


def _of_broker(query: str) -> str:
    return f"SELECT * FROM ({query}) WHERE {OF_EITHER_BROKER}"


LEADERS = _summed("leader_id")
PAIRS, TOPICS = (
    _of_broker(_summed(*by)) for by in (("leader_id", "follower_id"), ("leader_id", "follower_id", "topic"))
)
# Each request whose parts are known has a value in each of their histograms.
PARTS_OF_PAIR = f"""
    SELECT time_bucket(to_seconds($step_s), window_start) AS window_start,
           {", ".join(f"sum_ms({part}_sum_ms) AS {part}_sum_ms" for part in PARTS)},
           sum(list_sum(map_values(busy_hist)))::BIGINT AS n_parts
    FROM gold.produce_held
    WHERE {IN_SPAN} AND {OF_TOPIC} AND leader_id = $leader AND follower_id = $follower
    GROUP BY 1 HAVING sum(busy_sum_ms) IS NOT NULL ORDER BY 1"""
WINDOWS = f"""
    SELECT COLUMNS(lambda name: name NOT LIKE '%_hist') FROM gold.produce_held
    WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_TOPIC}
    ORDER BY window_start, leader_id, follower_id, topic"""


def windows(selection: GoldSelection) -> QueryRows:
    """Return the rows of `gold.produce_held` without histograms."""
    return selection.rows(WINDOWS)


def pairs(selection: GoldSelection) -> QueryRows:
    """Return `produce_held_summary`: one row per leader and follower over the span."""
    return selection.rows(PAIRS)


def chief(selection: GoldSelection) -> Held | None:
    """Return the follower that holds produce back most, over its worst run; or None."""
    for run in selection.rows(RUNS):
        pair = (run["leader_id"], run["follower_id"])
        of_run = within(selection, run)
        (row,) = (row for row in pairs(of_run) if (row["leader_id"], row["follower_id"]) == pair)
        if is_holding(row):
            leaders = of_run.rows(LEADERS)
            return Held(row, next(row for row in leaders if row["leader_id"] == pair[0]), run["is_open"])
    return None


def within(selection: GoldSelection, row: Row) -> GoldSelection:
    """Return the time from `window_start` to `until` of a row."""
    until = min(row["until"], selection.until)
    return replace(selection, since=max(row["window_start"], selection.since), until=until)


def topics(selection: GoldSelection) -> QueryRows:
    """Return one row per leader, follower and topic."""
    return selection.rows(TOPICS)


def over_time(selection: GoldSelection, leader: int, follower: int) -> QueryRows:
    """Return the sums of the parts of a pair's wait, step by step."""
    return selection.rows(PARTS_OF_PAIR, leader=leader, follower=follower)


def _with_follower(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["follower_id"] is not None]


def _most_held(rows: Sequence[Row]) -> list[Row]:
    return _with_follower(rows)[:50]


_PAIR = (
    Column("leader", lambda row: text(row["leader_id"]), "leader_id"),
    Column("follower", lambda row: text(row["follower_id"]), "follower_id"),
)
_HELD = (
    percent("share released", "share_released", style="strong"),
    milliseconds("held p50 ms", "held_p50_ms", style="strong"),
    milliseconds("held p99 ms", "held_p99_ms"),
)
FOLLOWERS = Listing(
    name="held-table",
    title="Followers that produce requests wait for",
    lead="The followers that hold back most come first.",
    rows=_with_follower,
    columns=(
        *_PAIR,
        *_HELD,
        milliseconds("wait p50 ms", "remote_p50_ms", style="dim"),
        milliseconds("busy p50 ms", "busy_p50_ms"),
        milliseconds("serve p50 ms", "serve_p50_ms"),
        milliseconds("network p10 ms", "network_p10_ms", in_terminal=False),
        milliseconds("network p50 ms", "network_p50_ms"),
        milliseconds("take p50 ms", "take_p50_ms"),
        milliseconds("own append p50 ms", "own_append_p50_ms", in_terminal=False),
        milliseconds("round trip p10 ms", "round_trip_p10_ms", in_terminal=False),
        count("released", "n_released", in_terminal=False),
        count("ties", "n_tie", in_terminal=False),
        count("failed", "n_failed", in_terminal=False),
    ),
    about={
        "share released": "Of the leader's requests that waited: this follower's fetch completed them, and "
        "without it they would have been complete 1 ms earlier or more.",
        "held p50 ms": "What a request would have saved without this follower; ties count too.",
        "wait p50 ms": "The wait (RemoteTimeMs) of the requests that its fetches completed, ties too.",
        "busy p50 ms": "The follower was away: an earlier batch, its disk, a pause, a throttle.",
        "serve p50 ms": "Until the leader had answered its fetch. Negative: before the append.",
        "network p50 ms": "From that answer to the next fetch: both ways, and the follower's append.",
        "take p50 ms": "The next fetch, until it completed the request: the leader's queue and handling.",
        "own append p50 ms": "The part of network at the follower, by its own log.",
        "ties": "Its fetches completed them, but it held them for less than 1 ms.",
    },
)
OF_TOPICS = Listing(
    name="held-topic-table",
    title="Topics of produce requests that wait",
    lead="The topics whose requests are held back most come first.",
    rows=_most_held,
    columns=(
        shown("topic", "topic"),
        *_PAIR,
        *(column for column in _HELD if column.name != "share_released"),
        milliseconds("wait p50 ms", "remote_p50_ms", style="dim"),
        count("released", "n_released"),
    ),
)
NOT_NAMED = Listing(
    name="not-named-table",
    title="Produce requests without a named follower",
    rows=lambda rows: [row for row in rows if row["follower_id"] is None],
    is_folded=True,
    columns=(
        broker("leader", "leader_id"),
        count("did not wait", "n_not_held"),
        count("unmatched", "n_unmatched"),
        count("ISR changed", "n_isr_change"),
        count("failed", "n_failed"),
    ),
    about={
        "did not wait": "acks 0 or 1, no other replica in the ISR, or confirmed while the leader handled it.",
        "unmatched": "They waited, but no fetch of a follower fits their release.",
        "ISR changed": "The same, and the leader changed the ISR within a second.",
        "failed": "REQUEST_TIMED_OUT or NOT_ENOUGH_REPLICAS.",
    },
)
