"""Coverage of windows by the lines of a warehouse: what is read of them, and what settles a window."""

import random
import uuid
from datetime import timedelta
from itertools import product

import pytest

from engine.delta import tables
from engine.gold import coverage as of_warehouse
from engine.gold.coverage import Settling
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import START, arrow, at, request
from transforms.gold.build import Arrived
from transforms.spans import Span, in_steps, spans_of, touched, window_of
from transforms.windows import LINE, WINDOW_S, Reach, coverage, newest_lines

DAY_S = 24 * 3600
REACH = Reach(lookback_s=60, lookahead_s=10)
"""The windows that a line touches in the tables about fetches."""


def span(second):
    """Return the span of the window that contains an instant."""
    window = window_of((START + timedelta(seconds=second)).timestamp())
    return Span(window, window + WINDOW_S)


def arrive(warehouse, *lines):
    """Append lines (second, broker, cluster) in one commit, one file per day."""
    rows = [
        request(second, leader=broker, correlation_id=n, cluster=cluster)
        for n, (second, broker, cluster) in enumerate(lines)
    ]
    tables.append_rows(arrow(REQUESTS, rows), warehouse, REQUESTS, txn_app_id=str(uuid.uuid4()))


def requests_of(warehouse):
    return tables.snapshot(warehouse, REQUESTS)


@pytest.fixture
def read(monkeypatch):
    """Count the lines of each read of silver."""
    counts = []

    def counted(lines):
        rows = lines.read_all()
        counts.append(rows.num_rows)
        return newest_lines(rows.to_reader())

    monkeypatch.setattr(of_warehouse, "newest_lines", counted)
    return counts


@pytest.fixture
def week(tmp_path):
    """Make eight days with 20 files of ten lines of two brokers each, 10 s apart."""
    for file in range(20):
        seconds = [day * DAY_S + 10 * file + n / 2 for day in range(8) for n in range(10)]
        arrive(tmp_path, *((second, broker, "lab") for second in seconds for broker in (1, 2)))
    return tmp_path


def test_a_new_process_reads_no_more_than_the_newest_minute(week, read):
    """The window looks back a minute, over seven files, and so does the newest minute of the cluster."""
    Settling(week, []).covered(requests_of(week), [span(7 * DAY_S + 190)])

    assert sum(read) <= 2 * 7 * 20


@pytest.mark.parametrize("is_new_process", [True, False])
def test_a_late_line_reads_only_the_lines_around_it_and_the_newest(week, read, is_new_process):
    settling = Settling(week, [])
    if not is_new_process:
        settling.covered(requests_of(week), [span(7 * DAY_S + 190)])
    read.clear()
    arrive(week, (95.5, 1, "lab"))

    (window,) = settling.covered(requests_of(week), [span(95)])

    assert window.is_settled
    assert sum(read) <= (2 if is_new_process else 1) * 8 * 20 + 1


def test_a_new_process_knows_each_broker_that_settles_a_window_of_the_last_minute(tmp_path):
    """Each broker is read past the end of the window, in a file of its own, away from the window."""
    for line in ((5, 1, "lab"), (5, 2, "lab"), (40, 1, "lab"), (60, 2, "lab")):
        arrive(tmp_path, line)

    (window,) = Settling(tmp_path, []).covered(requests_of(tmp_path), [span(5)])

    assert window == (*window[:2], 2, 2, True)


def test_a_late_line_of_a_cluster_that_is_gone_reads_no_line_of_the_others(week, read):
    arrive(week, (100, 1, "gone"), (100, 2, "gone"))
    settling = Settling(week, [])
    (window,) = [row for row in settling.covered(requests_of(week), [span(100)]) if row.cluster == "gone"]

    assert not window.is_settled
    assert sum(read) <= 2 * 8 * 20 + 4


def made_lines(rng):
    """Return batches of lines: two clusters, brokers that pause or die, and lines that arrive late."""
    lines = []
    for cluster, broker in product(("east", "west"), (1, 2, 3)):
        died, late_s = rng.choice((400, rng.randrange(400))), rng.choice((0, 5, 40))
        for second in range(0, died, rng.choice((4, 7, 30))):
            very_late_s = rng.choice((*[0] * 30, 300))
            read_at = second + rng.random() * (late_s + very_late_s)
            lines.append((read_at, (second, broker, cluster)))
    ordered = [line for _, line in sorted(lines)]
    return [ordered[n : n + 12] for n in range(0, len(ordered), 12)]


def arrived(lines):
    return [
        Arrived(REQUESTS.name, cluster, broker, span(second).start, 1, at(second), frozenset())
        for second, broker, cluster in lines
    ]


@pytest.mark.parametrize("seed", range(8))
def test_windows_settle_as_if_all_lines_were_read_at_once_whenever_the_process_starts_anew(tmp_path, seed):
    rng = random.Random(seed)
    tables.make(tmp_path, REQUESTS)
    settling, built, newest = Settling(tmp_path, []), {}, 0
    for lines in made_lines(rng):
        arrive(tmp_path, *lines)
        if rng.random() < 0.3:
            unsettled = settling._unsettled
            settling = Settling(tmp_path, [])
            settling._unsettled = unsettled  # they are read from gold
        new = arrived(lines)
        newest = max(newest, *(row.slot for row in new))
        settling.saw(new)
        windows = touched((row.slot for row in new), REACH) | settling.may_settle()
        for step in in_steps(spans_of(window for window in windows if window <= newest)):
            built |= {row[:2]: row for row in settling.covered(requests_of(tmp_path), step)}

    everything = coverage(newest_lines(requests_of(tmp_path).all_rows(LINE)))
    whole = {row[:2]: row for row in everything if row.nodes_reporting}
    assert {key: row for key, row in built.items() if row.nodes_reporting} == whole
    assert {row.is_settled for row in whole.values()} == {True, False}
