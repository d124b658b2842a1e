"""Polls without effect are left out, and nothing else changes: limits, lists and times are the same."""

import random

import pytest

from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.silver.throttles import REASSIGNMENTS, THROTTLE_CHANGES
from tests.transforms.gold.silver_rows import arrow
from tests.transforms.gold.throttle_rows import AT, listing, polled, rate, with_lists
from transforms.gold.reassignment_progress.moves import calls
from transforms.gold.throttle_compliance.limits import limits, throttled
from transforms.gold.throttle_compliance.polls import CHANGES_COLUMNS, without_repeated_polls
from transforms.gold.throttle_compliance.times import times_on
from transforms.sql import connect


def changes(rows):
    return arrow(THROTTLE_CHANGES, with_lists(rows)).select(CHANGES_COLUMNS)


def kept(rows):
    """Return the seconds of the changes that are not left out."""
    found = without_repeated_polls(changes(rows).to_reader()).to_pylist()
    return sorted({float(row["position"].split("/")[2 if row["told_by"] == "poll" else 1]) for row in found})


def test_of_polls_that_find_the_same_the_first_is_kept():
    assert kept([row for second in range(0, 300, 30) for row in polled(second, rates=(5, None))]) == [0]


def test_poll_that_finds_something_else_is_kept_and_so_is_the_one_after_it():
    found = [(0, (5, 5)), (30, (5, 5)), (60, (5, None)), (90, (5, 5)), (120, (5, 5))]

    assert kept([row for second, rates in found for row in polled(second, rates=rates)]) == [0, 60, 90]


def test_poll_after_a_request_is_kept_because_it_may_take_the_change_back():
    polls = [row for second in (0, 30, 60, 90) for row in polled(second)]

    assert kept([*polls, rate(45, 7)]) == [0, 45, 60]
    assert kept([*polls, listing(45, "0:1")]) == [0, 45, 60]
    assert kept([*polls, rate(45, 7, cluster="other")]) == [0, 45]


def test_clusters_are_polled_apart_from_each_other():
    polls = [polled(second, rates=(n, 5), cluster=f"c{n}") for second in (0, 30) for n in (1, 2)]

    assert kept([row for of_one in polls for row in of_one]) == [0]


def test_poll_that_was_sent_twice_counts_once():
    assert kept([*polled(0), *polled(30), *polled(30), *polled(60)]) == [0]


def test_lists_that_were_not_requested_are_not_the_same_as_none():
    assert kept([*polled(0), *polled(30, topics=None), *polled(60, topics=None), *polled(90)]) == [0, 30, 90]


def made_changes(rng):
    """Return polls of one or two pollers, and requests between them, often without effect."""
    rows, rates, topics = [], [None, 5, 7], [(), (("t", "0:1"),), (("t", "*"), ("u", "0:2"))]
    rate_of, lists = (None, 5), ()
    for second in range(0, 400, 10):
        if rng.random() < 0.1:
            rate_of = (rng.choice(rates), rng.choice(rates))
        if rng.random() < 0.1:
            lists = rng.choice(topics)
        if rng.random() < 0.1:
            operation = rng.choice(("set", "append", "subtract", "delete"))
            rows.append(listing(second + rng.choice((0, 3)), "0:1", topic="t", operation=operation))
            rows.append(rate(second + rng.choice((0, 3)), rng.choice(rates), rng.choice((1, None))))
        rows += polled(second, rates=rate_of, topics=lists, poller=rng.choice("ab"))
    rng.shuffle(rows)
    return rows


def effects(rows):
    """Return the limits, the lists and the seconds with a throttle that follow from changes."""
    tables = {"throttle_changes": rows, "reassignments": arrow(REASSIGNMENTS, ())}
    with connect(tables | {"reassignment_progress": arrow(REASSIGNMENT_PROGRESS, ())}) as db:
        db.execute("CREATE TEMP VIEW brokers AS SELECT 'lab' AS cluster, unnest([1, 2]) AS broker_id")
        db.execute(f"CREATE TEMP VIEW calls AS {calls()}")
        noon, times = int(AT.timestamp()), db.sql(times_on()).fetchall()
        return (
            sorted(db.sql(limits()).fetchall(), key=repr),
            sorted(throttled(db).to_pylist(), key=repr),
            [
                s
                for s in range(noon, noon + 500)
                if any(since <= s < (until or s + 1) for since, until in times)
            ],
        )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_out_has_no_effect(seed):
    rows = changes(made_changes(random.Random(seed)))

    found = without_repeated_polls(rows.to_reader())

    assert found.num_rows < rows.num_rows / 2
    assert effects(found) == effects(rows)
