"""Sentences about lines that were not read as they should be."""

from datetime import UTC, datetime, timedelta

import pytest

from answers.data_quality import question
from answers.data_quality.counts import doubts
from answers.data_quality.losses import losses
from schemas.silver.not_kept import GAPS, Loss
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
