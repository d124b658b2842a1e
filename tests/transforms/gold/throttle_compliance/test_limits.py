"""Lists of throttled replicas: in force from one change to the next, however often they are polled."""

from contextlib import contextmanager

import pytest

from schemas.silver.throttles import THROTTLE_CHANGES
from tests.transforms.gold.silver_rows import arrow
from tests.transforms.gold.throttle_rows import AT, listing, with_lists
from transforms.gold.throttle_compliance.limits import news, throttled
from transforms.gold.throttle_compliance.polls import CHANGES_COLUMNS
from transforms.sql import connect


@contextmanager
def changed(changes):
    """Give DuckDB with `throttle_changes`."""
    rows = arrow(THROTTLE_CHANGES, with_lists(changes)).select(CHANGES_COLUMNS)
    with connect({"throttle_changes": rows}) as db:
        yield db


def listed(*changes):
    """Give (topic, partition, broker, from, until) in seconds, in order; NULL is None."""

    def second(instant_us):
        return instant_us and instant_us / 1e6 - AT.timestamp()

    with changed(changes) as db:
        rows = throttled(db).to_pylist()
    of_list = ("topic", "listed_partition", "listed_broker")
    told = [
        (*(row[name] for name in of_list), second(row["listed_from_us"]), second(row["listed_until_us"]))
        for row in rows
    ]
    return sorted(told, key=repr)


def poll(second, **lists):
    """Tell what one poll found: the lists of topics, of all others that they have none."""
    common = {"told_by": "poll", "position": f"cluster/poll/{second}"}
    found = [listing(second, value, topic=topic, **common) for topic, value in lists.items()]
    return [listing(second, None, topic=None, operation="delete", **common), *found]


def test_list_that_polls_find_unchanged_is_told_once():
    polls = [row for second in range(10, 300, 10) for row in poll(second, t="0:1,1:1", u="*")]

    assert listed(*polls) == [
        ("t", 0, 1, 10.0, None),
        ("t", 1, 1, 10.0, None),
        ("u", None, None, 10.0, None),
    ]


def test_what_is_followed_through_a_list_grows_with_its_changes_and_not_with_its_polls():
    """29 polls find the same list, the 30th a shorter one."""
    polls = [row for second in range(10, 300, 10) for row in poll(second, t="0:1,1:1")]

    with changed([*polls, *poll(300, t="0:1")]) as db:
        kept = db.sql(f"{news()} ORDER BY logged_us").to_arrow_table().to_pylist()
    lists = [
        (row["operation"], ",".join(f"{part['partition']}:{part['broker_id']}" for part in row["replicas"]))
        for row in kept
    ]
    assert lists == [("set", "0:1,1:1"), ("set", "0:1")]


def test_list_that_shrinks_between_polls_ends_and_begins_at_the_poll():
    told = listed(*poll(10, t="0:1,1:1"), *poll(20, t="0:1,1:1"), *poll(30, t="0:1"), *poll(40))

    assert told == [("t", 0, 1, 10.0, 30.0), ("t", 0, 1, 30.0, 40.0), ("t", 1, 1, 10.0, 30.0)]


def test_list_that_is_gone_and_comes_back_has_a_time_without():
    told = listed(*poll(10, t="*"), *poll(20), *poll(30), *poll(40, t="*"), *poll(50, t="0:1"))

    assert told == [
        ("t", 0, 1, 50.0, None),
        ("t", None, None, 10.0, 20.0),
        ("t", None, None, 40.0, 50.0),
    ]


def test_poll_that_finds_what_requests_made_of_a_list_changes_nothing():
    told = listed(
        listing(10, "0:1"),
        listing(20, "1:1", operation="append"),
        *poll(25, t="0:1,1:1"),
        listing(30, "1:1", operation="subtract"),
        *poll(35, t="0:1"),
        *poll(45, t="0:1"),
    )

    assert told == [("t", 0, 1, 10.0, 20.0), ("t", 0, 1, 20.0, 30.0), ("t", 0, 1, 30.0, None),
                    ("t", 1, 1, 20.0, 30.0)]  # fmt: skip


def test_same_value_set_again_behind_an_append_takes_the_append_back():
    told = listed(listing(10, "0:1"), listing(20, "1:1", operation="append"), listing(30, "0:1"))

    assert ("t", 1, 1, 20.0, 30.0) in told
    assert ("t", 0, 1, 30.0, None) in told


@pytest.mark.parametrize("operation", ["append", "subtract"])
def test_same_instant_loses_no_change_that_needs_the_one_before_it(operation):
    """A list is set and altered within one instant: the second goes by the first."""
    first = listing(10, "0:1,1:1", position="l/1")
    then = listing(10, "1:1" if operation == "subtract" else "2:1", operation=operation, position="l/2")

    left = {"append": [0, 1, 2], "subtract": [0]}[operation]
    assert listed(first, then) == [("t", partition, 1, 10.0, None) for partition in left]


def test_operation_that_is_not_known_is_not_passed_over():
    assert listed(listing(10, "0:1"), listing(20, None, operation=None)) == [("t", 0, 1, 10.0, 20.0)]
