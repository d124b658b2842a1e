"""Moves and their forecasts, on made moves whose end is known."""

from dataclasses import replace
from datetime import timedelta

import pytest

from answers.throttles.moves import forecast, moves, states
from schemas.gold.reassignment_progress import (
    REASSIGNMENT_FORECAST,
    REASSIGNMENT_PROGRESS,
    REASSIGNMENT_SUMMARY,
)
from tests.answers.cases import Cases
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.move_rows import LIMIT, WHOLE, case
from tests.transforms.gold.throttle_rows import (
    AT,
    MB,
    RECORD_BYTES,
    at,
    copied,
    fetch,
    gold,
    in_sync,
    listing,
    move,
    rate,
    throttle,
)


def built(silver):
    return {REASSIGNMENT_PROGRESS: gold(**silver)[REASSIGNMENT_PROGRESS]}


def in_lane(rows):
    return [(row["moved_at"], row["ended_at"], row["partitions"], row["state"]) for row in rows]


def answers(selection):
    """Return forecasts and moves; the event lane agrees, also if it sees only the second half of a move."""
    summary = moves(selection)
    assert in_lane(states(selection)) == in_lane(summary)
    for row in summary:
        late = replace(selection, since=row["moved_at"] + (row["seen_until"] - row["moved_at"]) / 2)
        assert in_lane(states(late)) == in_lane(moves(late))
    return forecast(selection), summary


CASES = Cases(built, answers)


def test_rows_are_the_declared_ones():
    forecasts, summary = answers(selected(built(case())))

    assert_declared(forecasts, REASSIGNMENT_FORECAST)
    assert_declared(summary, REASSIGNMENT_SUMMARY)


def test_without_moves_there_is_nothing():
    assert answers(selected(built({}))) == ([], [])


@CASES.test
def test_move_that_is_done_is_summed_up_and_its_forecast_is_held_against_its_end():
    forecasts, (row,) = yield case()

    assert (row["state"], row["partitions"], row["partitions_done"], row["destinations"]) == ("done", 1, 1, 1)
    assert (row["bytes_moved"], row["bytes_to_go"]) == (WHOLE, 0)
    assert row["bytes_at_start"] == pytest.approx(WHOLE, rel=0.02)
    assert row["ended_at"] == at(121.6)
    assert row["forecast_made_at"] == AT + timedelta(seconds=70)
    assert row["forecast_error"] == pytest.approx(0, abs=0.01)
    assert row["forecast_low_at"] <= row["forecast_end_at"] <= row["forecast_high_at"]
    assert row["kip_error"] == pytest.approx(0, abs=0.02)
    assert row["moved_by"] == "tool User:me"
    ends = [one["forecast_end_at"] for one in forecasts if one["forecast_end_at"]]
    assert len(ends) >= 10
    assert all(abs((end - row["ended_at"]).total_seconds()) < 3 for end in ends)


def test_a_span_that_begins_inside_a_move_shows_the_whole_move():
    whole = selected(built(case()))
    part = replace(whole, since=AT + timedelta(seconds=60))
    (forecasts, summary), (later, of_part) = answers(whole), answers(part)

    assert of_part == summary
    assert later == [row for row in forecasts if row["window_start"] >= part.since]
    assert 0 < len(later) < len(forecasts)
    assert answers(replace(whole, since=AT + timedelta(hours=1))) == ([], [])


def test_an_end_by_kip_73_that_is_too_far_away_is_none():
    rows = gold(**case())[REASSIGNMENT_PROGRESS].to_pylist()
    far = [row | {"inbound_bytes": LIMIT * 10 - 1, "bytes_to_go": 1e15} for row in rows]

    (row,) = moves(selected({REASSIGNMENT_PROGRESS: far}))

    assert (row["kip_end_at"], row["kip_error"]) == (None, None)


def in_bursts(whole, every_s, *, answers=40):
    """Copy a period's worth of the limit at once, and again a period later."""
    rows, offset, end, second = [], 0, whole // RECORD_BYTES, 1.1
    while offset < end:
        for nth in range(answers):
            size = min(int(every_s * LIMIT) // answers, (end - offset) * RECORD_BYTES)
            rows.append(fetch(second + nth / answers, {0: (size, offset, end)}))
            offset += size // RECORD_BYTES
        second += every_s
    return [*rows, fetch(second - every_s + 1.2, {0: (0, offset, end)})], second - every_s + 1.3


def case_in_bursts(whole, every_s):
    lines, ended = in_bursts(whole, every_s)
    return case() | {"requests": lines, "isr": [in_sync(ended, [1, 2])]}


PERIODS_S, WHOLES = (11, 11.5, 12), (260 * MB, 300 * MB, 335 * MB)
CASES.silver |= {
    f"{whole} every {every_s} s": case_in_bursts(whole, every_s) for whole in WHOLES for every_s in PERIODS_S
}


@pytest.mark.parametrize("every_s", PERIODS_S)
@pytest.mark.parametrize("whole", WHOLES)
def test_forecast_of_a_move_in_bursts_goes_from_burst_to_burst(whole, every_s):
    """What a broker lets through at once is waited for: dividing by a rate is off by up to a period."""
    _, (row,) = CASES.answer(f"{whole} every {every_s} s")

    assert abs(row["forecast_error"]) < 0.08
    assert row["forecast_low_at"] <= row["ended_at"] <= row["forecast_high_at"]


@CASES.test
def test_forecast_counts_what_is_produced_meanwhile():
    """5 MB/s come in at the destination and 2 MB/s at the source: what is to go shrinks by 3 MB/s."""
    _, (row,) = yield case(until=61, ended=False, copied={"inbound": 2 * MB})

    to_go = WHOLE - 60 * 3 * MB
    assert row["state"] == "under_way"
    assert row["bytes_to_go"] == pytest.approx(to_go, rel=0.03)
    assert row["inbound_bytes_per_s"] == pytest.approx(2 * MB, rel=0.2)
    assert (row["forecast_end_at"] - AT).total_seconds() == pytest.approx(201, rel=0.03)


@CASES.test
def test_move_that_does_not_get_nearer_has_no_end():
    forecasts, (row,) = yield case(until=61, ended=False, copied={"inbound": 6 * MB})

    assert {one["forecast_end_at"] for one in forecasts} == {None}
    assert (row["forecast_end_at"], row["kip_end_at"], row["is_in_band"]) == (None, None, False)


@CASES.test
def test_slowest_destination_rules_where_no_broker_is_held():
    """Broker 3 gets the second partition at a quarter of the rate: its end is the move's."""
    slow = copied(60, MB, whole=240 * MB, partition=1, follower=3)
    silver = case(until=61, ended=False, whole=600 * MB)
    silver |= {"requests": silver["requests"] + slow, "moves": move(0.9, {0: [2], 1: [3]}), "changes": []}
    _, (row,) = yield silver

    assert (row["ruled_by"], row["ruled_by_id"]) == ("follower", 3)
    assert (row["destinations"], row["partitions"]) == (2, 2)
    assert (row["forecast_end_at"] - AT).total_seconds() == pytest.approx(241, rel=0.03)


def test_of_two_sides_of_a_broker_with_the_same_end_always_the_same_one_rules():
    """Broker 2 gets as many bytes as it sends."""
    there = gold(**case(until=61, ended=False))[REASSIGNMENT_PROGRESS].to_pylist()
    back = [row | {"source_id": row["destination_id"], "destination_id": row["source_id"]} for row in there]
    limits = {"source_limit_bytes_per_s": LIMIT, "destination_limit_bytes_per_s": LIMIT}
    rows = [row | limits for row in there + back]

    found = [moves(selected({REASSIGNMENT_PROGRESS: of})) for of in (rows, rows[::-1]) * 5]

    assert [(row["ruled_by"], row["ruled_by_id"]) for (row,) in found] == [("leader", 2)] * 10
    assert all(answer == found[0] for answer in found)


@CASES.test
def test_broker_that_is_held_by_its_limit_rules_for_the_others_get_what_it_leaves():
    """Broker 1 may send 5 MB/s: 4 go to broker 2 and 1 to broker 3, and all of it to 3 once 2 is done."""
    fast, slow = copied(60, 4 * MB, whole=480 * MB), copied(60, MB, whole=480 * MB, partition=1, follower=3)
    changes = [rate(0.5, LIMIT), listing(0.5, "0:1,1:1")]
    silver = {"requests": fast + slow, "moves": move(0.9, {0: [2], 1: [3]}), "changes": changes}
    _, (row,) = yield silver

    assert (row["ruled_by"], row["ruled_by_id"]) == ("leader", 1)
    assert (row["forecast_end_at"] - AT).total_seconds() == pytest.approx(193, rel=0.03)


@CASES.test
def test_partition_that_has_nothing_to_copy_is_done_at_once():
    """Partition 1 only changes the order of its replicas: no broker catches up with it."""
    _, (row,) = yield case(until=61, ended=False, moves=move(0.9, {0: [2], 1: [2, 1]}))

    assert (row["partitions"], row["partitions_done"], row["state"]) == (2, 1, "under_way")


@CASES.test
def test_move_that_was_cancelled_or_replaced_is_superseded():
    silver = case(until=61, ended=False)
    silver["moves"] = move(0.9, {0: [2]}) + move(50, {0: None}, correlation_id=5)
    _, (row,) = yield silver

    assert (row["state"], row["ended_at"]) == ("superseded", at(50))


@CASES.test
def test_copy_that_ends_with_another_leader_is_in_sync():
    """A controller answers 108 (NEW_LEADER_ELECTED) and took the set; with 41 (not the controller) not."""
    ends = [in_sync(100, [1, 2], error_code=41), in_sync(121.6, [1, 2], error_code=108)]
    _, (row,) = yield case(isr=ends)

    assert row["ended_at"] == at(121.6)


@CASES.test
def test_forwarded_call_and_a_refused_one_are_no_further_moves():
    forwarded = move(0.95, {0: [2]}, broker_id=3, position="controller")
    refused = move(20, {0: [3]}, error_code=41, correlation_id=9)
    silver = case()
    _, rows = yield silver | {"moves": silver["moves"] + forwarded + refused}

    assert [row["moved_at"] for row in rows] == [at(0.9)]
    assert [row["state"] for row in rows] == ["done"]


def test_lowest_limit_on_the_way_counts_and_the_band_is_shown_where_the_network_is_known():
    changes = [rate(0.5, LIMIT, 1), rate(0.5, 9 * MB, 2, "follower"), listing(0.5, "0:1")]
    silver = case(until=61, ended=False, changes=changes, copied={"inbound": 2 * MB})
    of = selected(built(silver))
    (unknown,) = moves(of)
    (inside,) = moves(replace(of, network_bytes_per_s=100.0 * MB))
    (outside,) = moves(replace(of, network_bytes_per_s=6.0 * MB))

    assert unknown["limit_bytes_per_s"] == LIMIT
    assert (unknown["is_in_band"], inside["is_in_band"], outside["is_in_band"]) == (None, True, False)
    assert inside["band_low_bytes_per_s"] == pytest.approx(2 * MB, rel=0.2)
    assert inside["band_high_bytes_per_s"] == pytest.approx(98 * MB, rel=0.01)


@CASES.test
def test_limit_of_zero_gives_no_forecast_and_no_error():
    _, (row,) = yield case(rate=100_000, ended=False, changes=throttle(0.5, 0))

    assert (row["state"], row["kip_end_at"]) == ("under_way", None)


@CASES.test
def test_throttle_raised_by_the_same_call_again_is_the_same_move():
    again = move(50, {0: [2]}, correlation_id=4, position="again")
    raised = throttle(0.5, LIMIT) + throttle(49.5, LIMIT + 1)
    _, (row,) = yield case(moves=move(0.9, {0: [2]}) + again, changes=raised)

    assert (row["state"], row["bytes_moved"]) == ("done", WHOLE)
    assert row["bytes_at_start"] == pytest.approx(WHOLE, rel=0.02)
