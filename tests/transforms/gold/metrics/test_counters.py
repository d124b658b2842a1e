"""What a counter gained: restarts, gaps, samples that are none, late and re-sent ones."""

import math
import random
from itertools import pairwise

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType, TimestampType

from tests.transforms.gold.metric_rows import AT, at
from transforms.frames import frame_of
from transforms.gold.metrics.counters import BRIDGED_S, increases, steps

SAMPLES = StructType(
    [
        StructField("cluster", StringType()),
        StructField("series_id", LongType()),
        StructField("at", TimestampType()),
        StructField("value", DoubleType()),
        StructField("process_start_s", DoubleType()),
    ]
)
LONG_AGO = -100_000.0


def rows(*samples, series_id=1):
    """Make samples: (second, value) or (second, value, second of the process's start)."""
    return [
        ("lab", series_id, at(second), value, AT.timestamp() + start[0] if start else None)
        for second, value, *start in samples
    ]


def gained(spark, given):
    """Give (from, to, increase, is_reset) in seconds."""
    found = increases(frame_of(spark, given, SAMPLES)).orderBy("series_id", "to_at")
    return [
        (
            round(row["from_at"].timestamp() - AT.timestamp(), 6),
            round(row["to_at"].timestamp() - AT.timestamp(), 6),
            row["increase"],
            row["is_reset"],
        )
        for row in found.collect()
    ]


def test_increase_is_the_difference_of_neighbours(spark):
    found = gained(spark, rows((0, 5.0), (10, 7.0), (20, 7.0)))

    assert found == [(0, 10, 2.0, False), (10, 20, 0.0, False)]


def test_nothing_in_gives_nothing_out(spark):
    assert gained(spark, []) == []


def test_value_that_fell_was_gained_since_a_restart_of_unknown_time(spark):
    assert gained(spark, rows((0, 5.0), (10, 2.0))) == [(0, 10, 2.0, True)]


def test_moved_start_is_a_restart_even_if_the_value_is_higher(spark):
    found = gained(spark, rows((0, 5.0, LONG_AGO), (10, 9.0, 4.0)))

    # Four seconds of the ten the process was down or not there: all 9 were gained in the other six.
    assert found == [(4, 10, 9.0, True)]


def test_start_that_is_rounded_in_another_way_is_no_restart(spark):
    assert gained(spark, rows((0, 5.0, -1_000.0), (10, 9.0, -999.3))) == [(0, 10, 4.0, False)]


def test_start_by_a_clock_that_is_behind_does_not_reach_before_the_last_sample(spark):
    assert gained(spark, rows((0, 5.0, LONG_AGO), (10, 3.0, -7.0))) == [(0, 10, 3.0, True)]


def test_start_by_a_clock_that_is_ahead_does_not_reach_behind_the_sample(spark):
    assert gained(spark, rows((0, 5.0, LONG_AGO), (10, 3.0, 17.0))) == [(10, 10, 3.0, True)]


def test_another_process_under_the_same_name_gained_nobody_knows_what(spark):
    found = gained(spark, rows((0, 5.0, -1_000.0), (10, 90.0, -5_000.0), (20, 92.0, -5_000.0)))

    assert found == [(0, 10, None, True), (10, 20, 2.0, False)]


def test_bean_that_was_made_anew_in_a_living_process_counts_from_its_last_sample(spark):
    assert gained(spark, rows((0, 5.0, LONG_AGO), (10, 2.0, LONG_AGO))) == [(0, 10, 2.0, True)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, None])
def test_what_is_no_count_is_no_sample_and_is_bridged(spark, value):
    assert gained(spark, rows((0, 5.0), (10, value), (20, 9.0))) == [(0, 20, 4.0, False)]


def test_gap_is_bridged_by_the_next_sample_of_the_same_process(spark):
    found = gained(spark, rows((0, 5.0, LONG_AGO), (BRIDGED_S, 9.0, LONG_AGO)))

    assert found == [(0, BRIDGED_S, 4.0, False)]


def test_longer_gap_is_not_bridged(spark):
    found = gained(spark, rows((0, 5.0, LONG_AGO), (BRIDGED_S + 1, 9.0, LONG_AGO), (BRIDGED_S + 2, 9.5)))

    assert found == [(BRIDGED_S + 1, BRIDGED_S + 2, 0.5, False)]


def test_after_a_long_outage_the_new_process_loses_nothing(spark):
    found = gained(spark, rows((0, 5.0, LONG_AGO), (2_000, 3.0, 1_950.0)))

    assert found == [(1_950, 2_000, 3.0, True)]


def test_first_sample_of_a_young_process_is_what_it_gained_since_its_start(spark):
    assert gained(spark, rows((10, 3.0, 4.0))) == [(4, 10, 3.0, True)]
    assert gained(spark, rows((10, 3.0, LONG_AGO))) == []
    assert gained(spark, rows((10, 3.0))) == []


def test_start_that_is_missing_once_is_told_by_its_neighbours(spark):
    # The restart lies before the sample without a start: what it shows belongs to the new process.
    found = gained(spark, rows((0, 5.0, LONG_AGO), (10, 9.0), (20, 11.0, 4.0)))

    assert found == [(4, 10, 9.0, True), (10, 20, 2.0, False)]


def test_start_that_was_never_known_before_is_a_restart_when_it_lies_behind_the_last_sample(spark):
    assert gained(spark, rows((0, 5.0), (10, 9.0, 4.0))) == [(4, 10, 9.0, True)]
    assert gained(spark, rows((0, 5.0), (10, 9.0, -400.0))) == [(0, 10, 4.0, False)]


def test_resent_and_late_samples_give_the_same(spark):
    told = rows((0, 5.0, LONG_AGO), (10, 7.0, LONG_AGO), (20, 1.0, 14.0), (30, 4.0, 14.0))

    assert gained(spark, [*reversed(told), *told]) == gained(spark, told)


def test_series_are_kept_apart_and_columns_kept(spark):
    frame = frame_of(spark, rows((0, 5.0), (10, 7.0)) + rows((5, 1.0), (15, 4.0), series_id=2), SAMPLES)

    found = increases(frame.withColumn("topic", F.lit("t")), "topic").orderBy("series_id").collect()

    assert [(row["series_id"], row["topic"], row["increase"]) for row in found] == [
        (1, "t", 2.0),
        (2, "t", 3.0),
    ]


def test_samples_need_no_start(spark):
    frame = frame_of(spark, rows((0, 5.0), (10, 7.0)), SAMPLES).drop("process_start_s")

    assert [row["increase"] for row in increases(frame).collect()] == [2.0]


def test_columns_are_those_of_the_contract(spark):
    found = increases(frame_of(spark, [], SAMPLES))

    assert found.columns == ["cluster", "series_id", "from_at", "to_at", "increase", "is_reset"]


def test_counters_of_one_scrape_begin_anew_together_and_sums_are_not_asked(spark):
    frame = frame_of(spark, rows((0, 5.0), (10, 3.0), (20, 6.0)), SAMPLES).withColumn(
        # A sum that is higher after the restart, and one that seems to fall without any.
        "sum_ms",
        F.when(F.col("value") == 5, 100.0).when(F.col("value") == 3, 300.0).otherwise(290.0),
    )

    found = steps(frame, ("cluster", "series_id"), ("value",), derived=("sum_ms",)).orderBy("to_at").collect()

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


def simulated(spark, processes):
    """Give what was gained of each process, all of them in one go."""
    given = [row for seed, process in processes.items() for row in rows(*process.samples, series_id=seed)]
    found = {seed: [] for seed in processes}
    for row in increases(frame_of(spark, given, SAMPLES)).orderBy("to_at").collect():
        found[row["series_id"]].append((row["from_at"], row["to_at"], row["increase"], row["is_reset"]))
    return found


def test_no_more_than_the_truth_and_no_less_than_what_was_seen_before_each_death(spark):
    processes = {seed: Process(seed, knows_start=True) for seed in SEEDS}

    for seed, found in simulated(spark, processes).items():
        process = processes[seed]
        of_first = process.samples[0][1]  # a young process's first sample: gained before the observer began
        assert all(increase is not None and increase >= 0 for _, _, increase, _ in found)
        assert sum(increase for _, _, increase, _ in found) - of_first == process.truth - process.lost
        # Intervals neither overlap nor reach into the future.
        assert all(one[1] <= other[0] for one, other in pairwise(found))
        assert all(since <= until for since, until, _, _ in found)


def test_without_a_start_a_restart_may_hide_but_nothing_is_invented(spark):
    processes = {seed: Process(seed, knows_start=False) for seed in SEEDS}

    for seed, found in simulated(spark, processes).items():
        process = processes[seed]
        assert all(increase is not None and increase >= 0 for _, _, increase, _ in found)
        assert sum(increase for _, _, increase, _ in found) <= process.truth - process.lost


def test_what_ends_in_a_window_depends_on_nothing_older_than_the_reach(spark):
    told = rows(*Process(7, knows_start=True).samples)
    cut = 400

    whole = [row for row in gained(spark, told) if row[1] >= cut]

    seen = [row for row in told if row[2] >= at(cut - BRIDGED_S)]
    assert [row for row in gained(spark, seen) if row[1] >= cut] == whole
