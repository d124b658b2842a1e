"""Producer batches counted by partition, from made request lines whose every byte is known."""

from datetime import timedelta

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.partition_skew import PARTITION_SKEW
from tests.transforms.gold.skew_rows import AT, gold, produce, silver, skew

EVEN = [produce(n, n % 3, n // 3 * 10, 1_000) for n in range(9)]


def test_rows_are_the_gold_table_and_nothing_gives_nothing():
    assert gold(silver(EVEN)).schema == arrow_schema(PARTITION_SKEW)
    assert skew([]) == []


def test_batches_bytes_and_records_are_counted_by_partition():
    rows = {row.partition: row for row in skew(EVEN)}

    assert {p: (r.topic, r.leader_id, r.batches, r.bytes, r.share) for p, r in rows.items()} == {
        p: ("orders", p + 1, 3, 3_000, pytest.approx(1 / 3)) for p in range(3)
    }
    # the last batch of a partition has no successor yet
    assert {(r.records, r.batches_counted, r.records_per_batch) for r in rows.values()} == {(20, 2, 10.0)}
    assert {r.produce_p50_ms for r in rows.values()} == {2.0}


ODD = {  # what does not change the count, or does so in one known way -> (batches, bytes, retried)
    "a line sent again": ([EVEN[0], EVEN[0]], (1, 1_000, 0)),
    "a batch sent again": ([EVEN[0], EVEN[0] | {"position": "other"}], (1, 1_000, 1)),
    "an error": ([EVEN[0], produce(1, 0, -1, 700, part={"error_code": 6})], (1, 1_000, 0)),
    "no answer (acks=0)": (
        [produce(n, 0, None, 500, part={"error_code": None}) for n in range(2)],
        (2, 1_000, 0),
    ),
    "an empty partition": ([EVEN[0], produce(1, 0, 10, None)], (1, 1_000, 0)),
    "our own traffic": ([EVEN[0], produce(1, 0, 10, 9, is_own_traffic=True)], (1, 1_000, 0)),
    "another API": ([EVEN[0], produce(1, 0, 10, 9, api="FETCH")], (1, 1_000, 0)),
}


@pytest.mark.parametrize(("rows", "wanted"), ODD.values(), ids=ODD)
def test_each_appended_batch_counts_once(rows, wanted):
    (row,) = skew(rows)

    assert (row.batches, row.bytes, row.retried) == wanted


def test_what_comes_much_later_is_no_neighbour_however_much_is_read_at_once():
    """One rebuilt window reads ten seconds behind it, a back-fill an hour: both must tell the same."""
    near, far = produce(10, 0, 10, 5), produce(11, 0, 10, 5)

    known, unknown = (skew([EVEN[0], later])[0] for later in (near, far))

    assert (known.records, known.batches_counted) == (10, 1)
    assert (unknown.records, unknown.batches_counted) == (None, 0)
    rows = skew([EVEN[0], near, produce(21, 0, 20, 5)])
    assert [sum(row[name] for row in rows) for name in ("followed", "repeats")] == [1, 1]


def test_an_older_client_names_its_topic_itself():
    (row,) = skew([produce(0, 0, 0, 5, part={"topic_id": None, "topic_name": "orders"})])

    assert row.topic == "orders"


def test_a_run_is_told_apart_from_what_its_client_did_before_and_after():
    run = {
        "cluster": "lab",
        "run": "r1",
        "arm": "sticky",
        "client_id": "c",
        "started_at": AT + timedelta(seconds=3),
    }
    runs = [run, run | {"ended_at": AT + timedelta(seconds=6)}]

    rows = skew(EVEN, runs)

    assert (
        sorted((r.run or "", r.arm or "", r.batches) for r in rows)
        == [("", "", 2)] * 3 + [("r1", "sticky", 1)] * 3
    )


def test_a_topic_that_is_created_again_has_the_records_of_both_lives():
    """Its offsets begin at 0 again, an hour later; a back-fill reads both."""
    lives = [produce(begin + n, 0, 10 * n, 5) for begin in (0, 3_600) for n in range(4)]

    rows = skew(lives)

    assert [(row.batches, row.batches_counted, row.records, row.retried) for row in rows] == [
        (4, 3, 30, 0)
    ] * 2
