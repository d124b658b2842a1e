"""Lookups by window, from made METADATA requests; the lab has real ones of old and new clients."""

from datetime import timedelta

from schemas.arrow import arrow_schema
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from tests.transforms.gold.lookup_rows import AT, gold, lookup, names, refused, silver, windows


def test_rows_are_the_gold_table_and_nothing_gives_nothing():
    nothing = gold(silver([]))

    assert nothing.schema == arrow_schema(METADATA_LOOKUP)
    assert nothing.num_rows == 0


def test_lookups_are_counted_by_window_each_once():
    rows = [
        lookup(1, names(1)),
        lookup(2, names(1, 2)),
        lookup(3, None),
        lookup(11, []),
        lookup(2, names(1, 2)),
    ]
    rows += [lookup(4, names(9), client="own", is_own_traffic=True), lookup(5, names(7), client="other")]

    found = [row for row in windows(rows) if row.client_id == "c"]

    told = [
        (r.lookups, r.all_topics_lookups, r.topics_asked, r.topics_asked_most, len(r.topics)) for r in found
    ]
    assert told == [(3, 1, 3, 2, 2), (1, 0, 0, 0, 0)]
    assert [(row.topics_answered, row.response_bytes) for row in found] == [(3, 300), (0, 100)]


def test_a_lookup_that_took_longer_than_is_read_back_is_never_a_consequence():
    """Built alone, its window does not read the error."""
    slow = [lookup(at, names(1), client=name) for at, name in ((10.9, "c"), (11.1, "d"))]
    slow = [row | {"started_at": AT + timedelta(seconds=1.5)} for row in slow]

    found = {
        row.client_id: row.lookups_after_error
        for row in windows([refused(1.0), refused(1.0, client="d"), *slow])
    }

    assert found == {"c": 1, "d": 0}


def test_a_lookup_within_a_second_of_an_error_is_counted_as_its_consequence():
    rows = [refused(1.0), lookup(1.5, names(1)), lookup(2.5, names(1)), refused(3, 0), lookup(3.1, names(1))]
    rows += [refused(5.0, 74, client="d"), lookup(5.1, names(1)), lookup(5.2, names(1), client="d")]

    found = {row.client_id: row.lookups_after_error for row in windows(rows)}

    assert found == {"c": 1, "d": 1}
