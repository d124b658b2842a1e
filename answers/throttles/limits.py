"""Throttles over a time range: one verdict per broker, direction and limit."""

from collections import defaultdict

from answers.gold.reader import QueryRows
from answers.gold.selection import IN_SPAN, WINDOW_END, GoldSelection
from answers.throttles.periods import Period, periods, rate_of
from answers.throttles.verdict import NONE, QUOTA_MOST_S, QUOTA_WINDOW_S, cause, measured, state, why
from schemas.rows import Row
from transforms.windows import WINDOW_S

IDLE_S = QUOTA_MOST_S + WINDOW_S
"""The maximum pause of a counter within a move, because a burst is followed by up to 12 s without bytes."""

OF_BROKER = "($broker::INTEGER IS NULL OR broker_id = $broker)"
_EPISODE = "cluster, broker_id, direction, limited_from"
_IS_ACTIVE = " OR ".join(
    f"coalesce({name}::DOUBLE, 0) > 0"
    for name in ("catching_up_bytes", "unlisted_bytes", "moving_partitions", "reassignment_bytes")
)


def _on_episode(one: str, other: str) -> str:
    """Return the condition of a join by episode; a missing limit has no start, so NULL matches NULL."""
    return " AND ".join(f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in _EPISODE.split(", "))


ROWS = f"SELECT * FROM gold.throttle_compliance WHERE {IN_SPAN}"

# `stretch` is the number of each sequence of active windows. A replica can also catch up after a restart:
# only `is_cluster_moved` is a reassignment. A window without data has no row; a setting that is on before and
# after such a window was on in it. Metrics only show the window in which a counter increased.
_MARKED = f"""
    once AS (
        SELECT DISTINCT ON ({_EPISODE}, window_start) *, ({_IS_ACTIVE}) AS is_active,
               epoch(window_start)::BIGINT AS start_s
        FROM rows_of_span
    ),
    of_windows AS (
        SELECT *,
            bool_or(coalesce(throttled_bytes, 0) > 0) OVER of_window AS is_cluster_used,
            bool_or(is_active) OVER of_window AS is_cluster_active,
            bool_or(moving_partitions IS NOT NULL OR coalesce(reassignment_bytes, 0) > 0) OVER of_window
                AS is_cluster_moved,
            max(busy_until) OVER of_window AS cluster_busy_until,
            lag(is_active) OVER in_order AS was_active,
            lag(on_until) OVER in_order AS until_before,
            lag({WINDOW_END}) OVER in_order AS end_before
        FROM once
        WINDOW of_window AS (PARTITION BY cluster, window_start),
            in_order AS (PARTITION BY {_EPISODE} ORDER BY window_start)
    ),
    timed AS (
        SELECT *,
            (epoch_us(on_until) - epoch_us(greatest(
                CASE WHEN on_from = window_start AND until_before = end_before THEN until_before
                     ELSE on_from END,
                cluster_busy_until,
                CASE WHEN is_cluster_active AND cluster_busy_until IS NULL THEN {WINDOW_END} END
            ))) / 1e6 AS idle_s,
            max(window_start) FILTER (is_cluster_active) OVER (PARTITION BY {_EPISODE}) AS last_active,
            bool_or(is_active) OVER (PARTITION BY {_EPISODE}) AS has_copies,
            sum(CASE WHEN is_active AND NOT coalesce(was_active, false) THEN 1 ELSE 0 END)
                OVER (PARTITION BY {_EPISODE} ORDER BY window_start ROWS UNBOUNDED PRECEDING) AS stretch
        FROM of_windows
    ),
    marked AS (
        SELECT * REPLACE (CASE WHEN idle_s > 0 THEN idle_s ELSE 0.0 END AS idle_s),
            coalesce(window_start >= last_active, true) AS is_after
        FROM timed
    )"""

_SUMS = f"""
    sums AS (
        SELECT {_EPISODE}, min(window_start) AS since, max({WINDOW_END}) AS until,
            max(limit_bytes_per_s) AS limit_bytes_per_s, bool_or(is_listed) AS is_listed,
            bool_or(is_cluster_moved) AS has_moved, bool_or(is_cluster_used) AS is_used,
            sum(catching_up_bytes)::BIGINT AS catching_up_bytes, sum(in_sync_bytes)::BIGINT AS in_sync_bytes,
            sum(unlisted_bytes)::BIGINT AS unlisted_bytes,
            max(largest_answer_bytes) AS largest_answer_bytes,
            len(list_distinct(flatten(list(peers) FILTER (peers IS NOT NULL)))) AS peers,
            max(bean_max_bytes_per_s) AS bean_max_bytes_per_s,
            sum(bean_sum_bytes_per_s) FILTER (is_active) / nullif(sum(bean_n) FILTER (is_active), 0)
                AS bean_bytes_per_s,
            count(*) FILTER (is_active) * {WINDOW_S} AS active_s,
            CASE WHEN max(limit_bytes_per_s) IS NOT NULL OR bool_or(is_listed)
                 THEN coalesce(sum(idle_s) FILTER (is_after), 0.0) END AS idle_after_s
        FROM marked WHERE {OF_BROKER} GROUP BY {_EPISODE}
    )"""

# The first and last windows of the last stretch are excluded, because they are partial. Rates use bytes,
# because offsets are misleading if records differ in size.
_LAG = f"""
    lag_windows AS (
        SELECT *, max(stretch) OVER (PARTITION BY {_EPISODE}) AS last_stretch,
            min(start_s) OVER (PARTITION BY {_EPISODE}, stretch) AS first_s,
            max(start_s) FILTER (is_active) OVER (PARTITION BY {_EPISODE}, stretch) AS last_s
        FROM marked
    ),
    lag_rates AS (
        SELECT {_EPISODE}, arg_min(lag_records, start_s) AS lag_first_records,
            arg_max(lag_records, start_s) AS lag_last_records,
            CASE WHEN count(lag_records) > 1 THEN
                regr_slope(lag_records, start_s - first_s ORDER BY start_s) END AS lag_slope_records_per_s,
            count(*) AS whole_windows, count(*) FILTER (moving_partitions > 0) AS moving_windows,
            sum(inbound_bytes) / (count(*) * {WINDOW_S}) AS inbound_bytes_per_s,
            sum(catching_up_bytes) / (count(*) * {WINDOW_S}) AS passed_bytes_per_s
        FROM lag_windows
        WHERE stretch = last_stretch AND is_active AND start_s > first_s AND start_s < last_s
        GROUP BY {_EPISODE}
    )"""

# Scrapes of brokers are not aligned, so only windows with a sample of the broker count. An increase covers
# the `counter_s` before the sample. Excluded are the first scrape with copying and increases that begin less
# than a window after it, which contain the quota's first burst, and the last scrape, in which copying may
# have ended.
_COUNTERS = f"""
    samples AS (
        SELECT *, start_s - counter_s AS since_s, CASE WHEN reassignment_bytes > 0 THEN start_s END AS copying
        FROM marked WHERE counter_s > 0
    ),
    sample_gaps AS (
        SELECT *, since_s - last_value(copying IGNORE NULLS) OVER (PARTITION BY {_EPISODE} ORDER BY start_s
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_s
        FROM samples
    ),
    sample_moves AS (
        SELECT *, sum(CASE WHEN copying IS NOT NULL AND coalesce(gap_s > {IDLE_S}, true) THEN 1 ELSE 0 END)
            OVER (PARTITION BY {_EPISODE} ORDER BY start_s ROWS UNBOUNDED PRECEDING) AS nth_move
        FROM sample_gaps
    ),
    sample_ends AS (
        SELECT *, min(copying) OVER (PARTITION BY {_EPISODE}, nth_move) AS first_s,
            max(copying) OVER (PARTITION BY {_EPISODE}, nth_move) AS last_s
        FROM sample_moves
    ),
    counters AS (
        SELECT {_EPISODE}, sum(counter_s) AS moving_s_of_counters,
            sum(counter_s) FILTER (is_inside) AS counted_s,
            sum(reassignment_bytes) FILTER (is_inside) / nullif(sum(counter_s) FILTER (is_inside), 0)
                AS counter_bytes_per_s
        FROM (SELECT *, since_s >= first_s + {WINDOW_S} AND start_s < last_s AS is_inside FROM sample_ends)
        WHERE start_s <= last_s GROUP BY {_EPISODE}
    )"""

LIMITS = f"""
    WITH rows_of_span AS ({ROWS}), {_MARKED}, {_SUMS}, {_LAG}, {_COUNTERS}
    SELECT sums.*, lag_rates.* EXCLUDE ({_EPISODE}), counters.* EXCLUDE ({_EPISODE})
    FROM sums LEFT JOIN lag_rates ON {_on_episode("sums", "lag_rates")}
    LEFT JOIN counters ON {_on_episode("sums", "counters")}
    ORDER BY sums.limited_from, sums.broker_id, sums.direction"""


def stretches(rows: str = ROWS) -> str:
    """
    Return the query of each stretch's seconds from the first to the last catching-up byte.

    If no replica catches up under a limit, the bytes of in-sync replicas determine the range. `rows` selects
    rows of `gold.throttle_compliance`.
    """
    return f"""
    WITH rows_of_span AS ({rows}), {_MARKED},
    each AS (
        SELECT {_EPISODE}, stretch, start_s + nth - 1 AS second, sum(throttled_by_s[nth]) AS throttled,
            sum(catching_up_by_s[nth]) AS catching_up
        FROM (
            SELECT *, unnest(range(1, greatest(len(throttled_by_s), len(catching_up_by_s)) + 1)) AS nth
            FROM marked WHERE is_active OR NOT has_copies
        ) GROUP BY ALL
    ),
    bytes AS (
        SELECT *, CASE WHEN max(catching_up) OVER (PARTITION BY {_EPISODE}) > 0 THEN catching_up > 0
                       ELSE throttled > 0 END AS is_copy
        FROM each
    ),
    seconds AS (
        SELECT *, min(second) FILTER (is_copy) OVER of_stretch AS first_s,
            max(second) FILTER (is_copy) OVER of_stretch AS last_s
        FROM bytes WINDOW of_stretch AS (PARTITION BY {_EPISODE}, stretch)
    ),
    sliding AS (
        SELECT *, sum(throttled) OVER (PARTITION BY {_EPISODE}, stretch ORDER BY second
            RANGE BETWEEN {QUOTA_WINDOW_S - 1} PRECEDING AND CURRENT ROW) / {QUOTA_WINDOW_S} AS mean
        FROM seconds WHERE second BETWEEN first_s AND last_s
    )
    SELECT {_EPISODE}, list(second ORDER BY second) AS seconds,
        list(throttled::BIGINT ORDER BY second) AS throttled,
        list(catching_up::BIGINT ORDER BY second) AS catching_up, list(is_copy ORDER BY second) AS is_copy,
        sum(throttled) FILTER (second - first_s < {QUOTA_WINDOW_S}) / {QUOTA_WINDOW_S} AS first,
        max(mean) AS best, max(mean) FILTER (second - first_s >= {2 * QUOTA_WINDOW_S - 1}) AS best_later,
        max(last_s) - max(first_s) + 1 AS took_s
    FROM sliding GROUP BY {_EPISODE}, stretch"""


WINDOWS = f"""
    SELECT * FROM gold.throttle_compliance WHERE {IN_SPAN} AND {OF_BROKER}
    ORDER BY window_start, broker_id, direction, limited_from"""
TRAFFIC = f"""
    SELECT broker_id, direction, time_bucket(to_seconds($step_s), window_start) AS step_at,
           sum(throttled_bytes) / (10 * count(DISTINCT window_start)) AS throttled_bytes_per_s,
           max(limit_bytes_per_s) AS limit_bytes_per_s
    FROM gold.throttle_compliance WHERE {IN_SPAN} AND {OF_BROKER}
    GROUP BY ALL ORDER BY broker_id, direction, step_at"""


def limits(selection: GoldSelection) -> QueryRows:
    """
    Return `throttle_compliance_summary`: one row per broker, direction and limit, with its verdict.

    The first 11 s of a stretch have separate columns: the quota allows a burst, and the byte-rate MBean
    divides by too few seconds. The whole quota periods after them have no edge effects.
    """
    rates = _rates(selection.rows(stretches()))
    found = selection.rows(LIMITS)
    rows = [_judged(row, rates.get(_episode(row), {})) for row in found]
    # A tool removes the rates before the lists: in between there is nothing to say.
    return found.replaced(
        row for row in rows if row["limit_bytes_per_s"] is not None or row["state"] != NONE or row["moving_s"]
    )


def windows(selection: GoldSelection) -> QueryRows:
    """Return the rows of `gold.throttle_compliance`."""
    return selection.rows(WINDOWS)


def traffic(selection: GoldSelection) -> QueryRows:
    """Return the throttled bytes per second of each broker and direction, step by step."""
    return selection.rows(TRAFFIC)


def _rates(stretches: list[Row]) -> dict[tuple[object, ...], Row]:
    """Return the rates of each episode: in the first quota window, in whole periods, and the highest."""
    of_episode: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for stretch in stretches:
        of_episode[_episode(stretch)].append(stretch)
    return {episode: _rate(found) for episode, found in of_episode.items()}


def _rate(stretches: list[Row]) -> Row:
    after_first: list[Period] = []
    for of in stretches:
        after_first += periods(of["seconds"], of["throttled"], of["catching_up"], of["is_copy"])[1:]
    found = rate_of(after_first)
    return {
        "n": found.n,
        "rate_bytes_per_s": found.rate,
        "rate_low_bytes_per_s": found.low,
        "rate_high_bytes_per_s": found.high,
        "catching_up_rate_bytes_per_s": found.catching_up_rate,
        "first_window_bytes_per_s": _most(stretches, "first"),
        "best_window_bytes_per_s": _most(stretches, "best"),
        "best_later_bytes_per_s": _most(stretches, "best_later"),
        "moving_s": sum(of["took_s"] for of in stretches),
    }


def _most(stretches: list[Row], name: str) -> float | None:
    return max((of[name] for of in stretches if of[name] is not None), default=None)


_NO_RATE: Row = _rate([]) | {"moving_s": None}


def _judged(row: Row, rate: Row) -> Row:
    """Add the rates, the verdict and its explanation."""
    row = row | _NO_RATE | rate
    limit = row["limit_bytes_per_s"]
    if row["moving_s"] is None:
        of_counters = row["moving_s_of_counters"]
        row["moving_s"] = int(row["active_s"] if of_counters is None else of_counters)
    row["first_window_overshoot"] = _over(row["first_window_bytes_per_s"], limit)
    judged = measured(row)
    row["utilisation"] = judged / limit if limit and judged is not None else None
    row["state"] = state(row)
    row["cause"] = cause(row)
    row["why"] = why(row)
    row["measured_by"] = _measured_by(row)
    return row


def _over(rate: float | None, limit: int | None) -> float | None:
    return max(rate / limit - 1, 0.0) if rate is not None and limit else None


def _measured_by(row: Row) -> str | None:
    if row["rate_bytes_per_s"] is not None:
        return "request_log"
    return "counters" if row["counter_bytes_per_s"] is not None else None


def _episode(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _EPISODE.split(", "))
