"""An arm that did not do all its work ends the benchmark."""

import pytest

from benchmarks.pipeline import counts
from benchmarks.pipeline.arms import consumer


def test_an_arm_that_left_lines_out_is_named_with_both_counts():
    with pytest.raises(ValueError, match="gold: silver: 999 instead of 1,000"):
        counts.check("gold", {"bronze": (1_000, 1_000), "silver": (999, 1_000)})


def test_a_complete_arm_passes():
    counts.check("gold", {"bronze": (1_000, 1_000)})


def test_a_table_that_does_not_exist_yet_has_no_rows(tmp_path):
    assert counts.rows_of(tmp_path / "bronze" / "metrics") == 0


def test_a_consumer_that_prints_no_summary_is_an_error():
    with pytest.raises(ValueError, match="printed no"):
        consumer.count_of("WARNING: exiting before consuming the expected number of messages\n")
