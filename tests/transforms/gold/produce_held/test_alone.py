"""A window has the same rows whether it is built alone, from the rows in its reach, or with all others."""

import random

import pyarrow as pa
import pytest

from engine.gold.inputs import WholeInputs
from schemas.gold.produce_held import PRODUCE_HELD
from tests.transforms.gold.held_rows import fetch, part, produce, silver
from tests.transforms.gold.silver_rows import objects, whole
from transforms.gold.produce_held.table import BUILD
from transforms.sql import Rows
from transforms.windows import WINDOW_S


class OneWindow(WholeInputs):
    """The rows in the declared reach of one window."""

    def __init__(self, lines, window):
        """Make the rows of these lines."""
        super().__init__(whole(silver(lines))._silver)
        self.windows = {window}

    def rows(self, table, columns, reach=None, *, where="true"):
        """Return those in the reach."""
        within = BUILD.reads.get(table) if reach is None else reach
        rows = self.reader(table, table.schema.names).read_all()
        if within:
            (window,) = self.windows
            first, last = window - within.lookback_s, window + WINDOW_S + within.lookahead_s
            near = [first <= instant.timestamp() < last for instant in rows[table.instant].to_pylist()]
            rows = rows.filter(pa.array(near, pa.bool_()))
        return Rows(table=table, columns=tuple(columns), source=rows, where=where)


def assert_same(lines):
    windows = {
        int(line["logged_at"].timestamp()) // WINDOW_S * WINDOW_S
        for line in lines
        if line["api"] == "PRODUCE"
    }
    at_once = objects(BUILD.rows(whole(silver(lines)))[PRODUCE_HELD])
    alone = [
        row
        for window in sorted(windows)
        for row in objects(BUILD.rows(OneWindow(lines, window))[PRODUCE_HELD])
    ]
    assert sorted(map(repr, alone)) == sorted(map(repr, at_once))
    return at_once


def test_the_fetch_before_is_of_no_use_if_it_is_far_from_the_request():
    """It is read only if a request that waited as long is built too."""
    lines = [
        fetch(-6_900.0, -6_400.0, 10, 3, 0),
        fetch(380.0, 400.0, 11, 3, 1),
        produce(0.0, 380.4),
        produce(-30_000.0, -600.0, 5),
    ]
    rows = assert_same(lines)

    assert [(row.n_released, row.network_p50_ms) for row in rows if row.n_released] == [(1, None)]


def test_a_follower_is_missing_only_if_it_fetched_near_the_request():
    """It fetched 20 s before; that is read only with requests that waited for long."""
    failed = produce(0.0, 1_000.0, parts=[part(10, error_code=7)])
    far, near = fetch(-20_100.0, -20_000.0, 9, 3, 0), fetch(-1_100.0, -1_000.0, 9, 3, 1)
    slow = produce(-30_000.0, -600.0, 5)

    assert {row.follower_id for row in assert_same([far, failed, slow]) if row.n_failed} == {None}
    assert {row.follower_id for row in assert_same([far, near, failed, slow]) if row.n_failed} == {3}


def test_a_wait_over_the_longest_is_not_followed():
    lines = [fetch(-35_000.0, -34_000.0, 9, 3, 0), fetch(-10.0, 100.0, 11, 3, 1), produce(-33_000.0, -9.0)]

    assert [row.n_unmatched for row in assert_same(lines)] == [1]


def test_a_fetch_that_is_logged_long_after_the_request_is_not_its_proof():
    """It waits for longer than `replica.fetch.wait.max.ms` should be."""
    rows = assert_same([fetch(-10.0, 1.0, 10, 3, 0), fetch(380.0, 5_600.0, 11, 3, 1), produce(0.0, 380.4)])

    assert [row.n_unmatched for row in rows] == [1]


@pytest.mark.parametrize("seed", range(6))
def test_windows_of_random_lines(seed):
    of = random.Random(seed)
    lines, end_ms = [], 70_000.0
    for follower in (2, 3):
        now, offset, n = 0.0, 0, 0
        while now < end_ms:
            wait = of.choice([1.0, 20.0, 500.0, 500.0, 4_900.0, 5_200.0])
            offset += of.choice([0, 1, 3])
            code = of.choice([0] * 9 + [70])
            lines.append(fetch(now, now + wait, offset, follower, n, error_code=code))
            now += wait + of.choice([1.0, 10.0, 2_000.0, 9_000.0])
            n += of.choice([1, 1, 1, 2])
    for k in range(150):
        started = of.uniform(0.0, end_ms)
        wait = of.choice([0.4, 5.0, 100.0, 1_000.0, 8_000.0, 30_000.0, 32_000.0])
        parts = [part(of.randrange(40), error_code=of.choice([0, 0, 0, 7]))]
        lines.append(produce(started + k * 1e-3, started + wait, parts=parts))

    rows = assert_same(lines)

    assert sum(row.n for row in rows) == 150
