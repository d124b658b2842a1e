"""Sentences about lines that were not read as they should be."""

from datetime import UTC, datetime, timedelta

import pytest

from answers.data_quality import question
from answers.data_quality.counts import (
    MOST_LISTED_A_REASON,
    NODES,
    PREVIEW_BYTES,
    doubts,
    quarantined,
    quarantined_by_reason,
    rule_results,
)
from answers.data_quality.losses import losses
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.silver.not_kept import GAPS, QUARANTINE, Loss
from tests.answers import made_gold
from tests.answers.selected import selected

FOUND_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)

REASONS = [{"reason": name, "lines": n} for name, n in (("a", 2), ("b", 900), ("c", 5), ("d", 1_100))]


def doubts_of(read, quarantined, reasons=()):
    return doubts([{"lines_read": read, "quarantined": quarantined}], reasons, [], [])


def test_many_quarantined_lines_are_a_doubt_with_their_most_frequent_reasons():
    assert doubts_of(10_000, 2_007, REASONS) == [
        "2,007 of 10,000 lines (20.1 %) are in quarantine: d 1,100, b 900, c 5"
    ]


def test_a_few_quarantined_lines_are_none():
    assert doubts_of(10_000, 100) == doubts_of(0, 0) == []
    assert len(doubts_of(10_000, 101)) == 1


def gap(partition, lines, **more):
    row = {"topic": "t.metrics", "partition": partition, "lines": lines, "reason": "retention"}
    return row | {"found_at": FOUND_AT} | more


def of_gaps(*rows, **filters):
    return selected({GAPS: list(rows)}, **filters)


def test_lost_records_are_counted_by_topic_and_reason():
    selection = of_gaps(gap(2, 1_200), gap(0, 34), gap(2, 1, reason="compaction"))

    compacted, deleted = losses(selection.gold)
    assert compacted.startswith("Kafka lost 1 record of t.metrics (partition 2) before they were read: log")
    assert deleted.startswith("Kafka lost 1,234 records of t.metrics (partitions 0, 2) before they were read")


@pytest.mark.parametrize("reason", Loss)
def test_an_unknown_number_of_lost_records_is_not_0(reason):
    [words] = losses(of_gaps(gap(0, None, reason=reason.value)).gold)

    assert words.startswith("Kafka lost an unknown number of records of t.metrics (partition 0)")


def test_a_loss_that_was_found_before_the_span_lost_no_line_of_it():
    later = FOUND_AT + timedelta(seconds=1)

    assert losses(of_gaps(gap(0, 5)).gold, FOUND_AT) != []
    assert losses(of_gaps(gap(0, 5)).gold, later) == []
    assert question.doubts(of_gaps(gap(0, 5), since=later)) == []


def test_a_loss_is_the_answer_to_what_became_of_every_line():
    answer = question.answer(of_gaps(gap(0, 5)))

    assert answer.headline.mood == "alarm"
    assert answer.headline.sentence.startswith("Kafka lost 5 records of t.metrics (partition 0)")
    assert question.doubts(of_gaps(gap(0, 5))) == list(answer.headline.evidence)


@pytest.mark.parametrize(("late_s", "is_late"), [(30, False), (31, True)])
def test_a_node_is_late_from_more_than_30_s_on(late_s, is_late):
    sources = [
        made_gold.quality(1) | {"last_logged_at": FOUND_AT},
        made_gold.quality(2) | {"last_logged_at": FOUND_AT + timedelta(seconds=late_s)},
    ]
    (column,) = (column for column in NODES.columns if column.head == "after the newest s")

    rows = NODES.listed(sources).rows

    assert [row["behind_s"] for row in rows] == [late_s, 0]
    assert [column.is_alarm(row) for row in rows] == [is_late, False]


def line(reason, position):
    return {"cluster": "lab", "reason": reason, "source": "s", "position": position, "value": b"x" * 500}


def test_the_first_lines_of_each_reason_are_listed_with_their_first_bytes():
    frequent = [line("a", f"{nth:03}") for nth in range(MOST_LISTED_A_REASON + 1)]

    rows = quarantined(selected({QUARANTINE: [*frequent, line("b", "0")]}))

    assert [row["position"] for row in rows if row["reason"] == "a"] == [
        row["position"] for row in frequent[:-1]
    ]
    assert [row["reason"] for row in rows][-1] == "b"
    assert {row["preview"] for row in rows} == {"x" * PREVIEW_BYTES}


def test_a_line_that_was_sent_again_is_one_line_in_quarantine():
    selection = selected({QUARANTINE: [line("a", "1"), line("a", "1"), line("a", "2")]})

    assert quarantined_by_reason(selection) == [{"reason": "a", "lines": 2}]


def test_results_of_rules_are_those_of_spans_that_overlap():
    hour = {"span_start": FOUND_AT, "span_end": FOUND_AT + timedelta(hours=1)}
    row = {"checked_at": FOUND_AT, "layer": "silver", "table_name": "requests", "rule": "ids"}

    def seen(**filters):
        return len(rule_results(selected({QUALITY_RESULTS: [row | hour]}, **filters)))

    assert seen(since=hour["span_end"]) == seen(until=hour["span_start"]) == 0
    assert seen(since=hour["span_end"] - timedelta(seconds=1)) == 1
    assert seen(until=hour["span_start"] + timedelta(seconds=1)) == 1


@pytest.mark.parametrize(
    ("is_balanced", "sentence", "mood"),
    [
        (False, "The counts of lines do not add up.", "alarm"),
        (None, "Every line is accounted for.", "calm"),
        (True, "Every line is accounted for.", "calm"),
    ],
)
def test_counts_that_do_not_add_up_are_an_alarm(is_balanced, sentence, mood):
    """A source without a count of its lines is unknown."""
    sources = [made_gold.quality(1), made_gold.quality(2) | {"is_balanced": is_balanced}]

    headline = question.answer(selected({DATA_QUALITY: sources}, cluster="east")).headline

    assert (headline.sentence, headline.mood) == (sentence, mood)
