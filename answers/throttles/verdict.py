"""
The verdict of a throttle: all thresholds and rules. `docs/throttles.md` explains them.

A row has the columns of `throttle_compliance_summary` and of `limits.LIMITS`. A missing value never satisfies
a rule.
"""

from collections.abc import Callable

from schemas.rows import Row

QUOTA_WINDOW_S = 11
"""The default of `replication.quota.window.num` x `replication.quota.window.size.seconds`."""

QUOTA_MOST_S = 12
"""The longest averaging time: SampledStat keeps a sample until its last event is 11 s old."""

MEAN_TOLERANCE = 0.10
"""The tolerance of the mean over whole periods, because the quota checks before it sends."""

WINDOW_TOLERANCE = 0.15
"""The tolerance of one window, because a busy broker logs late and shifts bursts between windows."""

LISTED_SHARE = 0.5
"""The minimum share of catching-up bytes on a list. Below it the throttle misses its purpose."""

UNLISTED_S = 1.0
"""Unlisted bytes below this many seconds of the limit are no move: a restarted replica fetches some."""

STUCK_WINDOWS = 3
"""The minimum number of whole 10 s windows after the first one for the state `stuck`."""

LEFT_OVER_S = 25
"""A setting may stay this long after the last move: two quota windows, or a slow tool call (13 s)."""

COMPLIANT, OVER_LIMIT, INEFFECTIVE = "compliant", "over_limit", "ineffective"
STUCK, LEFT_OVER, NONE, NOT_ENOUGH = "stuck", "left_over", "none", "not_enough_data"

NO_LIST, LIST_MISSES, NO_RATE = "no_replica_list", "replica_list_misses_moves", "no_rate"
INBOUND, TOO_SMALL = "inbound_at_least_limit", "limit_too_small"
IN_SYNC, FIRST_BURST, BURSTS, NOT_HELD = "in_sync_traffic", "first_burst", "tiny_quota", "not_held"
NO_MOVE, LIST_ONLY, MOVE_DONE = "no_move_seen", "list_only", "move_done"
NO_TRAFFIC = "no_traffic"


def measured(row: Row) -> float | None:
    """Return the rate to judge: that of the request log, else that of the counters."""
    rate: float | None = row["rate_bytes_per_s"]
    return row["counter_bytes_per_s"] if rate is None else rate


def is_ineffective(row: Row) -> bool:
    """Return whether moving replicas are not on a list, or a list has no limit."""
    limit, unlisted, caught_up = (
        row["limit_bytes_per_s"],
        _or_zero(row["unlisted_bytes"]),
        _or_zero(row["catching_up_bytes"]),
    )
    if limit is None:
        return caught_up > 0
    is_missed = unlisted > UNLISTED_S * limit and caught_up < LISTED_SHARE * (caught_up + unlisted)
    is_seen_by_counters = row["catching_up_bytes"] is None and _or_zero(row["counter_bytes_per_s"]) > 0
    return is_missed or (row["is_listed"] is False and is_seen_by_counters)


def is_stuck(row: Row) -> bool:
    """Return whether throttled replicas do not catch up: they receive no more than is produced."""
    if row["limit_bytes_per_s"] is None or row["passed_bytes_per_s"] is None:
        return False
    is_long = row["whole_windows"] >= STUCK_WINDOWS and row["moving_windows"] == row["whole_windows"]
    return bool(is_long and row["passed_bytes_per_s"] <= _or_zero(row["inbound_bytes_per_s"]))


def is_over(row: Row) -> bool:
    """
    Return whether the mean, or one window, exceeds the limit by more than the tolerance.

    Counters do not show the quota periods, so their tolerance includes one more burst.
    """
    if row["rate_bytes_per_s"] is not None:
        is_mean_over = _exceeds(row, row["rate_bytes_per_s"], 1 + MEAN_TOLERANCE)
    else:
        burst = QUOTA_MOST_S / row["counted_s"] if row["counted_s"] else float("inf")
        is_mean_over = _exceeds(row, row["counter_bytes_per_s"], 1 + MEAN_TOLERANCE + burst)
    return is_mean_over or _exceeds(row, row["best_window_bytes_per_s"], 1 + WINDOW_TOLERANCE)


def is_left_over(row: Row) -> bool:
    """Return whether a limit or a list stayed set too long after the last move."""
    return row["idle_after_s"] is not None and row["idle_after_s"] >= LEFT_OVER_S


def is_stale(row: Row) -> bool:
    """Return whether it stayed set after a move, or without any throttled traffic."""
    return is_left_over(row) and bool(row["has_moved"] or not row["is_used"])


def is_unset(row: Row) -> bool:
    """Return whether there is neither a limit nor a list."""
    return row["limit_bytes_per_s"] is None and row["is_listed"] is False


def is_unused(row: Row) -> bool:
    """Return whether there is no limit, or no traffic that it limits."""
    is_moving = _or_zero(row["moving_s"]) > 0 or _or_zero(row["in_sync_bytes"]) > 0
    return not is_moving or row["limit_bytes_per_s"] is None


RULES: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    (NONE, is_unset),
    (INEFFECTIVE, is_ineffective),
    (STUCK, is_stuck),
    (OVER_LIMIT, is_over),
    (LEFT_OVER, is_stale),
    (NONE, is_unused),
    (NOT_ENOUGH, lambda row: measured(row) is None),
)
"""The states and their conditions; the first that holds applies."""


def state(row: Row) -> str:
    """Return the state: first ineffective throttles, then leftovers, then compliance."""
    return next((name for name, holds in RULES if holds(row)), COMPLIANT)


def cause(row: Row) -> str | None:
    """Return the cause of the state; None if it needs none."""
    limit = row["limit_bytes_per_s"]
    if row["state"] == INEFFECTIVE:
        return NO_RATE if limit is None else LIST_MISSES if row["is_listed"] else NO_LIST
    if row["state"] == STUCK:
        is_outrun = row["inbound_bytes_per_s"] is not None and row["inbound_bytes_per_s"] >= limit
        return INBOUND if is_outrun else TOO_SMALL
    if row["state"] == LEFT_OVER:
        return LIST_ONLY if limit is None else MOVE_DONE if row["has_moved"] else NO_MOVE
    if row["state"] == OVER_LIMIT:
        return _cause_of_excess(row)
    return NO_TRAFFIC if row["state"] == NONE and limit is not None else None


def _cause_of_excess(row: Row) -> str:
    limit, burst = row["limit_bytes_per_s"], burst_share(row)
    copied, best = row["catching_up_rate_bytes_per_s"], row["best_window_bytes_per_s"]
    is_copy_within = copied is not None and copied <= (1 + MEAN_TOLERANCE) * limit
    if is_copy_within and _or_zero(row["in_sync_bytes"]) > 0:
        return IN_SYNC
    is_mean_over = _exceeds(row, measured(row), 1 + MEAN_TOLERANCE)
    if not is_mean_over and not _exceeds(row, row["best_later_bytes_per_s"], 1 + WINDOW_TOLERANCE):
        return FIRST_BURST
    # The quota may limit the mean over 12 s; the same bytes can fall into a window of 11 s.
    if burst is not None and burst >= WINDOW_TOLERANCE and best is not None:
        explained = QUOTA_MOST_S / QUOTA_WINDOW_S * (1 + burst) + WINDOW_TOLERANCE
        if best <= explained * limit:
            return BURSTS
    return NOT_HELD


def burst_share(row: Row) -> float | None:
    """
    Return the share of a quota window that one round of responses fills, which passes as one burst.

    The quota checks before each response. A response contains up to replica.fetch.max.bytes per partition.
    """
    if row["largest_answer_bytes"] is None or not row["limit_bytes_per_s"]:
        return None
    share: float = row["largest_answer_bytes"] * max(row["peers"] or 0, 1)
    share /= row["limit_bytes_per_s"] * QUOTA_WINDOW_S
    return share


def why(row: Row) -> str | None:
    """Return the state and its cause as a sentence with figures."""
    limit, rate, passed = _mb(row["limit_bytes_per_s"]), _mb(measured(row)), _mb(row["passed_bytes_per_s"])
    best, first = _mb(row["best_window_bytes_per_s"]), _mb(row["first_window_bytes_per_s"])
    of_limit = f"{rate} of {limit} MB/s ({_percent(row['utilisation'])})"
    missed, idle = f"{_mb(row['unlisted_bytes'])} MB were not throttled", f"{row['idle_after_s'] or 0:.0f} s"
    periods = f" over {row['n']} quota periods" if row["n"] else ""
    texts = {
        (COMPLIANT, None): f"{of_limit}{periods}, highest 11 s: {best}",
        (NOT_ENOUGH, None): "replication lasted less than two quota periods (11 to 12 s each)",
        (NONE, NO_TRAFFIC): f"{limit} MB/s is set, but there is no throttled traffic in this direction",
        (NONE, None): "replicas catch up, and no throttle is set",
        (INEFFECTIVE, NO_LIST): f"{limit} MB/s is set, but no list names a replica: {missed}",
        (INEFFECTIVE, LIST_MISSES): f"{limit} MB/s is set, but moving replicas are on no list: {missed}",
        (INEFFECTIVE, NO_RATE): "replicas are listed, but no rate is set",
        (STUCK, INBOUND): f"the lag does not fall: produced {_mb(row['inbound_bytes_per_s'])} MB/s, "
        f"replicated {passed} of {limit} MB/s",
        (STUCK, TOO_SMALL): f"the lag does not fall: replicated {passed} of {limit} MB/s",
        (LEFT_OVER, MOVE_DONE): f"the move is done, but {limit} MB/s stayed set for {idle}",
        (LEFT_OVER, NO_MOVE): f"{limit} MB/s is set, but nothing moved for {idle}",
        (LEFT_OVER, LIST_ONLY): f"no rate is set, but the lists stayed set for {idle}",
        (OVER_LIMIT, IN_SYNC): f"{of_limit}: the quota counts in-sync replicas and never delays them; "
        f"MB/s of catching-up replicas: {_mb(row['catching_up_rate_bytes_per_s'])}",
        (OVER_LIMIT, FIRST_BURST): f"the first 11 s had {first} MB/s, then {of_limit}",
        (OVER_LIMIT, BURSTS): f"{of_limit}, highest 11 s: {best}: one round of responses is "
        f"{_percent(burst_share(row))} of a quota window",
        (OVER_LIMIT, NOT_HELD): f"{of_limit}, highest 11 s: {best}, without a known cause",
    }
    text = texts.get((row["state"], row["cause"]))
    if text and row["state"] == OVER_LIMIT and is_left_over(row) and row["has_moved"]:
        return f"{text}; the move is done, but the limit stayed set for {idle}"
    return text


def _exceeds(row: Row, rate: float | None, share: float) -> bool:
    limit = row["limit_bytes_per_s"]
    return rate is not None and limit is not None and rate > share * limit


def _mb(value: float | None) -> str:
    """
    Return bytes as megabytes (10^6) with two decimals; None as a dash.

    >>> [_mb(rate) for rate in (5242880, 1000, None)]
    ['5.24', '0.00', '-']
    """
    return "-" if value is None else f"{value / 1e6:.2f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share * 100:.0f} %"


def _or_zero(value: float | None) -> float:
    return value or 0.0
