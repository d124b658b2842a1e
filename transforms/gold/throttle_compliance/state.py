"""
What a throttle is called: the thresholds, all of them here, and the rules. `docs/throttles.md` gives reasons.

The columns are those of `throttle_compliance_summary`; in any rule that which is NULL speaks for nothing.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

QUOTA_WINDOW_S = 11
"""`replication.quota.window.num` x `.size.seconds`, their defaults: what Kafka's own quota looks at."""

QUOTA_MOST_S = 12
"""It keeps a sample until its last event is 11 s old (SampledStat), so it looks back at most so far."""

MEAN_TOLERANCE = 0.10
"""So far the mean over whole periods may lie above: a quota checks before it serves."""

WINDOW_TOLERANCE = 0.15
"""So far one window may: a line that a busy broker writes late shifts a burst from one to the next."""

LISTED_SHARE = 0.5
"""Where less than so much of what catches up is listed, the throttle does not hold what it is for."""

UNLISTED_S = 1.0
"""Less than the limit gives in so many seconds is no move: a replica that was restarted fetches some."""

STUCK_WINDOWS = 3
"""So many whole windows (10 s) behind the first are wanted before it is called stuck."""

LEFT_OVER_S = 25
"""So long may it stay on behind the last move: two quota windows, or a slow call of Kafka's tool (13 s)."""

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
    """Give the rate that is judged: the request log's, else the counters'."""
    return F.coalesce("rate_bytes_per_s", "counter_bytes_per_s")


def is_ineffective() -> Column:
    """Tell that what a limit was set for is not in a list, or that a list has no limit."""
    unlisted, held = _or_zero("unlisted_bytes"), _or_zero("catching_up_bytes")
    is_missed = (unlisted > F.lit(UNLISTED_S) * _limit()) & (held < F.lit(LISTED_SHARE) * (held + unlisted))
    has_no_rate = _limit().isNull() & (held > 0)
    is_seen_by_counters = F.col("catching_up_bytes").isNull() & (F.col("counter_bytes_per_s") > 0)
    has_no_list = _limit().isNotNull() & ~F.col("is_listed") & is_seen_by_counters
    return _sure(is_missed) | has_no_rate | _sure(has_no_list)


def is_stuck() -> Column:
    """Tell that replicas that are held back do not come nearer: no more passes than comes in."""
    is_outrun = F.col("passed_bytes_per_s") <= F.coalesce("inbound_bytes_per_s", F.lit(0.0))
    is_moving = F.col("moving_windows") == F.col("whole_windows")
    is_long = F.col("whole_windows") >= STUCK_WINDOWS
    return _sure(_limit().isNotNull() & is_outrun & is_moving & is_long)


def is_over() -> Column:
    """
    Tell that the mean, or one window, lies above the limit by more than is tolerated.

    Counters do not tell where the periods of the quota lie: what passes at once may be one time too many.
    """
    by_log, by_counters = F.col("rate_bytes_per_s"), F.col("counter_bytes_per_s")
    once_more = F.try_divide(F.lit(QUOTA_MOST_S), F.col("counted_s"))
    over = [
        F.when(by_log.isNotNull(), by_log > (1 + MEAN_TOLERANCE) * _limit()).otherwise(
            by_counters > (1 + MEAN_TOLERANCE + once_more) * _limit()
        ),
        F.col("best_window_bytes_per_s") > (1 + WINDOW_TOLERANCE) * _limit(),
    ]
    return reduce(Column.__or__, (_sure(one) for one in over))


def is_left_over() -> Column:
    """Tell that a limit or a list stayed on for long behind the last move."""
    return _sure(F.col("idle_after_s") >= LEFT_OVER_S)


def state() -> Column:
    """Name the state: what does not hold first, then what was left behind, then how well it held."""
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
    """Give the one word to the state; NULL where it says all."""
    held = F.col("catching_up_rate_bytes_per_s")
    is_held = _sure(held <= (1 + MEAN_TOLERANCE) * _limit()) & (_or_zero("in_sync_bytes") > 0)
    is_later_kept = [
        F.coalesce(measured() <= (1 + MEAN_TOLERANCE) * _limit(), F.lit(True)),
        F.coalesce(F.col("best_later_bytes_per_s") <= (1 + WINDOW_TOLERANCE) * _limit(), F.lit(True)),
    ]
    is_first = is_later_kept[0] & is_later_kept[1]
    # What the quota holds to the limit over 12 s may come in our 11.
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
    Give how much of a quota's window one round of answers fills: what is let through at once.

    A check goes before each answer, and an answer holds up to replica.fetch.max.bytes of each partition.
    """
    rounds = F.col("largest_answer_bytes") * F.greatest(F.size("peers"), F.lit(1))
    return F.try_divide(rounds, _limit() * QUOTA_WINDOW_S)


def why() -> Column:
    """Say the state and its cause with the figures that it rests on."""
    limit, rate = _mb(_limit()), _mb(measured())
    best, first = _mb(F.col("best_window_bytes_per_s")), _mb(F.col("first_window_bytes_per_s"))
    inbound, copied = _mb(F.col("inbound_bytes_per_s")), _mb(F.col("catching_up_rate_bytes_per_s"))
    passed = _mb(F.col("passed_bytes_per_s"))
    of_limit = _text(rate, " of ", limit, " MB/s (", _percent(F.try_divide(measured(), _limit())), ")")
    unheld, idle = _text(_mb(F.col("unlisted_bytes")), " MB went unheld"), _seconds()
    texts = {
        (COMPLIANT, None): _text(of_limit, _n(), ", best window ", best),
        (NOT_ENOUGH, None): _text("it did not move for two periods of the quota (11 to 12 s each)"),
        (NONE, NO_TRAFFIC): _text(limit, " MB/s is set, and nothing in this direction to hold"),
        (NONE, None): _text("replicas catch up, and no throttle is set"),
        (INEFFECTIVE, NO_LIST): _text(limit, " MB/s is set, but no list names a replica: ", unheld),
        (INEFFECTIVE, LIST_MISSES): _text(limit, " MB/s is set, but not listed is what moves: ", unheld),
        (INEFFECTIVE, NO_RATE): _text("replicas are listed, but no rate is set"),
        (STUCK, INBOUND): _text(
            "the lag does not fall: ", inbound, " MB/s come in, ", passed, " of ", limit, " pass"
        ),
        (STUCK, TOO_SMALL): _text("the lag does not fall: ", passed, " MB/s pass at a limit of ", limit),
        (LEFT_OVER, MOVE_DONE): _text("the move is done, and ", limit, " MB/s stayed on for ", idle),
        (LEFT_OVER, NO_MOVE): _text(limit, " MB/s is on and nothing moved for ", idle),
        (LEFT_OVER, LIST_ONLY): _text("no rate is set, but the lists stayed on for ", idle),
        (OVER_LIMIT, IN_SYNC): _text(of_limit, ": ", IN_SYNC_TEXT, copied),
        (OVER_LIMIT, FIRST_BURST): _text("the first window had ", first, " MB/s, then ", of_limit),
        (OVER_LIMIT, BURSTS): _text(
            of_limit,
            ", best window ",
            best,
            ": a round of answers is ",
            _percent(burst_share()),
            " of a window",
        ),
        (OVER_LIMIT, NOT_HELD): _text(of_limit, ", best window ", best, ", and nothing known explains it"),
    }
    cases = [
        F.when((F.col("state") == name) & F.col("cause").eqNullSafe(F.lit(word)), text)
        for (name, word), text in texts.items()
    ]
    is_on_still = (F.col("state") == OVER_LIMIT) & is_left_over() & F.col("has_moved")
    stayed = F.when(is_on_still, _text("; the move is done, and it stayed on for ", idle)).otherwise("")
    return F.concat(F.coalesce(*cases), stayed)


IN_SYNC_TEXT = "replicas in sync are counted and never held; those that catch up got "


def _text(*parts: Column | str) -> Column:
    return F.concat(*(F.lit(part) if isinstance(part, str) else part for part in parts))


def _n() -> Column:
    return F.when(F.col("n") > 0, _text(" over ", F.col("n").cast("string"), " windows")).otherwise("")


def _mb(value: Column) -> Column:
    """
    Write bytes as megabytes (10^6) with two decimals; what is not known is a dash.

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
