"""What lookups cost a client, from made METADATA requests; the lab has real ones of old and new clients."""

from datetime import UTC, datetime, timedelta

import pytest

from schemas.gold.metadata_lookup import METADATA_LOOKUP, METADATA_LOOKUP_SUMMARY
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import Cases, objects, whole
from transforms.frames import frame_of_arrow
from transforms.gold.metadata_lookup.summary import metadata_lookup_summary
from transforms.gold.metadata_lookup.table import BUILD

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def lookup(second, topics, *, client="c", **fields):
    """Make one METADATA, asked 1 ms before it was answered `second` seconds after noon."""
    at = AT + timedelta(seconds=second)
    row = {"cluster": "lab", "broker_id": 1, "api": "METADATA", "client_id": client, "logged_at": at}
    row |= {"started_at": at - timedelta(milliseconds=1), "topics_asked": topics, "is_own_traffic": False}
    row |= {"topics_answered": len(topics or ()), "response_bytes": 100, "software_version": "3.9.1"}
    return row | {"position": f"m/{client}/{second}"} | fields


def refused(second, error=6, *, client="c"):
    row = lookup(second, None, client=client, api="PRODUCE", position=f"p/{client}/{second}")
    return row | {"partitions": [{"topic_name": "t", "partition": 0, "error_code": error}]}


def silver(rows, runs=()):
    return {REQUESTS: rows, RUNS: runs}


def gold(silver):
    """Return the windows as Arrow."""
    return BUILD.rows(whole(silver))[METADATA_LOOKUP]


def windows(rows):
    return objects(gold(silver(rows)))


CASES = Cases()


@pytest.fixture(scope="module")
def told(spark):
    """Return the summary rows of each test by client."""
    found = {name: {} for name in CASES.silver}
    for row in metadata_lookup_summary(frame_of_arrow(spark, gold(CASES.together()))).collect():
        found[row.cluster][row.client_id] = row
    return found


def names(*numbers):
    return [f"t-{n}" for n in numbers]


def test_rows_are_the_gold_tables_and_nothing_gives_nothing(spark):
    nothing = frame_of_arrow(spark, gold(silver([])))

    assert nothing.schema.simpleString() == METADATA_LOOKUP.schema.simpleString()
    assert (
        metadata_lookup_summary(nothing).schema.simpleString()
        == METADATA_LOOKUP_SUMMARY.schema.simpleString()
    )
    assert metadata_lookup_summary(nothing).count() == nothing.count() == 0


def test_lookups_are_counted_by_window_each_once():
    rows = [
        lookup(1, names(1)),
        lookup(2, names(1, 2)),
        lookup(3, None),
        lookup(11, []),
        lookup(2, names(1, 2)),
    ]
    rows += [lookup(4, names(9), client="own", is_own_traffic=True), lookup(5, names(7), client="other")]

    found = [row for row in windows(rows) if row.client_id == "c"]

    told = [
        (r.lookups, r.all_topics_lookups, r.topics_asked, r.topics_asked_most, len(r.topics)) for r in found
    ]
    assert told == [(3, 1, 3, 2, 2), (1, 0, 0, 0, 0)]
    assert [(row.topics_answered, row.response_bytes) for row in found] == [(3, 300), (0, 100)]


def test_a_lookup_within_a_second_of_an_error_is_counted_as_its_consequence():
    rows = [refused(1.0), lookup(1.5, names(1)), lookup(2.5, names(1)), refused(3, 0), lookup(3.1, names(1))]
    rows += [refused(5.0, 74, client="d"), lookup(5.1, names(1)), lookup(5.2, names(1), client="d")]

    found = {row.client_id: row.lookups_after_error for row in windows(rows)}

    assert found == {"c": 1, "d": 1}


@CASES.test
def test_lookups_are_of_the_run_that_the_client_ran():
    run = {"cluster": "lab", "run": "r1", "arm": "old", "client_id": "c", "started_at": AT}

    row = (yield silver([lookup(1, names(1))], [run]))["c"]

    assert (row.run, row.arm) == ("r1", "old")


OLD = [lookup(10 * n, names(*range(n + 1)), client="old") for n in range(40)]
NEW = [lookup(10 * n, names(n), client="new") for n in range(40)]


@CASES.test
def test_asking_for_all_at_each_new_topic_grows_like_the_square():
    found = yield silver([*OLD, *NEW])

    old, new = found["old"], found["new"]
    assert (old.lookups, old.new_topics, old.topics_asked) == (40, 40, 40 * 41 // 2)
    assert (new.lookups, new.new_topics, new.topics_asked) == (40, 40, 40)
    # n (n + 1) / 2 is not yet n squared: numpy.polyfit gives a slope of 1.903 over 2..40.
    assert old.growth_exponent == pytest.approx(1.903, abs=0.001)
    assert new.growth_exponent == pytest.approx(1.0)
    assert (new.lookups_per_new_topic, new.topics_per_lookup, new.bytes_per_1000_new_topics) == (
        1,
        1,
        100_000,
    )


@CASES.test
def test_no_exponent_is_fitted_to_a_few_topics():
    found = yield silver(NEW[:10])

    assert found["new"].growth_exponent is None


@CASES.test
def test_refreshes_bring_no_topics_and_bend_no_exponent():
    refreshes = [lookup(400 + 10 * n, names(*range(40)), client="new") for n in range(30)]

    row = (yield silver([*NEW, *refreshes]))["new"]

    assert (row.new_topics, row.evicted_topics, row.lookups) == (40, 0, 70)
    assert row.growth_exponent == pytest.approx(1.0)


@CASES.test
def test_topics_that_a_refresh_leaves_out_were_evicted():
    rows = [lookup(0, names(1)), lookup(10, names(2)), lookup(20, names(3)), lookup(30, names(1, 3))]
    rows += [lookup(40, names(2)), lookup(50, names(1))]

    row = (yield silver(rows))["c"]

    assert (row.new_topics, row.evicted_topics) == (3, 1 + 2)
