"""Every state and every cause, from rows whose answer is known."""

import pytest

from answers.throttles.limits import limits
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from tests.answers.cases import Cases
from tests.transforms.gold.throttle_rows import (
    MB,
    RECORD_BYTES,
    bean,
    copied,
    counter,
    fetch,
    gold,
    idle,
    in_sync,
    listing,
    move,
    produce,
    rate,
    throttle,
)

SENT, GOT = (1, "leader"), (2, "follower")
LIMIT = 5 * MB


def built(silver):
    return {THROTTLE_COMPLIANCE: gold(**silver)[THROTTLE_COMPLIANCE]}


def verdicts(selection):
    """Return the verdicts by (broker, direction); if the limit changed, the last one."""
    return {(row["broker_id"], row["direction"]): row for row in limits(selection)}


CASES = Cases(built, verdicts)


def case(*, lines, changes=None, ended=None, quiet=0, **more):
    """Copy partition 0 from broker 1 to broker 2; the request is at second 1."""
    waits = [idle(second) for second in range(0, quiet, 10)]
    isr = [in_sync(ended, [1, 2])] if ended else []
    changes = throttle(0.5, LIMIT) if changes is None else changes
    silver = {"moves": move(0.9, {0: [1, 2]}), "changes": changes, "isr": isr, "requests": lines + waits}
    return silver | more


def copy(seconds=60, rate=LIMIT, **more):
    return copied(seconds, rate, **{"whole": seconds * rate, **more})


@CASES.test
def test_move_at_the_limit_is_compliant_for_both_brokers():
    rows = yield case(lines=copy(), ended=61.6)

    for whom in (SENT, GOT):
        row = rows[whom]
        assert (row["state"], row["cause"], row["measured_by"]) == ("compliant", None, "request_log")
        assert row["rate_bytes_per_s"] == pytest.approx(LIMIT)
        assert (row["n"], row["first_window_overshoot"], row["utilisation"]) == (4, 0.0, pytest.approx(1))
        assert row["best_window_bytes_per_s"] == pytest.approx(LIMIT)
        assert (row["catching_up_bytes"], row["in_sync_bytes"], row["unlisted_bytes"]) == (60 * LIMIT, 0, 0)
        assert row["rate_low_bytes_per_s"] == row["rate_high_bytes_per_s"] == pytest.approx(LIMIT)
        assert row["why"] == "5.00 of 5.00 MB/s (100 %) over 4 quota periods, highest 11 s: 5.00"


@CASES.test
def test_brokers_other_direction_has_a_limit_and_nothing_to_hold():
    rows = yield case(lines=copy(), ended=61.6)

    assert (rows[1, "follower"]["state"], rows[1, "follower"]["cause"]) == ("none", "no_traffic")


@CASES.test
def test_bean_ramps_while_the_rate_is_at_the_limit():
    """The bean is a tenth of the truth at first and rises for 11 s; the verdict does not look at it."""
    beans = [bean(second, LIMIT * min(1, second / 11)) for second in range(1, 60, 10)]
    row = (yield case(lines=copy(), ended=61.6, events=beans))[SENT]

    assert row["state"] == "compliant"
    assert row["bean_bytes_per_s"] < 0.9 * LIMIT
    assert row["bean_max_bytes_per_s"] == LIMIT


@CASES.test
def test_first_burst_is_separate_from_what_follows_it():
    row = (yield case(lines=copy(whole=59 * LIMIT + 30 * MB, first=30 * MB), ended=61.6))[SENT]

    assert (row["state"], row["cause"]) == ("over_limit", "first_burst")
    assert row["first_window_overshoot"] == pytest.approx((30 + 50) / 55 - 1)
    assert row["rate_bytes_per_s"] == pytest.approx(LIMIT)
    assert row["why"] == "the first 11 s had 7.27 MB/s, then 5.00 of 5.00 MB/s (100 %)"


@CASES.test
def test_replicas_in_sync_are_counted_and_never_held():
    """Broker 3 is in sync and fetches 2 MB/s of the same partition: the list of leaders names it too."""
    live = [fetch(s + 0.3, {0: (2 * MB, 10**6 + s, 10**6 + s)}, follower=3) for s in range(1, 61)]
    rows = yield case(lines=copy() + live, ended=61.6)
    row = rows[SENT]

    assert (row["state"], row["cause"]) == ("over_limit", "in_sync_traffic")
    assert row["in_sync_bytes"] == 60 * 2 * MB
    assert row["rate_bytes_per_s"] == pytest.approx(7 * MB)
    assert rows[GOT]["state"] == "compliant"


@CASES.test
def test_replicas_in_sync_are_shown_where_nothing_moves():
    """`*` names every broker, but on broker 3 no rate was set: it has no verdict."""
    live = [fetch(s + 0.3, {0: (3 * MB, 10**6 + s, 10**6 + s)}) for s in range(1, 61)]
    changes = [
        rate(0.5, MB, 1),
        rate(0.5, MB, 2, "follower"),
        listing(0.4, "*"),
        listing(0.4, "*", "follower"),
    ]
    rows = yield {"requests": [*live, idle(5, 3)], "changes": changes}

    assert {whom: (row["state"], row["cause"]) for whom, row in rows.items()} == {
        SENT: ("over_limit", "in_sync_traffic"),
        GOT: ("over_limit", "in_sync_traffic"),
    }
    assert rows[SENT]["rate_bytes_per_s"] == pytest.approx(3 * MB)


@CASES.test
def test_tiny_quota_comes_in_bursts_of_whole_answers():
    """400 kB/s, 2.5 MB at once each 5 s: 1.25 of the limit, since a check goes before an answer."""
    limit = 400_000
    lines = copied(120, 500_000, whole=60 * MB, every=5)
    row = (yield case(lines=lines, changes=throttle(0.5, limit), ended=121.6))[SENT]

    assert (row["state"], row["cause"]) == ("over_limit", "tiny_quota")
    assert row["largest_answer_bytes"] == 2_500_000
    assert row["best_window_bytes_per_s"] > 1.5 * limit


@CASES.test
def test_rate_that_nothing_explains_is_not_held():
    row = (yield case(lines=copy(rate=2 * LIMIT), ended=61.6))[SENT]

    assert (row["state"], row["cause"]) == ("over_limit", "not_held")
    assert row["utilisation"] == pytest.approx(2)


@CASES.test
def test_rate_without_lists_holds_nothing():
    rates = [rate(0.5, LIMIT, 1, "leader"), rate(0.5, LIMIT, 2, "follower")]
    rows = yield case(lines=copy(rate=20 * MB), changes=rates, ended=61.6)

    for whom in (SENT, GOT):
        row = rows[whom]
        assert (row["state"], row["cause"]) == ("ineffective", "no_replica_list")
        assert (row["unlisted_bytes"], row["rate_bytes_per_s"]) == (60 * 20 * MB, None)


@CASES.test
def test_lists_that_name_others_hold_nothing():
    wrong = [rate(0.5, LIMIT, 1), listing(0.5, "7:1")]
    row = (yield case(lines=copy(), changes=wrong, ended=61.6))[SENT]

    assert (row["state"], row["cause"]) == ("ineffective", "replica_list_misses_moves")


@CASES.test
def test_lists_without_a_rate_hold_nothing():
    row = (yield case(lines=copy(), changes=[listing(0.5, "0:1")], ended=61.6))[SENT]

    assert (row["state"], row["cause"], row["limit_bytes_per_s"]) == ("ineffective", "no_rate", None)


@CASES.test
def test_replicas_that_catch_up_without_any_throttle_are_shown_without_a_verdict():
    row = (yield case(lines=copy(), changes=[], ended=61.6))[SENT]

    assert (row["state"], row["cause"]) == ("none", None)


@CASES.test
def test_move_that_is_outrun_by_its_producers_is_stuck():
    row = (yield case(lines=copy(whole=900 * MB, inbound=6 * MB)))[GOT]

    assert (row["state"], row["cause"]) == ("stuck", "inbound_at_least_limit")
    assert row["lag_slope_records_per_s"] == pytest.approx(1_000)
    assert (row["inbound_bytes_per_s"], row["passed_bytes_per_s"]) == (6 * MB, LIMIT)


@CASES.test
def test_records_that_differ_in_size_do_not_make_a_move_stuck():
    """Records of 10 kB are copied at 5 MB/s, such of 100 B come in at 1 MB/s: the lag grows in offsets."""
    lines, offset, end = [], 0, 100_000
    for second in range(1, 61):
        lines.append(fetch(second + 0.5, {0: (LIMIT, offset, end)}))
        lines.append(produce(second + 0.2, MB))
        offset, end = offset + LIMIT // 10_000, end + MB // 100
    row = (yield case(lines=lines))[GOT]

    assert row["lag_slope_records_per_s"] > 0
    assert row["state"] == "compliant"


@CASES.test
def test_limit_that_lets_nothing_through_is_stuck():
    """8 MB at once, then nothing for a minute."""
    burst = copied(1, 8 * MB, whole=900 * MB)
    row = (yield case(lines=burst, changes=throttle(0.5, 1_000), quiet=60))[GOT]

    assert (row["state"], row["cause"]) == ("stuck", "limit_too_small")


@CASES.test
def test_large_move_that_falls_slowly_is_not_stuck():
    row = (yield case(lines=copy(whole=10**12)))[GOT]

    assert row["state"] == "compliant"
    assert row["lag_slope_records_per_s"] == pytest.approx(-5_000)


@CASES.test
def test_throttle_that_stays_on_behind_its_move_is_left_over():
    """Broker 1 follows nothing: its other direction is left over as well."""
    rows = yield case(lines=copy(), ended=61.6, quiet=120)

    assert {(row["state"], row["cause"]) for row in rows.values()} == {("left_over", "move_done")}
    assert rows[SENT]["idle_after_s"] == pytest.approx(130 - 61.6, abs=11)
    assert rows[SENT]["rate_bytes_per_s"] == pytest.approx(LIMIT)


@CASES.test
def test_throttle_that_is_taken_off_in_time_is_not_left_over():
    changes = throttle(0.5, LIMIT) + throttle(75, None) + [listing(75, None, operation="delete")]
    changes += [listing(75, None, "follower", operation="delete")]
    row = (yield case(lines=copy(), changes=changes, ended=61.6, quiet=200))[SENT]

    assert (row["state"], row["idle_after_s"]) == ("compliant", pytest.approx(75 - 61.6))


QUIET = [idle(second) for second in range(0, 60, 10)]
CASES.silver |= {
    "nothing moves": {"requests": QUIET, "changes": throttle(0.5, LIMIT)},
    "list only": {"requests": QUIET, "changes": [listing(0.5, "0:1")]},
}


def test_throttle_on_which_nothing_moves_and_lists_without_a_rate_are_left_over():
    rows, listed = (CASES.answer(name) for name in ("nothing moves", "list only"))

    assert (rows[SENT]["state"], rows[SENT]["cause"]) == ("left_over", "no_move_seen")
    assert (listed[SENT]["state"], listed[SENT]["cause"]) == ("left_over", "list_only")


@CASES.test
def test_silence_while_a_move_is_under_way_is_no_left_over():
    """One answer a minute: that the move goes on is only known because no replica came in sync."""
    lines = copied(240, 100_000, whole=900 * MB, every=60)
    row = (yield case(lines=lines, changes=throttle(0.5, 100_000), quiet=240))[GOT]

    assert row["state"] != "left_over"
    assert row["idle_after_s"] == pytest.approx(0, abs=0.001)


@CASES.test
def test_move_that_is_over_too_soon_has_no_rate():
    row = (yield case(lines=copy(seconds=15), ended=16.6))[SENT]

    assert (row["state"], row["rate_bytes_per_s"], row["n"]) == ("not_enough_data", None, 0)
    assert row["first_window_bytes_per_s"] == pytest.approx(LIMIT)


@CASES.test
def test_without_a_request_log_counters_and_beans_show_what_they_can():
    """The rate is without the first burst, in which a scrape may fall, and without the open end."""
    counters = [
        counter(second + 3, LIMIT * seconds, whom, way)
        for second, seconds in zip(range(10, 70, 10), (30, 30, 10, 10, 10, 3), strict=True)
        for whom, way in (SENT, GOT)
    ]
    changes = [row | {"told_by": "poll"} for row in throttle(0.5, LIMIT)]
    row = (yield {"changes": changes, "events": [*counters, bean(44, LIMIT)]})[SENT]

    assert (row["state"], row["measured_by"]) == ("compliant", "counters")
    assert row["counter_bytes_per_s"] == pytest.approx(LIMIT)
    nothing = (
        row["rate_bytes_per_s"],
        row["best_window_bytes_per_s"],
        row["in_sync_bytes"],
        row["lag_last_records"],
    )
    assert nothing == (None, None, None, None)


@CASES.test
def test_without_a_request_log_a_rate_without_lists_is_ineffective():
    counters = [counter(second, 20 * MB * 10) for second in range(13, 70, 10)]
    row = (yield {"changes": [rate(0.5, LIMIT)], "events": counters})[SENT]

    assert (row["state"], row["cause"]) == ("ineffective", "no_replica_list")


def scraped(every_s, starts):
    """Return counters of both brokers, whose first scrapes are at these seconds."""
    counters = [
        counter(start + nth * every_s, LIMIT * every_s, whom, way, took_s=every_s)
        for (whom, way), start in zip((SENT, GOT), starts, strict=True)
        for nth in range(1, 300 // every_s)
    ]
    return {"changes": throttle(0.5, LIMIT), "events": counters}


SCRAPES = [(10, (3, 9)), (15, (3, 10)), (30, (5, 25)), (60, (2, 41))]
CASES.silver |= {f"scraped every {every_s} s": scraped(every_s, starts) for every_s, starts in SCRAPES}


@pytest.mark.parametrize("every_s", [every_s for every_s, _ in SCRAPES])
def test_counters_of_brokers_that_are_scraped_at_instants_of_their_own_have_the_rate(every_s):
    rows = CASES.answer(f"scraped every {every_s} s")

    for whom in (SENT, GOT):
        assert rows[whom]["counter_bytes_per_s"] == pytest.approx(LIMIT)
        assert (rows[whom]["state"], rows[whom]["measured_by"]) == ("compliant", "counters")


@CASES.test
def test_counters_that_rest_between_bursts_are_no_higher_a_rate():
    """What may pass in 11.5 s passes at once: of ten scrapes one or two see none of it."""
    bursts = [1 + 11.5 * nth for nth in range(20)]
    in_scrape = [
        (second, sum(second - 10 < burst <= second for burst in bursts)) for second in range(3, 233, 10)
    ]
    counters = [counter(second, n * 11.5 * LIMIT) for second, n in in_scrape]
    row = (yield {"changes": throttle(0.5, LIMIT), "events": counters})[SENT]

    assert 0 in {n for _, n in in_scrape[1:]}
    assert row["counter_bytes_per_s"] == pytest.approx(LIMIT, rel=0.06)
    assert (row["state"], row["moving_s"]) == ("compliant", 230)


@CASES.test
def test_counters_of_two_moves_are_not_thinned_by_the_time_between_them():
    copying = [*range(3, 100, 10), *range(603, 700, 10)]
    counters = [counter(second, LIMIT * 10 * (second in copying)) for second in range(3, 700, 10)]
    row = (yield {"changes": throttle(0.5, LIMIT), "events": counters})[SENT]

    assert row["counter_bytes_per_s"] == pytest.approx(LIMIT)
    assert row["moving_s"] == 200


@CASES.test
def test_counters_show_a_limit_that_is_not_held():
    counters = [counter(second, 1.5 * LIMIT * 10) for second in range(3, 123, 10)]
    row = (yield {"changes": throttle(0.5, LIMIT), "events": counters})[SENT]

    assert (row["state"], row["cause"]) == ("over_limit", "not_held")
    assert row["utilisation"] == pytest.approx(1.5)


@CASES.test
def test_counters_show_a_throttle_that_was_left_over_however_seldom_they_are_scraped():
    counters = [counter(second, LIMIT * 60 * (second < 200), took_s=60.0) for second in range(5, 500, 60)]
    row = (yield {"changes": throttle(0.5, LIMIT), "events": counters})[SENT]

    assert (row["state"], row["cause"]) == ("left_over", "move_done")
    assert row["idle_after_s"] == pytest.approx(490 - 190)


@CASES.test
def test_limit_that_was_not_held_is_shown_though_it_was_left_over_as_well():
    row = (yield case(lines=copy(rate=3 * LIMIT), ended=61.6, quiet=140))[SENT]

    assert (row["state"], row["cause"]) == ("over_limit", "not_held")
    assert row["why"].endswith("; the move is done, but the limit stayed set for 78 s")


@CASES.test
def test_permanent_throttle_is_not_left_over_when_a_replica_came_back():
    """Nobody moved anything: broker 2 had been restarted."""
    rates = [rate(0.5, LIMIT, broker, way) for broker in (1, 2) for way in ("leader", "follower")]
    lists = [listing(0.5, "*", way) for way in ("leader", "follower")]
    quiet = [idle(second) for second in range(0, 200, 10)]
    rows = yield {"requests": [*copy(), *quiet], "changes": rates + lists}

    assert (rows[SENT]["state"], rows[GOT]["state"]) == ("compliant", "compliant")


@CASES.test
def test_leader_that_changes_within_a_move_does_not_make_it_stuck():
    one = copied(25, LIMIT, whole=2_000 * MB, inbound=MB)
    records = LIMIT // RECORD_BYTES
    offsets = [(25 + nth) * records for nth in range(100)]
    two = [
        line
        for second, offset in enumerate(offsets, start=27)
        for line in (
            fetch(second + 0.5, {0: (LIMIT, offset, 2_000_000 + second * 1_000)}, leader=3),
            produce(second + 0.2, MB, leader=3),
        )
    ]
    quiet = [idle(second) for second in range(30, 130, 10)]
    changes = [*throttle(0.5, LIMIT), rate(0.5, LIMIT, 3), listing(0.6, "0:1,0:3")]
    rows = yield {"requests": one + two + quiet, "moves": move(0.9, {0: [1, 3, 2]}), "changes": changes}

    assert {rows[whom]["state"] for whom in (SENT, GOT, (3, "leader"))} == {"compliant"}
    assert rows[SENT]["moving_s"] == 25
    assert rows[3, "leader"]["moving_s"] == 100


@CASES.test
def test_limit_of_zero_is_stuck_and_no_error():
    rows = yield case(
        lines=copied(72, 100_000, whole=500 * MB, inbound=MB),
        changes=throttle(0.5, 0),
    )

    assert (rows[SENT]["state"], rows[SENT]["cause"]) == ("stuck", "inbound_at_least_limit")
    assert rows[SENT]["utilisation"] is None


@CASES.test
def test_list_that_names_a_replica_twice_counts_its_bytes_once():
    rows = yield case(
        lines=copied(60, LIMIT, whole=300 * MB),
        ended=61.6,
        changes=[*throttle(0.5, LIMIT), listing(0.6, "0:1,0:1", "leader")],
    )

    assert rows[SENT]["utilisation"] == pytest.approx(1, abs=0.05)
