"""Gold of throttles and moves: what arrives late, in parts and in another order gives the same gold."""

import pytest

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.inputs import WarehouseTables
from schemas.silver.metrics import METRIC_SAMPLES
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS
from tests.engine.gold.gold_lab import GoldLab, arrived_at
from tests.transforms.gold.silver_rows import arrow
from tests.transforms.gold.throttle_rows import (
    AT,
    MB,
    copied,
    idle,
    in_sync,
    listing,
    move,
    polled,
    rate,
    throttle,
    with_lists,
)
from transforms.gold.throttle_compliance.build import BUILD, TABLES, ThrottledTimes
from transforms.spans import Span, window_of
from transforms.windows import WINDOW_S

NOON = window_of(AT.timestamp())
LIMIT = 5 * MB
LINES = [*copied(60, LIMIT, whole=300 * MB), idle(95)]


def windows(*seconds):
    return {NOON + second for second in seconds}


def arrived(of, slot):
    """Return a new row of an input; each row of it touches windows, a setting all that follow."""
    (touch,) = (BUILD.touch_name(n) for n, touch in enumerate(BUILD.touched_by) if touch.table is of)
    return arrived_at(of, NOON + slot, touch)


def touched_by(rows, newest):
    return set().union(*BUILD.touched(rows, newest))


def test_line_touches_what_is_carried_on_from_it_and_a_setting_all_that_lies_behind_it():
    newest = NOON + 200

    assert touched_by([arrived(REQUESTS, 0)], newest) == windows(*range(-60, 140, 10))
    assert touched_by([arrived(THROTTLE_CHANGES, 150)], newest) == windows(*range(150, 210, 10))
    assert touched_by([arrived(REASSIGNMENTS, 190), arrived(ISR_CHANGES, 200)], newest) == windows(190, 200)
    assert touched_by([arrived(METRIC_SAMPLES, 0)], NOON + 400) == windows(*range(0, 310, 10))
    assert touched_by([], newest) == set()


class ThrottleLab(GoldLab):
    """Gold of throttles and moves."""

    def frame(self, table, rows):
        """Make silver of rows, lists of replicas read as a parser does."""
        return super().frame(table, with_lists(rows) if table is THROTTLE_CHANGES else rows)


@pytest.fixture(scope="module")
def empty_lab(spark, tmp_path_factory):
    return ThrottleLab.empty(spark, tmp_path_factory.mktemp("empty"), BUILD)


@pytest.fixture
def lab(empty_lab, tmp_path):
    return empty_lab.copied(tmp_path)


def test_parts_in_any_order_give_what_is_built_at_once(lab):
    """First half of the lines, then the move, the limits, its end, and last the other half of the lines."""
    for table, rows in (
        (REQUESTS, LINES[::2]),
        (REASSIGNMENTS, move(0.9, {0: [2]})),
        (THROTTLE_CHANGES, throttle(0.5, LIMIT)),
        (ISR_CHANGES, [in_sync(61.6, [2])]),
        (REQUESTS, LINES[1::2]),
    ):
        lab.arrive(table, rows)
        lab.run()

    gold = lab.gold()
    assert gold == lab.at_once()
    assert len(gold["reassignment_progress"]) == 7
    assert sum(row["catching_up_bytes"] for row in gold["throttle_compliance"]) == 2 * 300 * MB


def test_span_built_again_is_the_same_and_nothing_throttled_writes_nothing(lab):
    lab.arrive(REQUESTS, LINES)
    lab.run()
    versions = [tables.snapshot(lab.warehouse, table).version for table in TABLES]
    assert versions == [0, 0]

    lab.arrive(THROTTLE_CHANGES, throttle(0.5, LIMIT))
    lab.arrive(REASSIGNMENTS, move(0.9, {0: [2]}))
    lab.run()
    before = lab.gold()
    lab.builder().rebuild_span(Span(NOON - 60, NOON + 120))

    assert lab.gold() == before == lab.at_once()
    assert len(before["throttle_compliance"]) == 8 * 4


def test_windows_in_which_nothing_is_on_are_left_alone(lab):
    lab.arrive(THROTTLE_CHANGES, [rate(0.5, LIMIT), rate(25, None)])
    times = ThrottledTimes(WarehouseTables(lab.warehouse))

    kept = times.during(range(NOON - 600, NOON + 1_000, WINDOW_S))
    assert min(kept) == NOON
    assert max(kept) <= NOON + 330


def test_throttle_taken_off_long_ago_and_told_of_late_leaves_no_row_behind(lab):
    lab.arrive(REQUESTS, [*LINES, *(idle(second) for second in range(100, 600, 10))])
    lab.arrive(REASSIGNMENTS, move(0.9, {0: [2]}))
    lab.arrive(THROTTLE_CHANGES, throttle(0.5, LIMIT))
    lab.arrive(ISR_CHANGES, [in_sync(61.6, [2])])
    lab.run()
    before = len(lab.gold()["throttle_compliance"])

    sides = ("leader", "follower")
    off = [rate(70, None, broker, side) for broker in (1, 2) for side in sides]
    off += [listing(70, None, side, operation="delete") for side in sides]
    lab.arrive(THROTTLE_CHANGES, off)
    lab.run()

    gold = lab.gold()
    assert gold == lab.at_once()
    assert len(gold["throttle_compliance"]) < before


def test_batches_after_the_end_of_a_move_build_nothing(lab):
    """The end of a move is known when its progress is built, which the next batch reads."""
    lab.arrive(REQUESTS, [*LINES, idle(900)])
    lab.arrive(REASSIGNMENTS, move(0.9, {0: [2]}))
    lab.arrive(ISR_CHANGES, [in_sync(61.6, [2])])
    builder = lab.builder()

    assert builder.build([arrived(REASSIGNMENTS, 0)]) == {"throttles": 91}
    assert builder.build([arrived(REQUESTS, 900)]) == {}
    assert lab.gold() == lab.at_once()


def test_a_late_log_shows_another_copy_of_a_move_that_had_ended(lab):
    """The first copy ended after a minute. The log of the other source arrives at once, ten minutes long."""
    lab.arrive(REQUESTS, [*LINES, *(idle(second) for second in range(100, 600, 10))])
    lab.arrive(REASSIGNMENTS, move(0.9, {0: [2], 1: [2]}))
    lab.arrive(ISR_CHANGES, [in_sync(61.6, [2])])
    lab.run()
    lab.arrive(REQUESTS, copied(590, MB, whole=600 * MB, partition=1, leader=3, every=10))
    lab.run()

    gold = lab.gold()
    assert gold == lab.at_once()
    assert len({row["window_start"] for row in gold["reassignment_progress"]}) == 60


def test_a_topic_that_is_named_after_its_fetches_has_its_progress_restated(lab):
    lab.arrive(REQUESTS, [by_id(line) for line in LINES])
    lab.arrive(THROTTLE_CHANGES, throttle(0.5, LIMIT))
    lab.arrive(REASSIGNMENTS, move(0.9, {0: [2]}))
    lab.arrive(ISR_CHANGES, [in_sync(61.6, [2])])
    lab.run()
    assert lab.gold()["reassignment_progress"] == []

    lab.arrive(TOPICS, [{"cluster": "lab", "topic_id": "t's id", "topic_name": "t", "seen_at": AT}])
    lab.run()

    assert lab.gold() == lab.at_once()
    assert len(lab.gold()["reassignment_progress"]) == 7


def by_id(line):
    """Return a line in which partitions have the id of their topic."""
    parts = [part | {"topic_name": None, "topic_id": "t's id"} for part in line["partitions"]]
    return line | {"partitions": parts}


MIDNIGHT_S = 12 * 3_600
"""The seconds from `AT`, which is noon."""


def test_polls_around_midnight_and_a_request_that_arrives_late_give_what_is_built_at_once(lab):
    """Polls repeat a limit for a minute on both sides of midnight; the request before them arrives last."""
    lab.arrive(REQUESTS, copied(60, LIMIT, whole=300 * MB, start=MIDNIGHT_S - 30))
    seconds = range(MIDNIGHT_S - 60, MIDNIGHT_S + 90, 10)
    polls = [polled(second, rates=(LIMIT, LIMIT), topics=[("t", "0:1")]) for second in seconds]
    for part in (polls[::2], polls[1::2], [[rate(MIDNIGHT_S - 75, 2 * LIMIT), rate(MIDNIGHT_S - 25, None)]]):
        lab.arrive(THROTTLE_CHANGES, [row for each in part for row in each])
        lab.run()

    gold = lab.gold()
    assert gold == lab.at_once()
    limited = {(row["limited_from"], row["limit_bytes_per_s"]) for row in gold["throttle_compliance"]}
    assert len(limited) == 3


def test_a_poll_reads_only_its_own_settings(tmp_path, monkeypatch):
    """Half an hour of polls over midnight, then one more."""
    for table in (*TABLES, REASSIGNMENTS, THROTTLE_CHANGES):
        tables.make(tmp_path, table)

    def arrive(second):
        rows = arrow(THROTTLE_CHANGES, with_lists(polled(second)))
        tables.append_rows(rows, tmp_path, THROTTLE_CHANGES, txn_app_id=str(second))

    for second in range(MIDNIGHT_S - 900, MIDNIGHT_S + 900, 60):
        arrive(second)
    times = ThrottledTimes(WarehouseTables(tmp_path))
    arrive(MIDNIGHT_S + 900)
    read, rows_in = [], Snapshot.rows_in

    def counted(self, paths, *more):
        read.extend(paths if self.table is THROTTLE_CHANGES else ())
        return rows_in(self, paths, *more)

    monkeypatch.setattr(Snapshot, "rows_in", counted)
    times.windows([windows(MIDNIGHT_S + 900)], [arrived(THROTTLE_CHANGES, MIDNIGHT_S + 900)])

    assert len(read) == 1
