"""PRODUCE lines whose every byte is known, and what partition skew makes of them."""

from datetime import UTC, datetime, timedelta
from random import Random

from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.perf_test import PERF_SUMMARIES, RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from tests.transforms.gold.silver_rows import objects, whole
from transforms.frames import frame_of, frame_of_arrow
from transforms.gold.partition_skew.span import partition_skew_span
from transforms.gold.partition_skew.summary import partition_skew_summary
from transforms.gold.partition_skew.table import BUILD
from transforms.gold.runs.perf_runs import payloads

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


def silver(rows, runs=()):
    topics = [{"cluster": "lab", "topic_id": TOPIC_ID, "topic_name": "orders", "seen_at": AT}]
    return {REQUESTS: rows, TOPICS: topics, RUNS: runs}


def gold(silver):
    """Return the windows as Arrow."""
    return BUILD.rows(whole(silver))[PARTITION_SKEW]


def skew(rows, runs=()):
    return objects(gold(silver(rows, runs)))


def spans(spark, silver):
    """Return the frames of the span and of the summary."""
    windows = frame_of_arrow(spark, gold(silver))
    span = partition_skew_span(windows).localCheckpoint()
    sent = payloads(frame_of(spark, [], PERF_SUMMARIES.schema), frame_of(spark, silver[RUNS], RUNS.schema))
    return span, partition_skew_summary(span, windows, sent)


def spans_of(spark, cases):
    """Return the rows of the span and of the summary of each test."""
    found = {name: ([], []) for name in cases.silver}
    for nth, frame in enumerate(spans(spark, cases.together())):
        for row in frame.collect():
            found[row.cluster][nth].append(row)
    return found


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
