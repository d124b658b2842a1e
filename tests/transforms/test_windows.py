"""Windows and their coverage."""

import pyarrow as pa
import pytest

from tests.transforms.gold.silver_rows import at
from transforms.windows import coverage, newest_lines

LINES = pa.schema(
    [("cluster", pa.string()), ("broker_id", pa.int32()), ("logged_at", pa.timestamp("us", "UTC"))]
)


def covered(lines):
    rows = [{"cluster": "lab", "broker_id": broker, "logged_at": logged_at} for broker, logged_at in lines]
    return {
        row.window_start: (row.nodes_expected, row.nodes_reporting, row.is_settled)
        for row in coverage(newest_lines(pa.Table.from_pylist(rows, schema=LINES).to_reader(max_chunksize=2)))
        if row.nodes_reporting
    }


def test_window_is_settled_once_every_expected_broker_was_read_past_its_end():
    lines = [(1, at(1)), (1, at(11)), (2, at(2)), (2, at(9.9))]

    assert covered(lines)[at(0)] == (2, 2, False)
    assert covered([*lines, (2, at(10))])[at(0)] == (2, 2, True)


def test_silent_broker_is_waited_for_one_minute():
    lines = [(1, at(1)), (2, at(1))]

    assert covered([*lines, (1, at(70))])[at(0)] == (2, 2, False)
    assert covered([*lines, (1, at(70.001))])[at(0)] == (2, 2, True)


def test_broker_seen_within_the_last_minute_is_expected_though_it_is_silent_now():
    lines = [(1, at(5)), (2, at(65)), (2, at(75)), (2, at(85))]

    found = covered(lines)

    assert found[at(60)] == (2, 1, False)
    assert found[at(70)] == (1, 1, True)
    assert found[at(80)] == (1, 1, False)


@pytest.mark.parametrize("line", [(None, at(1)), (1, None)])
def test_line_without_broker_or_instant_settles_nothing(line):
    assert covered([line]) == {}
