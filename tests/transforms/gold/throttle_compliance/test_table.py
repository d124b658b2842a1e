"""Windows of throttled traffic: what is counted where, whatever comes twice, late or not at all."""

from datetime import timedelta

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from tests.transforms.gold.silver_rows import objects
from tests.transforms.gold.throttle_rows import (
    AT,
    MB,
    bean,
    copied,
    counter,
    fetch,
    gold,
    idle,
    in_sync,
    listing,
    move,
    rate,
    throttle,
)

LIMIT = 5 * MB
TOLD = {
    "requests": copied(40, LIMIT, whole=200 * MB),
    "changes": throttle(0.5, LIMIT),
    "moves": move(0.9, {0: [2]}),
    "isr": [in_sync(41.6, [2])],
    "events": [bean(12, LIMIT), bean(22, LIMIT), counter(23, 50 * MB)],
}


def built(**told):
    return objects(gold(**told)[THROTTLE_COMPLIANCE])


def windows(**told):
    """Return the rows by second, broker and direction; if the limit changed, one of them."""
    return {
        ((row.window_start - AT) // timedelta(seconds=1), row.broker_id, row.direction): row
        for row in built(**told)
    }


def test_each_second_has_its_bytes_and_beans_stand_beside_them():
    row = windows(**TOLD)[20, 1, "leader"]

    assert row.throttled_by_s == row.catching_up_by_s == [LIMIT] * 10
    assert (row.throttled_bytes, row.in_sync_bytes, row.unlisted_bytes) == (10 * LIMIT, 0, 0)
    assert (row.answers, row.largest_answer_bytes, row.peers) == (10, LIMIT, [2])
    assert (row.bean_max_bytes_per_s, row.bean_n, row.reassignment_bytes, row.counter_s) == (
        LIMIT,
        1,
        50 * MB,
        10,
    )
    assert (row.moving_partitions, row.lagging_replicas, row.is_listed) == (1, 1, True)
    assert row.lag_records == (200 - 28 * 5) * 1000 - 0


def test_window_in_which_the_limit_was_changed_has_a_row_for_each():
    changes = [*throttle(0.5, LIMIT), rate(25, 2 * LIMIT)]
    at_20 = (AT + timedelta(seconds=20), 1, "leader")
    told = [
        row
        for row in built(**TOLD | {"changes": changes})
        if (row.window_start, row.broker_id, row.direction) == at_20
    ]

    found = {row.limit_bytes_per_s: row.throttled_by_s for row in told}
    assert found == {LIMIT: [LIMIT] * 5 + [0] * 5, 2 * LIMIT: [0] * 5 + [LIMIT] * 5}


def test_own_rate_of_a_broker_goes_before_the_default_and_comes_back_to_it():
    changes = [rate(0.5, 7 * MB, None), rate(5, LIMIT, 1), rate(15, None, 1), listing(0.5, "0:1")]
    rows = windows(**TOLD | {"changes": changes, "requests": [idle(s) for s in (12, 22)]})

    assert rows[10, 1, "leader"].limit_bytes_per_s in (LIMIT, 7 * MB)
    assert rows[20, 1, "leader"].limit_bytes_per_s == 7 * MB
    assert (20, 2, "leader") not in rows  # nothing told of a broker 2


@pytest.mark.parametrize("without", [{"is_applied": False}, {"logged_at": None}])
def test_change_that_was_refused_or_has_no_instant_is_none(without):
    changes = [row | without for row in throttle(0.5, LIMIT)]
    rows = windows(**TOLD | {"changes": changes})

    assert {row.limit_bytes_per_s for row in rows.values()} == {None}
    assert {row.is_listed for row in rows.values()} == {False}


def test_highest_rate_there_is_means_none():
    rows = windows(**TOLD | {"changes": [rate(0.5, 2**63 - 1)]})

    assert {row.limit_bytes_per_s for row in rows.values()} == {None}


def test_lists_grow_and_shrink():
    """Partition 0 is appended at 10 s and subtracted at 20 s; at 30 s the list is deleted."""
    steps = [listing(0.5, "1:1"), listing(10, "0:1", operation="append")]
    steps += [listing(20, "0:1", operation="subtract"), listing(30, None, operation="delete")]
    rows = windows(**TOLD | {"changes": [rate(0.5, LIMIT), *steps]})

    told = {
        s: (rows[s, 1, "leader"].throttled_bytes, rows[s, 1, "leader"].is_listed) for s in (0, 10, 20, 30)
    }
    assert told == {0: (0, True), 10: (10 * LIMIT, True), 20: (0, True), 30: (0, False)}


def test_polls_say_what_is_on_and_by_their_silence_what_is_off():
    """Polled at 5, 15 and 25 s; at the last one the topic has no list any more."""
    polls = []
    for second, lists in ((5, ["0:1"]), (15, ["0:1"]), (25, [])):
        common = {"told_by": "poll", "position": f"cluster/poll/{second}"}
        polls += [
            rate(second, LIMIT, **common),
            listing(second, None, topic=None, operation="delete", **common),
        ]
        polls += [listing(second, value, **common) for value in lists]
    rows = windows(**TOLD | {"changes": polls})

    told = {s: (rows[s, 1, "leader"].throttled_bytes, rows[s, 1, "leader"].is_listed) for s in (10, 20, 30)}
    assert told == {10: (10 * LIMIT, True), 20: (5 * LIMIT, True), 30: (0, False)}


def test_star_names_every_partition_and_broker():
    requests = [*TOLD["requests"], idle(5, 2)]
    rows = windows(**TOLD | {"requests": requests, "changes": [rate(0.5, LIMIT), listing(0.5, "*")]})

    assert rows[20, 1, "leader"].throttled_bytes == 10 * LIMIT
    assert rows[20, 2, "follower"].is_listed is False
    assert (20, 2, "leader") not in rows  # broker 2 has no limit


def test_replica_that_asks_from_the_high_watermark_on_is_in_sync():
    lines = [fetch(s + 0.5, {0: (MB, 100 + s, 100 + s)}) for s in range(10)]
    row = windows(**TOLD | {"requests": lines})[0, 1, "leader"]

    assert (row.in_sync_bytes, row.catching_up_bytes) == (10 * MB, 0)


def test_offset_that_a_session_leaves_out_is_the_last_one_told():
    lines = [fetch(1, {0: (0, 0, 500)}), fetch(5, {0: (MB, None, 700)}), fetch(6, {0: (MB, 650, None)})]
    row = windows(**TOLD | {"requests": lines})[0, 1, "leader"]

    assert (row.catching_up_bytes, row.in_sync_bytes, row.lag_records) == (2 * MB, 0, 50)


def test_lines_that_come_again_or_in_another_order_change_nothing():
    once = built(**TOLD)
    told = {name: rows[::-1] + rows if name != "events" else rows for name, rows in TOLD.items()}

    assert built(**told) == once
    assert len(once) == 5 * 4


def test_late_line_is_in_its_window():
    late = fetch(25.25, {0: (MB, 10, 200_000)})
    row = windows(**TOLD | {"requests": TOLD["requests"] + [late]})[20, 1, "leader"]

    assert row.throttled_by_s[5] == LIMIT + MB


def test_rows_of_which_nothing_is_known_tell_nothing():
    once = built(**TOLD)
    nothing = {"cluster": "lab", "position": "null"}
    told = {
        name: [*rows, nothing] if name != "events" else [*rows, {"cluster": "lab"}]
        for name, rows in TOLD.items()
    }

    assert built(**told) == once


def test_without_a_throttle_or_a_move_there_is_nothing():
    nothing = gold(requests=TOLD["requests"], events=TOLD["events"])[THROTTLE_COMPLIANCE]
    empty = gold()[THROTTLE_COMPLIANCE]

    assert (nothing.num_rows, empty.num_rows) == (0, 0)
    assert empty.schema == arrow_schema(THROTTLE_COMPLIANCE)


def test_windows_without_a_request_log_have_no_bytes():
    told = TOLD | {"requests": [], "moves": [], "isr": []}
    row = windows(**told)[20, 1, "leader"]

    assert (row.throttled_bytes, row.throttled_by_s, row.catching_up_bytes) == (None, None, None)
    assert (row.reassignment_bytes, row.bean_n) == (50 * MB, 1)
