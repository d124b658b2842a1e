"""What a counter gained: restarts, gaps, samples that are none, late and re-sent ones."""

import math
import random
from itertools import pairwise

import pyarrow as pa
import pytest

from tests.transforms.gold.metric_rows import AT, at
from transforms.gold.metrics.counters import BRIDGED_S, increases, steps
from transforms.sql import connect

SAMPLES = pa.schema(
    {
        "cluster": pa.string(),
        "series_id": pa.int64(),
        "at": pa.timestamp("us", "UTC"),
        "value": pa.float64(),
        "process_start_s": pa.float64(),
    }
)
LONG_AGO = -100_000.0


def rows(*samples, series_id=1):
    """Make samples: (second, value) or (second, value, second of the process's start)."""
    return [
        ("lab", series_id, at(second), value, AT.timestamp() + start[0] if start else None)
        for second, value, *start in samples
    ]


def found_in(query, given):
    """Give what a query finds in samples, in order."""
    samples = pa.Table.from_pylist([dict(zip(SAMPLES.names, row, strict=True)) for row in given], SAMPLES)
    with connect({"given": samples}) as db:
        db.execute('CREATE TEMP VIEW samples AS SELECT *, epoch_us("at") AS at_us FROM given')
        return db.sql(f"{query} ORDER BY series_id, to_us").to_arrow_table()


def gained(given):
    """Give (from, to, increase, is_reset) in seconds."""
    at_us = round(AT.timestamp() * 1e6)
    return [
        (
            (row["from_us"] - at_us) / 1e6,
            (row["to_us"] - at_us) / 1e6,
            row["value_increase"],
            row["is_reset"],
        )
        for row in found_in(increases("FROM samples"), given).to_pylist()
    ]


def test_increase_is_the_difference_of_neighbours():
    found = gained(rows((0, 5.0), (10, 7.0), (20, 7.0)))

    assert found == [(0, 10, 2.0, False), (10, 20, 0.0, False)]


def test_nothing_in_gives_nothing_out():
    assert gained([]) == []


def test_value_that_fell_was_gained_since_a_restart_of_unknown_time():
    assert gained(rows((0, 5.0), (10, 2.0))) == [(0, 10, 2.0, True)]


def test_moved_start_is_a_restart_even_if_the_value_is_higher():
    found = gained(rows((0, 5.0, LONG_AGO), (10, 9.0, 4.0)))

    # Four seconds of the ten the process was down or not there: all 9 were gained in the other six.
    assert found == [(4, 10, 9.0, True)]


def test_start_that_is_rounded_in_another_way_is_no_restart():
    assert gained(rows((0, 5.0, -1_000.0), (10, 9.0, -999.3))) == [(0, 10, 4.0, False)]


def test_start_by_a_clock_that_is_behind_does_not_reach_before_the_last_sample():
    assert gained(rows((0, 5.0, LONG_AGO), (10, 3.0, -7.0))) == [(0, 10, 3.0, True)]


def test_start_by_a_clock_that_is_ahead_does_not_reach_behind_the_sample():
    assert gained(rows((0, 5.0, LONG_AGO), (10, 3.0, 17.0))) == [(10, 10, 3.0, True)]


def test_another_process_under_the_same_name_gained_nobody_knows_what():
    found = gained(rows((0, 5.0, -1_000.0), (10, 90.0, -5_000.0), (20, 92.0, -5_000.0)))

    assert found == [(0, 10, None, True), (10, 20, 2.0, False)]


def test_bean_that_was_made_anew_in_a_living_process_counts_from_its_last_sample():
    assert gained(rows((0, 5.0, LONG_AGO), (10, 2.0, LONG_AGO))) == [(0, 10, 2.0, True)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, None])
def test_what_is_no_count_is_no_sample_and_is_bridged(value):
    assert gained(rows((0, 5.0), (10, value), (20, 9.0))) == [(0, 20, 4.0, False)]


def test_gap_is_bridged_by_the_next_sample_of_the_same_process():
    found = gained(rows((0, 5.0, LONG_AGO), (BRIDGED_S, 9.0, LONG_AGO)))

    assert found == [(0, BRIDGED_S, 4.0, False)]


def test_longer_gap_is_not_bridged():
    found = gained(rows((0, 5.0, LONG_AGO), (BRIDGED_S + 1, 9.0, LONG_AGO), (BRIDGED_S + 2, 9.5)))

    assert found == [(BRIDGED_S + 1, BRIDGED_S + 2, 0.5, False)]


def test_after_a_long_outage_the_new_process_loses_nothing():
    found = gained(rows((0, 5.0, LONG_AGO), (2_000, 3.0, 1_950.0)))

    assert found == [(1_950, 2_000, 3.0, True)]


def test_first_sample_of_a_young_process_is_what_it_gained_since_its_start():
    assert gained(rows((10, 3.0, 4.0))) == [(4, 10, 3.0, True)]
    assert gained(rows((10, 3.0, LONG_AGO))) == []
    assert gained(rows((10, 3.0))) == []


def test_start_that_is_missing_once_is_told_by_its_neighbours():
    # The restart lies before the sample without a start: what it shows belongs to the new process.
    found = gained(rows((0, 5.0, LONG_AGO), (10, 9.0), (20, 11.0, 4.0)))

    assert found == [(4, 10, 9.0, True), (10, 20, 2.0, False)]


def test_start_that_was_never_known_before_is_a_restart_when_it_lies_behind_the_last_sample():
    assert gained(rows((0, 5.0), (10, 9.0, 4.0))) == [(4, 10, 9.0, True)]
    assert gained(rows((0, 5.0), (10, 9.0, -400.0))) == [(0, 10, 4.0, False)]


def test_resent_and_late_samples_give_the_same():
    told = rows((0, 5.0, LONG_AGO), (10, 7.0, LONG_AGO), (20, 1.0, 14.0), (30, 4.0, 14.0))

    assert gained([*reversed(told), *told]) == gained(told)


def test_series_are_kept_apart_and_columns_kept():
    given = rows((0, 5.0), (10, 7.0)) + rows((5, 1.0), (15, 4.0), series_id=2)

    found = found_in(increases("SELECT *, 't' AS topic FROM samples", "topic"), given).to_pylist()

    assert [(row["series_id"], row["topic"], row["value_increase"]) for row in found] == [
        (1, "t", 2.0),
        (2, "t", 3.0),
    ]


def test_columns_are_those_of_the_contract():
    found = found_in(increases("FROM samples"), [])

    names = ["cluster", "series_id", "from_us", "to_us", "value_increase", "is_reset"]
    assert found.column_names == names


def test_counters_of_one_scrape_begin_anew_together_and_sums_are_not_asked():
    # A sum that is higher after the restart, and one that seems to fall without any.
    sums = "SELECT *, CASE value WHEN 5 THEN 100.0 WHEN 3 THEN 300 ELSE 290 END AS sum_ms FROM samples"
    query = steps(sums, ("cluster", "series_id"), ("value",), derived=("sum_ms",))

    found = found_in(query, rows((0, 5.0), (10, 3.0), (20, 6.0))).to_pylist()

    assert [(row["value_increase"], row["sum_ms_increase"]) for row in found] == [(3.0, 300.0), (3.0, -10.0)]


class Process:
    """A simulated counter that is restarted at random, and what an observer of all of it would know."""

    def __init__(self, seed, *, knows_start):
        """Count for ten minutes and scrape every ten seconds, with gaps."""
        self.dice = random.Random(seed)
        self.samples, self.truth, self.lost, self.lost_by_gaps = [], 0, 0, 0
        value, start, unseen, is_first = 0, 0.0, 0, True
        for second in range(1, 601):
            if self.dice.random() < 0.01:
                self.lost += unseen
                value, unseen = 0, 0
                start = second - 0.5
            gained_now = self.dice.randrange(0, 40)
            value += gained_now
            if not is_first:
                self.truth += gained_now
                unseen += gained_now
            if second % 10 == 0 and self.dice.random() < 0.8:
                told = (second, float(value), start) if knows_start else (second, float(value))
                self.samples.append(told)
                unseen, is_first = 0, False
        self.lost += unseen


SEEDS = range(40)


def simulated(processes):
    """Give what was gained of each process, all of them in one go."""
    given = [row for seed, process in processes.items() for row in rows(*process.samples, series_id=seed)]
    found = {seed: [] for seed in processes}
    for row in found_in(increases("FROM samples"), given).to_pylist():
        found[row["series_id"]].append((row["from_us"], row["to_us"], row["value_increase"], row["is_reset"]))
    return found


def test_no_more_than_the_truth_and_no_less_than_what_was_seen_before_each_death():
    processes = {seed: Process(seed, knows_start=True) for seed in SEEDS}

    for seed, found in simulated(processes).items():
        process = processes[seed]
        of_first = process.samples[0][1]  # a young process's first sample: gained before the observer began
        assert all(increase is not None and increase >= 0 for _, _, increase, _ in found)
        assert sum(increase for _, _, increase, _ in found) - of_first == process.truth - process.lost
        # Intervals neither overlap nor reach into the future.
        assert all(one[1] <= other[0] for one, other in pairwise(found))
        assert all(since <= until for since, until, _, _ in found)


def test_without_a_start_a_restart_may_hide_but_nothing_is_invented():
    processes = {seed: Process(seed, knows_start=False) for seed in SEEDS}

    for seed, found in simulated(processes).items():
        process = processes[seed]
        assert all(increase is not None and increase >= 0 for _, _, increase, _ in found)
        assert sum(increase for _, _, increase, _ in found) <= process.truth - process.lost


def test_what_ends_in_a_window_depends_on_nothing_older_than_the_reach():
    told = rows(*Process(7, knows_start=True).samples)
    cut = 400

    whole = [row for row in gained(told) if row[1] >= cut]

    seen = [row for row in told if row[2] >= at(cut - BRIDGED_S)]
    assert [row for row in gained(seen) if row[1] >= cut] == whole
