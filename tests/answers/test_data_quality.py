"""Sentences about lines that were not read as they should be."""

from answers.data_quality.counts import doubts

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
