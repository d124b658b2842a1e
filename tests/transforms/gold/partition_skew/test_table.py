"""Producer batches counted by partition, from made request lines whose every byte is known."""

from datetime import timedelta

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.partition_skew import PARTITION_SKEW, PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY
from tests.transforms.gold.silver_rows import Cases
from tests.transforms.gold.skew_rows import AT, batches_of, gold, produce, silver, skew, spans, spans_of

CASES = Cases()


@pytest.fixture(scope="module")
def told(spark):
    return spans_of(spark, CASES)


EVEN = [produce(n, n % 3, n // 3 * 10, 1_000) for n in range(9)]


def test_rows_are_the_gold_table_and_nothing_gives_nothing(spark):
    assert gold(silver(EVEN)).schema == arrow_schema(PARTITION_SKEW)
    assert skew([]) == []
    span, summary = spans(spark, silver(EVEN))
    assert span.schema.simpleString() == PARTITION_SKEW_SPAN.schema.simpleString()
    assert summary.schema.simpleString() == PARTITION_SKEW_SUMMARY.schema.simpleString()


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


@CASES.test
def test_batches_to_the_same_partition_as_the_one_before_are_held_against_chance():
    """Six of eight follow their like; by chance 25/81 + 16/81 of them would."""
    order = [0, 0, 0, 1, 1, 1, 1, 0, 0]
    rows = [produce(n, p, 10 * n, 5) for n, p in enumerate(order)]

    _, summaries = yield silver([*rows, produce(4.5, 2, 0, 5, client_id="other")])

    (told,) = (row for row in summaries if row.client_id == "c")
    assert told.repeat_ratio == pytest.approx(6 / (8 * (25 + 16) / 81))


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


@CASES.test
def test_a_partition_that_got_nothing_counts_as_one():
    """Someone else produces to it, so it is there."""
    rows = [produce(0, 0, 0, 300), produce(1, 1, 0, 100), produce(2, 2, 0, 50, client_id="other")]

    span, summaries = yield silver(rows)

    shares = {r.partition: r.share for r in span if r.client_id == "c"}
    assert shares == {0: 0.75, 1: 0.25, 2: 0.0}
    (told,) = (row for row in summaries if row.client_id == "c")
    assert (told.partitions, told.max_over_mean, told.top_share) == (3, pytest.approx(2.25), 0.75)
    assert told.effective_partitions == pytest.approx(1 / (0.75**2 + 0.25**2))
    assert told.gini == pytest.approx(0.5)  # of 0, 100, 300: by hand
    assert told.coefficient_of_variation == pytest.approx(0.9354, abs=1e-4)
    assert (told.chi_square, told.degrees_of_freedom) == (pytest.approx(1.0), 2)


def told_sizes(size, configuration):
    """Return a run that says the size of its records; batches of ten records have 100 bytes."""
    run = {"cluster": "lab", "run": "r1", "arm": "sticky", "client_id": "c", "position": "r"}
    run |= {"started_at": AT, "record_size_bytes": size, "configuration": configuration}
    return silver(batches_of((1, 1, 1), (100, 100, 100), n=30), [run])


SIZES = {
    "records of 10": (10, [], []),
    "records of 11": (11, [], ["bytes_do_not_add_up"]),
    "compressed": (11, ["compression.type=lz4"], []),
}
CASES.silver |= {name: told_sizes(*case[:2]) for name, case in SIZES.items()}


@pytest.mark.parametrize("name", SIZES)
def test_bytes_that_cannot_hold_what_was_sent_are_flagged(told, name):
    """Batches of ten records have 100 bytes: enough for records of 10 and not for those of 11."""
    _, (summary,) = told[name]

    assert (summary.run, summary.quality_flags) == ("r1", SIZES[name][-1])
