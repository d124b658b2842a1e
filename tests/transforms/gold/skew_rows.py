"""PRODUCE lines whose every byte is known, and the windows of partition skew."""

from datetime import UTC, datetime, timedelta
from random import Random

from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from tests.transforms.gold.silver_rows import objects, whole
from transforms.gold.partition_skew.table import BUILD

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAg"


def produce(second, partition, offset, sent_bytes, **fields):
    """Make one PRODUCE of one partition, of the client `c` unless `fields` names another."""
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
