"""Moves of replicas over a time range: progress, a forecast at each window, and the end by KIP-73."""

from answers.gold.reader import QueryRows
from answers.gold.selection import IN_SPAN, WINDOW, WINDOW_END, GoldSelection
from answers.throttles.periods import T_95
from answers.throttles.verdict import QUOTA_MOST_S
from schemas.histogram import Z_95
from schemas.rows import Row
from transforms.windows import WINDOW_S

LATELY_S = 300
"""The history of a forecast: long enough to average bursts, short enough for changed throttles."""

LEAST_S = 5
"""The minimum duration of a rate in the spread, because the newest window is incomplete."""

T_OF_TWO = 12.706
"""Student's factor for two values; fewer windows have no interval."""

SATURATED = 0.85
"""A broker that uses this share of its limit is limited by it; other brokers wait for such brokers."""

PRIOR_N = 6
"""The weight in windows of the net limit of a limited broker, because its rate converges to that limit."""

PERIOD_S = 11.5
"""The interval between bursts, because a quota averages over 11 to 12 s."""

BURST_S = 2.0
"""A broker that is further ahead of its limit moves bytes in bursts."""

BURST_SLACK = 0.05
"""The share of a burst to ignore: the arrival of the last response is not known yet."""

RATE_DOUBT = 0.05
"""The maximum deviation of a limited broker's rate from its limit (docs/truth-throttles.md)."""

LONGEST_S = 1e10
"""A later end is no forecast, and beyond the instants of most programs."""

_MOVE = "cluster, moved_at"
_SIDE = f"{_MOVE}, side, broker_id"

_T = " ".join(f"WHEN n >= {n} THEN {T_95[n]}" for n in sorted(T_95, reverse=True))
T_FACTOR = f"CASE WHEN n > {max(T_95) * 2} THEN {Z_95} {_T} WHEN n = 2 THEN {T_OF_TWO} END"


def _after(seconds: str, begin: str = "as_of") -> str:
    """Return the instant this many seconds after another one; default: after the newest data."""
    after = f"to_microseconds(trunc({seconds} * 1e6)::BIGINT)"
    return f"CASE WHEN {seconds} < {LONGEST_S} THEN {begin} + {after} END"


MOVED_AT = f"SELECT DISTINCT moved_at FROM gold.reassignment_progress WHERE {IN_SPAN} ORDER BY moved_at"

_ONCE = f"""
    once AS (
        SELECT DISTINCT ON ({_MOVE}, window_start, source_id, destination_id) *
        FROM gold.reassignment_progress
        WHERE {IN_SPAN} AND ($moves::TIMESTAMPTZ[] IS NULL OR list_contains($moves::TIMESTAMPTZ[], moved_at))
          AND ($broker::INTEGER IS NULL OR source_id = $broker OR destination_id = $broker)
    )"""

# Each broker as a source (leader) and as a destination (follower) of a move.
SIDES = f"""
    {_ONCE},
    ends AS (
        SELECT *, 'leader' AS side, source_id AS broker_id, source_limit_bytes_per_s AS limit_bytes_per_s
        FROM once
        UNION ALL
        SELECT *, 'follower', destination_id, destination_limit_bytes_per_s FROM once
    ),
    sides AS (
        SELECT {_SIDE}, window_start, max(moved_by) AS moved_by, max(partitions) AS partitions,
            max(partitions_done) AS partitions_done, max(limit_bytes_per_s) AS limit_bytes_per_s,
            sum(bytes_moved) AS bytes_moved, sum(inbound_bytes) AS inbound_bytes,
            CASE WHEN count(bytes_to_go) = count(*) THEN sum(bytes_to_go) END AS bytes_to_go,
            CASE WHEN count(ended_at) = count(*) THEN max(ended_at) END AS ended_at,
            coalesce(CASE WHEN count(ended_at) = count(*) THEN max(ended_at) END, max(told_at), {WINDOW_END})
                AS as_of,
            epoch(window_start)::BIGINT AS start_s
        FROM ends GROUP BY {_SIDE}, window_start
    )"""

# The forecast is remaining bytes / the rate of their decrease, which includes newly produced bytes. The
# interval is that of the mean of the windows' rates. The window in which the move begins has the first burst,
# so it is excluded.
_RATES = f"""
    steps AS (
        SELECT *, (epoch_us(as_of) - epoch_us(moved_at)) / 1e6 AS elapsed_s,
            lag(bytes_to_go) OVER in_order - bytes_to_go AS shrunk,
            (epoch_us(as_of) - epoch_us(lag(as_of) OVER in_order)) / 1e6 AS step_s,
            sum(bytes_moved) OVER (in_order ROWS UNBOUNDED PRECEDING) AS moved_so_far
        FROM sides WINDOW in_order AS (PARTITION BY {_SIDE} ORDER BY start_s)
    ),
    timed AS (
        SELECT *,
            CASE WHEN start_s >= floor(epoch(moved_at)) AND shrunk IS NOT NULL AND step_s > 0 THEN step_s END
                AS took_s,
            ratio(moved_so_far, limit_bytes_per_s) - elapsed_s AS ahead_s
        FROM steps
    ),
    recent AS (
        SELECT *, count(rate) OVER lately AS n, stddev_samp(rate) OVER lately AS spread,
            sum(shrunk) FILTER (took_s IS NOT NULL) OVER lately AS shrunk_lately,
            sum(bytes_moved) FILTER (took_s IS NOT NULL) OVER lately AS moved_lately,
            sum(inbound_bytes) FILTER (took_s IS NOT NULL) OVER lately AS came_lately,
            sum(took_s) OVER lately AS took_lately, max(ahead_s) OVER lately AS most_ahead_s
        FROM (SELECT *, CASE WHEN took_s >= {LEAST_S} THEN shrunk / took_s END AS rate FROM timed)
        WINDOW lately AS (PARTITION BY {_SIDE} ORDER BY start_s
            RANGE BETWEEN {LATELY_S} PRECEDING AND CURRENT ROW)
    ),
    saturated AS (
        SELECT *, ratio(shrunk_lately, took_lately) AS seen,
            limit_bytes_per_s - coalesce(ratio(came_lately, took_lately), 0.0) AS leaves,
            {T_FACTOR} * spread / sqrt(nullif(n, 0)) AS half,
            coalesce(ratio(moved_lately, took_lately) >= {SATURATED} * limit_bytes_per_s, false)
            OR coalesce(elapsed_s <= {LATELY_S}
                AND ratio(moved_so_far, elapsed_s) >= {SATURATED} * limit_bytes_per_s, false) AS is_saturated
        FROM recent
    )"""

# A broker at its limit: the forecast follows from the quota, because its rate converges to the limit. With an
# even flow the time is remaining bytes / rate. With bursts, the next burst comes when the broker is no longer
# ahead of its limit. All bursts have the same size, and the last one completes the move.
_LIMITED = f"""
    limited AS (
        SELECT *, is_saturated AND coalesce(seen > 0 AND leaves > 0, false) AS is_limited,
            CASE WHEN is_limited THEN (n * seen + {PRIOR_N} * leaves) / (n + {PRIOR_N}) ELSE seen END
                AS net_bytes_per_s,
            greatest(round(ratio(moved_so_far, {PERIOD_S} * limit_bytes_per_s)), 1.0) AS bursts_seen
        FROM saturated
    ),
    bursts AS (
        SELECT *, ceil(ratio(ratio(bytes_to_go * limit_bytes_per_s, leaves), moved_so_far / bursts_seen)
            - {BURST_SLACK}) AS bursts_to_go
        FROM limited
    ),
    waits AS (
        SELECT *, CASE
            WHEN most_ahead_s >= {BURST_S} THEN CASE WHEN bursts_to_go > 0
                THEN greatest(least(ahead_s, {QUOTA_MOST_S}), 0.0) + (bursts_to_go - 1) * {PERIOD_S}
                ELSE 0.0 END
            ELSE ratio(bytes_to_go, net_bytes_per_s) END AS held_s
        FROM bursts
    ),
    forecasts AS (
        SELECT *,
            CASE WHEN ended_at IS NULL AND net_bytes_per_s > 0 THEN CASE WHEN is_limited
                THEN {_after("held_s")} ELSE {_after("bytes_to_go / net_bytes_per_s")} END
                ELSE ended_at END AS own_end_at,
            CASE WHEN ended_at IS NULL AND net_bytes_per_s > 0 THEN CASE WHEN is_limited
                THEN {_after(f"greatest(held_s - ({QUOTA_MOST_S} + {RATE_DOUBT} * held_s), 0.0)")}
                ELSE {_after("ratio(bytes_to_go, net_bytes_per_s + half)")} END END AS low_at,
            CASE WHEN ended_at IS NULL AND net_bytes_per_s > 0 THEN CASE WHEN is_limited
                THEN {_after(f"(held_s + {QUOTA_MOST_S} + {RATE_DOUBT} * held_s)")}
                WHEN net_bytes_per_s > half THEN {_after("bytes_to_go / (net_bytes_per_s - half)")} END
                END AS high_at
        FROM waits
    )"""

# The latest end among brokers at their limit decides, because other brokers wait for them. If no broker is at
# its limit, the latest destination decides. A broker without an end is the latest.
_RULE = """{'side': side, 'broker_id': broker_id, 'net': net_bytes_per_s, 'low_at': low_at,
                'high_at': high_at, 'n': n, 'own_end_at': own_end_at}"""
_LATEST = "own_end_at DESC NULLS FIRST, broker_id DESC, side DESC"
BY_WINDOW = f"""
    by_window AS (
        SELECT {_MOVE}, window_start, max(moved_by) AS moved_by, max(partitions) AS partitions,
            max(partitions_done) AS partitions_done,
            sum(moved_so_far) FILTER (side = 'follower') AS bytes_moved,
            CASE WHEN count(bytes_to_go) FILTER (side = 'follower') = count(*) FILTER (side = 'follower')
                 THEN sum(bytes_to_go) FILTER (side = 'follower') END AS bytes_to_go,
            sum(bytes_moved) FILTER (side = 'follower') / {WINDOW_S} AS rate_bytes_per_s,
            coalesce(
                (list({_RULE} ORDER BY {_LATEST}) FILTER (is_saturated AND ended_at IS NULL))[1],
                (list({_RULE} ORDER BY {_LATEST}) FILTER (side = 'follower'))[1]
            ) AS rule,
            bool_or(ended_at IS NULL) AS is_open
        FROM forecasts GROUP BY {_MOVE}, window_start
    ),
    forecast AS (
        SELECT * EXCLUDE (rule, is_open, bytes_moved), bytes_moved::BIGINT AS bytes_moved,
            rule.net AS net_bytes_per_s, rule.side AS ruled_by, rule.broker_id AS ruled_by_id,
            CASE WHEN is_open THEN rule.own_end_at END AS forecast_end_at,
            CASE WHEN is_open THEN rule.low_at END AS forecast_low_at,
            CASE WHEN is_open THEN rule.high_at END AS forecast_high_at,
            coalesce(rule.n, 0) AS n
        FROM by_window
    )"""
_FORECAST = f"WITH {SIDES}, {_RATES}, {_LIMITED}, {BY_WINDOW}"
FORECAST = f"""
    {_FORECAST} SELECT * FROM forecast WHERE window_start >= $begin ORDER BY moved_at, window_start"""

# The highest produce rate to the partitions of one destination, in whole windows.
_INBOUND = f"""
    whole AS (
        SELECT *, min(window_start) OVER (PARTITION BY {_MOVE}) AS first_window,
            max(window_start) OVER (PARTITION BY {_MOVE}) AS last_window
        FROM once
    ),
    inbound AS (
        SELECT {_MOVE}, max(rate) AS inbound_bytes_per_s
        FROM (
            SELECT {_MOVE}, destination_id,
                sum(inbound_bytes) / (count(DISTINCT window_start) * {WINDOW_S}) AS rate
            FROM whole WHERE window_start > first_window AND window_start < last_window GROUP BY ALL
        ) GROUP BY {_MOVE}
    )"""
_ENDED = f"""
    pairs AS (
        SELECT {_MOVE}, source_id, destination_id,
            arg_max_null(ended_at, window_start) AS ended_at,
            arg_max_null(is_superseded, window_start) AS is_superseded,
            arg_max_null(replication_factor, window_start) AS replication_factor,
            min(least(source_limit_bytes_per_s, destination_limit_bytes_per_s)) AS limit_of_pair
        FROM once GROUP BY ALL
    ),
    moves AS (
        SELECT {_MOVE}, CASE WHEN count(ended_at) = count(*) THEN max(ended_at) END AS ended_at,
            bool_or(is_superseded) AS is_superseded, count(DISTINCT destination_id) AS destinations,
            max(replication_factor) AS replication_factor, min(limit_of_pair) AS limit_bytes_per_s
        FROM pairs GROUP BY ALL
    )"""
_STATE = """
    CASE WHEN is_superseded THEN 'superseded' WHEN ended_at IS NOT NULL THEN 'done' ELSE 'under_way' END"""
STATES = f"""
    WITH {_ONCE}, {_ENDED},
    sizes AS (SELECT {_MOVE}, max(partitions) AS partitions FROM once GROUP BY ALL)
    SELECT moved_at, ended_at, partitions, {_STATE} AS state
    FROM moves JOIN sizes USING ({_MOVE}) ORDER BY moved_at"""
_WHOLE = f"""
    {_ENDED},
    figures AS (
        SELECT {_MOVE}, max(moved_by) AS moved_by, max(partitions) AS partitions,
            arg_max_null(partitions_done, window_start) AS partitions_done,
            arg_max_null(bytes_moved, window_start) AS bytes_moved,
            arg_max_null(bytes_to_go, window_start) AS bytes_to_go,
            arg_min(bytes_moved + bytes_to_go, window_start) AS bytes_at_start,
            max({WINDOW_END}) AS seen_until
        FROM forecast GROUP BY ALL
    )"""

# A finished move shows the forecast at its half; another one shows the newest.
_SHOWN = f"""
    candidates AS (
        SELECT *, {WINDOW_END} AS forecast_made_at,
            bytes_moved >= bytes_to_go AND forecast_end_at IS NOT NULL AS is_half
        FROM forecast WHERE net_bytes_per_s IS NOT NULL AND bytes_to_go IS NOT NULL
    ),
    shown AS (
        SELECT candidates.* EXCLUDE (moved_by, partitions, partitions_done, bytes_moved, bytes_to_go)
        FROM candidates JOIN states USING ({_MOVE})
        WHERE (states.state = 'done' AND is_half) OR candidates.partitions_done < candidates.partitions
        QUALIFY row_number() OVER (PARTITION BY {_MOVE} ORDER BY
            CASE WHEN states.state = 'done' AND is_half THEN 0 ELSE 1 END,
            CASE WHEN states.state = 'done' AND is_half THEN window_start END,
            window_start DESC) = 1
    )"""
_STATES = f"""
    states AS (
        SELECT moves.*, figures.* EXCLUDE ({_MOVE}), inbound_bytes_per_s, {_STATE} AS state,
            ratio(bytes_moved, (epoch_us(coalesce(ended_at, seen_until)) - epoch_us(moved_at)) / 1e6)
                AS rate_bytes_per_s
        FROM moves JOIN figures USING ({_MOVE}) LEFT JOIN inbound USING ({_MOVE})
    )"""
_INBOUND_OR_0 = "coalesce(inbound_bytes_per_s, 0.0)"
_TOOK_US = "nullif(epoch_us(ended_at) - epoch_us(moved_at), 0)"
MOVES = f"""
    {_FORECAST}, {_INBOUND}, {_WHOLE}, {_STATES}, {_SHOWN},
    with_kip AS (
        SELECT states.*, shown.n AS forecast_n,
            shown.* EXCLUDE ({_MOVE}, n, net_bytes_per_s, rate_bytes_per_s, window_start),
            CASE WHEN limit_bytes_per_s > {_INBOUND_OR_0}
                THEN {_after(f"bytes_at_start / (limit_bytes_per_s - {_INBOUND_OR_0})", "moved_at")} END
                AS kip_end_at,
            {_INBOUND_OR_0} AS band_low_bytes_per_s,
            $network::DOUBLE - {_INBOUND_OR_0} / replication_factor AS band_high_bytes_per_s
        FROM states LEFT JOIN shown USING ({_MOVE})
    )
    SELECT *,
        CASE WHEN state = 'done' THEN (epoch_us(forecast_end_at) - epoch_us(ended_at)) / {_TOOK_US} END
            AS forecast_error,
        CASE WHEN state = 'done' THEN (epoch_us(kip_end_at) - epoch_us(ended_at)) / {_TOOK_US} END
            AS kip_error,
        CASE WHEN limit_bytes_per_s <= band_low_bytes_per_s THEN false
             ELSE limit_bytes_per_s < band_high_bytes_per_s END AS is_in_band
    FROM with_kip ORDER BY moved_at"""


def forecast(selection: GoldSelection) -> list[Row]:
    """Return `reassignment_forecast`: the forecast of each move at each window, from the data up to it."""
    return _of_whole_moves(selection, FORECAST)


def moves(selection: GoldSelection) -> list[Row]:
    """Return `reassignment_summary`: one row per move; the network bandwidth of a broker is N of KIP-73."""
    return _of_whole_moves(selection, MOVES, network=selection.network_bytes_per_s)


def states(selection: GoldSelection) -> QueryRows:
    """Return one row per move: `moved_at`, `ended_at`, `partitions`, `state` at the end of the span."""
    return selection.rows(STATES, moves=None)


def _of_whole_moves(selection: GoldSelection, query: str, **more: float | None) -> QueryRows:
    """Return the rows of a query that reads each move of the span from its first window on."""
    moves = [row["moved_at"] for row in selection.rows(MOVED_AT)]
    since = min([selection.since, *(at - WINDOW for at in moves)])
    return selection.rows(query, since=since, begin=selection.since, moves=moves, **more)
