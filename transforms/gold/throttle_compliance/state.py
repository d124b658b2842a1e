"""
The verdict of a throttle: all thresholds and rules. `docs/throttles.md` explains them.

The columns are those of `throttle_compliance_summary`. A NULL input never satisfies a rule.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

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


def _limit() -> Column:
    return F.col("limit_bytes_per_s")


def measured() -> Column:
    """Return the rate to judge: that of the request log, else that of the counters."""
    return F.coalesce("rate_bytes_per_s", "counter_bytes_per_s")


def is_ineffective() -> Column:
    """Return whether moving replicas are not on a list, or a list has no limit."""
    unlisted, held = _or_zero("unlisted_bytes"), _or_zero("catching_up_bytes")
    is_missed = (unlisted > F.lit(UNLISTED_S) * _limit()) & (held < F.lit(LISTED_SHARE) * (held + unlisted))
    has_no_rate = _limit().isNull() & (held > 0)
    is_seen_by_counters = F.col("catching_up_bytes").isNull() & (F.col("counter_bytes_per_s") > 0)
    has_no_list = _limit().isNotNull() & ~F.col("is_listed") & is_seen_by_counters
    return _sure(is_missed) | has_no_rate | _sure(has_no_list)


def is_stuck() -> Column:
    """Return whether throttled replicas do not catch up: they receive no more than is produced."""
    is_outrun = F.col("passed_bytes_per_s") <= F.coalesce("inbound_bytes_per_s", F.lit(0.0))
    is_moving = F.col("moving_windows") == F.col("whole_windows")
    is_long = F.col("whole_windows") >= STUCK_WINDOWS
    return _sure(_limit().isNotNull() & is_outrun & is_moving & is_long)


def is_over() -> Column:
    """
    Return whether the mean, or one window, exceeds the limit by more than the tolerance.

    Counters do not show the quota periods, so their tolerance includes one more burst.
    """
    by_log, by_counters = F.col("rate_bytes_per_s"), F.col("counter_bytes_per_s")
    extra_burst = F.try_divide(F.lit(QUOTA_MOST_S), F.col("counted_s"))
    over = [
        F.when(by_log.isNotNull(), by_log > (1 + MEAN_TOLERANCE) * _limit()).otherwise(
            by_counters > (1 + MEAN_TOLERANCE + extra_burst) * _limit()
        ),
        F.col("best_window_bytes_per_s") > (1 + WINDOW_TOLERANCE) * _limit(),
    ]
    return reduce(Column.__or__, (_sure(one) for one in over))


def is_left_over() -> Column:
    """Return whether a limit or a list stayed set too long after the last move."""
    return _sure(F.col("idle_after_s") >= LEFT_OVER_S)


def state() -> Column:
    """Return the state: first ineffective throttles, then leftovers, then compliance."""
    is_on = _limit().isNotNull() | F.col("is_listed")
    is_moving = (_or_zero("moving_s") > 0) | (_or_zero("in_sync_bytes") > 0)
    return (
        F.when(~is_on, NONE)
        .when(is_ineffective(), INEFFECTIVE)
        .when(is_stuck(), STUCK)
        .when(is_over(), OVER_LIMIT)
        .when(is_left_over() & (F.col("has_moved") | ~F.col("is_used")), LEFT_OVER)
        .when(~is_moving | _limit().isNull(), NONE)
        .when(measured().isNull(), NOT_ENOUGH)
        .otherwise(COMPLIANT)
    )


def cause() -> Column:
    """Return the cause of the state; NULL if it needs none."""
    held = F.col("catching_up_rate_bytes_per_s")
    is_held = _sure(held <= (1 + MEAN_TOLERANCE) * _limit()) & (_or_zero("in_sync_bytes") > 0)
    is_later_kept = [
        F.coalesce(measured() <= (1 + MEAN_TOLERANCE) * _limit(), F.lit(True)),
        F.coalesce(F.col("best_later_bytes_per_s") <= (1 + WINDOW_TOLERANCE) * _limit(), F.lit(True)),
    ]
    is_first = is_later_kept[0] & is_later_kept[1]
    # The quota may limit the mean over 12 s; the same bytes can fall into a window of 11 s.
    explained = F.lit(QUOTA_MOST_S / QUOTA_WINDOW_S) * (1 + burst_share()) + F.lit(WINDOW_TOLERANCE)
    is_burst = _sure(F.col("best_window_bytes_per_s") <= explained * _limit()) & _sure(
        burst_share() >= WINDOW_TOLERANCE
    )
    is_outrun = _sure(F.col("inbound_bytes_per_s") >= _limit())
    has_moved = F.col("has_moved")
    return (
        F.when(
            F.col("state") == INEFFECTIVE,
            F.when(_limit().isNull(), NO_RATE).when(F.col("is_listed"), LIST_MISSES).otherwise(NO_LIST),
        )
        .when(F.col("state") == STUCK, F.when(is_outrun, INBOUND).otherwise(TOO_SMALL))
        .when(
            F.col("state") == LEFT_OVER,
            F.when(_limit().isNull(), LIST_ONLY).when(has_moved, MOVE_DONE).otherwise(NO_MOVE),
        )
        .when(
            F.col("state") == OVER_LIMIT,
            F.when(is_held, IN_SYNC).when(is_first, FIRST_BURST).when(is_burst, BURSTS).otherwise(NOT_HELD),
        )
        .when((F.col("state") == NONE) & _limit().isNotNull(), NO_TRAFFIC)
    )


def burst_share() -> Column:
    """
    Return the share of a quota window that one round of responses fills, which passes as one burst.

    The quota checks before each response. A response contains up to replica.fetch.max.bytes per partition.
    """
    rounds = F.col("largest_answer_bytes") * F.greatest(F.size("peers"), F.lit(1))
    return F.try_divide(rounds, _limit() * QUOTA_WINDOW_S)


def why() -> Column:
    """Return the state and its cause as a sentence with figures."""
    limit, rate = _mb(_limit()), _mb(measured())
    best, first = _mb(F.col("best_window_bytes_per_s")), _mb(F.col("first_window_bytes_per_s"))
    inbound, copied = _mb(F.col("inbound_bytes_per_s")), _mb(F.col("catching_up_rate_bytes_per_s"))
    passed = _mb(F.col("passed_bytes_per_s"))
    of_limit = _text(rate, " of ", limit, " MB/s (", _percent(F.try_divide(measured(), _limit())), ")")
    missed, idle = _text(_mb(F.col("unlisted_bytes")), " MB were not throttled"), _seconds()
    texts = {
        (COMPLIANT, None): _text(of_limit, _n(), ", highest 11 s: ", best),
        (NOT_ENOUGH, None): _text("replication lasted less than two quota periods (11 to 12 s each)"),
        (NONE, NO_TRAFFIC): _text(limit, " MB/s is set, but there is no throttled traffic in this direction"),
        (NONE, None): _text("replicas catch up, and no throttle is set"),
        (INEFFECTIVE, NO_LIST): _text(limit, " MB/s is set, but no list names a replica: ", missed),
        (INEFFECTIVE, LIST_MISSES): _text(
            limit, " MB/s is set, but moving replicas are on no list: ", missed
        ),
        (INEFFECTIVE, NO_RATE): _text("replicas are listed, but no rate is set"),
        (STUCK, INBOUND): _text(
            "the lag does not fall: produced ", inbound, " MB/s, replicated ", passed, " of ", limit, " MB/s"
        ),
        (STUCK, TOO_SMALL): _text("the lag does not fall: replicated ", passed, " of ", limit, " MB/s"),
        (LEFT_OVER, MOVE_DONE): _text("the move is done, but ", limit, " MB/s stayed set for ", idle),
        (LEFT_OVER, NO_MOVE): _text(limit, " MB/s is set, but nothing moved for ", idle),
        (LEFT_OVER, LIST_ONLY): _text("no rate is set, but the lists stayed set for ", idle),
        (OVER_LIMIT, IN_SYNC): _text(of_limit, ": ", IN_SYNC_TEXT, copied),
        (OVER_LIMIT, FIRST_BURST): _text("the first 11 s had ", first, " MB/s, then ", of_limit),
        (OVER_LIMIT, BURSTS): _text(
            of_limit,
            ", highest 11 s: ",
            best,
            ": one round of responses is ",
            _percent(burst_share()),
            " of a quota window",
        ),
        (OVER_LIMIT, NOT_HELD): _text(of_limit, ", highest 11 s: ", best, ", without a known cause"),
    }
    cases = [
        F.when((F.col("state") == name) & F.col("cause").eqNullSafe(F.lit(word)), text)
        for (name, word), text in texts.items()
    ]
    is_still_set = (F.col("state") == OVER_LIMIT) & is_left_over() & F.col("has_moved")
    stayed = F.when(is_still_set, _text("; the move is done, but the limit stayed set for ", idle)).otherwise(
        ""
    )
    return F.concat(F.coalesce(*cases), stayed)


IN_SYNC_TEXT = "the quota counts in-sync replicas and never delays them; MB/s of catching-up replicas: "


def _text(*parts: Column | str) -> Column:
    return F.concat(*(F.lit(part) if isinstance(part, str) else part for part in parts))


def _n() -> Column:
    return F.when(F.col("n") > 0, _text(" over ", F.col("n").cast("string"), " quota periods")).otherwise("")


def _mb(value: Column) -> Column:
    """
    Return bytes as megabytes (10^6) with two decimals; NULL as a dash.

    >>> rates = spark.createDataFrame([(5242880,), (1000,), (None,)], "rate long")
    >>> [row[0] for row in rates.select(_mb(F.col("rate"))).collect()]
    ['5.24', '0.00', '-']
    """
    return F.when(value.isNotNull(), F.format_string("%.2f", value / 1e6)).otherwise("-")


def _percent(share: Column) -> Column:
    return F.when(share.isNotNull(), F.format_string("%.0f %%", share * 100)).otherwise("-")


def _seconds() -> Column:
    return F.format_string("%.0f s", F.col("idle_after_s"))


def _or_zero(name: str) -> Column:
    return F.coalesce(F.col(name).cast("double"), F.lit(0.0))


def _sure(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(False))
