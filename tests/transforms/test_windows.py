"""Windows and their coverage."""

import pytest

from tests.transforms.gold.silver_rows import at
from transforms.windows import coverage

LINES = "cluster string, broker_id int, logged_at timestamp"


def covered(spark, lines):
    rows = coverage(spark.createDataFrame([("lab", *line) for line in lines], LINES)).collect()
    return {
        row.window_start: (row.nodes_expected, row.nodes_reporting, row.is_settled)
        for row in rows
        if row.nodes_reporting
    }


def naive(second):
    return at(second).replace(tzinfo=None)


def test_window_is_settled_once_every_expected_broker_was_read_past_its_end(spark):
    lines = [(1, at(1)), (1, at(11)), (2, at(2)), (2, at(9.9))]

    assert covered(spark, lines)[naive(0)] == (2, 2, False)
    assert covered(spark, [*lines, (2, at(10))])[naive(0)] == (2, 2, True)


def test_silent_broker_is_waited_for_one_minute(spark):
    lines = [(1, at(1)), (2, at(1))]

    assert covered(spark, [*lines, (1, at(70))])[naive(0)] == (2, 2, False)
    assert covered(spark, [*lines, (1, at(70.001))])[naive(0)] == (2, 2, True)


def test_broker_seen_within_the_last_minute_is_expected_though_it_is_silent_now(spark):
    lines = [(1, at(5)), (2, at(65)), (2, at(75)), (2, at(85))]

    found = covered(spark, lines)

    assert found[naive(60)] == (2, 1, False)
    assert found[naive(70)] == (1, 1, True)
    assert found[naive(80)] == (1, 1, False)


@pytest.mark.parametrize("line", [(None, at(1)), (1, None)])
def test_line_without_broker_or_instant_settles_nothing(spark, line):
    assert covered(spark, [line]) == {}
