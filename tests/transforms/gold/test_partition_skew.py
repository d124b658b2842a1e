"""Producer batches counted by partition, from made request lines whose every byte is known."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from schemas.clients import PARTITION_SKEW, PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY
from schemas.perf_test import PERF_SUMMARIES, RUNS
from schemas.silver import REQUESTS, TOPICS
from transforms.frames import frame_of
from transforms.gold.partition_skew import partition_skew
from transforms.gold.partition_skew_span import partition_skew_span
from transforms.gold.partition_skew_summary import partition_skew_summary
from transforms.gold.perf_runs import payloads

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAg"


def produce(second, partition, offset, sent_bytes, **fields):
    """Make one PRODUCE of one partition, of the client `c` unless told otherwise."""
    part = {
        "topic_id": TOPIC_ID,
        "partition": partition,
        "bytes": sent_bytes,
        "error_code": 0,
        "offset": offset,
    }
    part |= fields.pop("part", {})
    at = AT + timedelta(seconds=second)
    row = {"cluster": "lab", "broker_id": partition + 1, "logged_at": at, "started_at": at, "api": "PRODUCE"}
    row |= {"client_id": "c", "software_version": "3.9.1", "total_ms": 2.0, "is_own_traffic": False}
    row |= {"position": f"{second}/{partition}/{offset}", "partitions": [part]}
    return row | fields


def skew(spark, rows, runs=()):
    topics = [{"cluster": "lab", "topic_id": TOPIC_ID, "topic_name": "orders", "seen_at": AT}]
    return partition_skew(
        frame_of(spark, rows, REQUESTS.schema),
        frame_of(spark, topics, TOPICS.schema),
        frame_of(spark, runs, RUNS.schema),
    )


EVEN = [produce(n, n % 3, n // 3 * 10, 1_000) for n in range(9)]


def test_rows_are_the_gold_table_and_nothing_gives_nothing(spark):
    assert skew(spark, EVEN).schema.simpleString() == PARTITION_SKEW.schema.simpleString()
    assert skew(spark, []).count() == 0


def test_batches_bytes_and_records_are_counted_by_partition(spark):
    rows = {row.partition: row for row in skew(spark, EVEN).collect()}

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
def test_each_appended_batch_counts_once(spark, rows, wanted):
    row = skew(spark, rows).first()

    assert (row.batches, row.bytes, row.retried) == wanted


def test_what_comes_much_later_is_no_neighbour_however_much_is_read_at_once(spark):
    """One rebuilt window reads ten seconds behind it, a back-fill an hour: both must tell the same."""
    near, far = produce(10, 0, 10, 5), produce(11, 0, 10, 5)

    known, unknown = (skew(spark, [EVEN[0], later]).orderBy("window_start").first() for later in (near, far))

    assert (known.records, known.batches_counted) == (10, 1)
    assert (unknown.records, unknown.batches_counted) == (None, 0)
    repeats = skew(spark, [EVEN[0], near, produce(21, 0, 20, 5)]).groupBy().sum("followed", "repeats").first()
    assert tuple(repeats) == (1, 1)


def test_batches_to_the_same_partition_as_the_one_before_are_held_against_chance(spark):
    """Six of eight follow their like; by chance 25/81 + 16/81 of them would."""
    order = [0, 0, 0, 1, 1, 1, 1, 0, 0]
    rows = [produce(n, p, 10 * n, 5) for n, p in enumerate(order)]

    told = (
        spans(spark, [*rows, produce(4.5, 2, 0, 5, client_id="other")])[1].filter("client_id = 'c'").first()
    )

    assert told.repeat_ratio == pytest.approx(6 / (8 * (25 + 16) / 81))


def test_an_older_client_names_its_topic_itself(spark):
    row = skew(spark, [produce(0, 0, 0, 5, part={"topic_id": None, "topic_name": "orders"})]).first()

    assert row.topic == "orders"


def test_a_run_is_told_apart_from_what_its_client_did_before_and_after(spark):
    run = {
        "cluster": "lab",
        "run": "r1",
        "arm": "sticky",
        "client_id": "c",
        "started_at": AT + timedelta(seconds=3),
    }
    runs = [run, run | {"ended_at": AT + timedelta(seconds=6)}]

    rows = skew(spark, EVEN, runs).collect()

    assert (
        sorted((r.run or "", r.arm or "", r.batches) for r in rows)
        == [("", "", 2)] * 3 + [("r1", "sticky", 1)] * 3
    )


def spans(spark, rows, runs=(), payload_records=None):
    windows = skew(spark, rows, list(runs)).localCheckpoint()
    span = partition_skew_span(windows).localCheckpoint()
    summary = {"cluster": "lab", "run": "r1", "arm": "sticky", "records": payload_records, "position": "s"}
    told = [summary | {"is_steady_state": False}] if payload_records else []
    sent = payloads(frame_of(spark, told, PERF_SUMMARIES.schema), frame_of(spark, list(runs), RUNS.schema))
    return span, partition_skew_summary(span, windows, sent)


def test_a_partition_that_got_nothing_counts_as_one(spark):
    """Someone else produces to it, so it is there."""
    rows = [produce(0, 0, 0, 300), produce(1, 1, 0, 100), produce(2, 2, 0, 50, client_id="other")]

    span, summary = spans(spark, rows)

    assert span.schema.simpleString() == PARTITION_SKEW_SPAN.schema.simpleString()
    assert summary.schema.simpleString() == PARTITION_SKEW_SUMMARY.schema.simpleString()
    shares = {r.partition: r.share for r in span.filter("client_id = 'c'").collect()}
    assert shares == {0: 0.75, 1: 0.25, 2: 0.0}
    told = summary.filter("client_id = 'c'").first()
    assert (told.partitions, told.max_over_mean, told.top_share) == (3, pytest.approx(2.25), 0.75)
    assert told.effective_partitions == pytest.approx(1 / (0.75**2 + 0.25**2))
    assert told.gini == pytest.approx(0.5)  # of 0, 100, 300: by hand
    assert told.coefficient_of_variation == pytest.approx(0.9354, abs=1e-4)
    assert (told.chi_square, told.degrees_of_freedom) == (pytest.approx(1.0), 2)


def test_the_slowest_leader_is_held_against_the_others(spark):
    """Three times the bytes to the leader that takes 20 ms, in each of six windows."""
    rows = [
        produce(10 * w + p, p, 10 * w, 300 if p == 0 else 100, total_ms=20.0 + w if p == 0 else 2.0)
        for w in range(6)
        for p in range(3)
    ]

    told = spans(spark, rows)[1].first()

    assert (told.slowest_leader_id, told.slowest_ratio) == (1, pytest.approx(3.0))
    assert told.slowest_latency_ratio == pytest.approx(11, rel=0.1)
    assert (told.slow_by, told.partitioner) == ("leader_latency", None)  # of 18 batches nothing is told
    assert told.windows == 6
    assert told.share_per_ms_low < told.share_per_ms < told.share_per_ms_high
    assert told.share_per_ms == pytest.approx(0.4 / 20.5, rel=0.03)


def batches_of(counts, sizes, *, n=720, stays=1, full=1):
    """
    Make `n` batches on three partitions by weight, `stays` in a row on one, each partition's of a size.

    One batch of the first partition is `full` times as large.
    """
    total, offset = sum(counts), [0, 0, 0]
    turns = [p for p, count in enumerate(counts) for _ in range(round(n * count / total / stays))]
    Random(1).shuffle(turns)
    made = []
    for nth, p in enumerate(p for p in turns for _ in range(stays)):
        is_full = p == offset[p] == 0
        made.append(produce(nth / 40, p, offset[p], round(sizes[p] * (full if is_full else 1))))
        offset[p] += 10
    return made


SPOKEN = {  # of the slow leader over the others: batches, their size; in a row, a full one -> partitioner
    "sticky: as many, larger": (1.0, 4.5, 1, 1, "sticky"),
    "sticky with less load": (1.0, 2.4, 1, 1, "sticky"),
    "keys that happen to fall there": (2.2, 2.0, 1, 1, None),
    "keys that wait to be sent together": (1.0, 3.0, 1, 2, None),
    "more than uniform, and stays": (1.3, 2.0, 3, 2, None),
    "uniform": (0.6, 2.8, 3, 2.5, "uniform"),
    "uniform, hardly busy": (0.475, 2.8, 3, 2.5, "uniform"),
    "keys as uneven as that": (0.6, 2.8, 1, 1, None),
    "neither long nor short stays": (0.46, 2.8, 3, 3, None),
    "adaptive, hardly busy": (0.46, 2.8, 3, 4.5, "adaptive"),
    "adaptive that spares it": (0.4, 2.0, 3, 4.5, "adaptive"),
    "stays long and gets little": (0.4, 2.0, 3, 1, None),
    "stays short and gets much": (0.6, 2.8, 3, 4.5, None),
    "keys that are even": (0.5, 2.0, 1, 1, None),
    "hardly anything": (0.25, 2.0, 3, 4.5, None),
}


@pytest.mark.parametrize("case", SPOKEN.values(), ids=SPOKEN)
def test_what_a_slow_leader_gets_speaks_for_a_partitioner_or_for_none(spark, case):
    batches, size, stays, full, partitioner = case
    sizes = (round(100 * size), 100, 100)
    told = spans(spark, batches_of((batches, 1, 1), sizes, stays=stays, full=full))[1].first()

    assert (told.slowest_leader_id, told.slow_by) == (1, "batch_size")
    assert told.slowest_ratio == pytest.approx(batches * size, rel=0.06)
    assert told.slowest_batches_ratio == pytest.approx(batches, rel=0.04)
    assert told.partitioner == partitioner


def test_a_stay_is_told_in_full_batches_less_what_chance_gives(spark):
    """Stays of 2, 1 and 3 batches of 10 bytes, the largest 20: 70 bytes in three stays, of two partitions."""
    order = [1, 0, 0, 1, 0, 1, 0, 0, 0, 1]
    rows = [produce(n, p, 10 * n, 20 if n == 4 else 10) for n, p in enumerate(order)]

    told = spans(spark, rows)[1].filter("slowest_leader_id = 1").first()

    assert told.slowest_stay_ratio == pytest.approx(70 / 3 / 20 * (1 - 1 / 2))


def test_even_batches_of_even_leaders_speak_for_nobody(spark):
    told = spans(spark, batches_of((2, 1, 1), (100, 100, 100)))[1].first()

    assert (told.slow_by, told.partitioner, told.top_share) == (None, None, 0.5)


@pytest.mark.parametrize(
    ("size", "configuration", "flags"),
    [(10, [], []), (11, [], ["bytes_do_not_add_up"]), (11, ["compression.type=lz4"], [])],
)
def test_bytes_that_cannot_hold_what_was_sent_are_flagged(spark, size, configuration, flags):
    """Batches of ten records have 100 bytes: enough for records of 10 and not for those of 11."""
    run = {"cluster": "lab", "run": "r1", "arm": "sticky", "client_id": "c", "position": "r"}
    run |= {"started_at": AT, "record_size_bytes": size, "configuration": configuration}

    told = spans(spark, batches_of((1, 1, 1), (100, 100, 100), n=30), [run])[1].first()

    assert (told.run, told.quality_flags) == ("r1", flags)
