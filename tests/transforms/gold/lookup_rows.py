"""METADATA requests of clients, and the windows of their lookups."""

from datetime import UTC, datetime, timedelta

from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import objects, whole
from transforms.gold.metadata_lookup.table import BUILD

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def lookup(second, topics, *, client="c", **fields):
    """Make one METADATA that was received 1 ms before its answer, `second` seconds after noon."""
    at = AT + timedelta(seconds=second)
    row = {"cluster": "lab", "broker_id": 1, "api": "METADATA", "client_id": client, "logged_at": at}
    row |= {"started_at": at - timedelta(milliseconds=1), "topics_asked": topics, "is_own_traffic": False}
    row |= {"topics_answered": len(topics or ()), "response_bytes": 100, "software_version": "3.9.1"}
    return row | {"position": f"m/{client}/{second}"} | fields


def refused(second, error=6, *, client="c"):
    row = lookup(second, None, client=client, api="PRODUCE", position=f"p/{client}/{second}")
    return row | {"partitions": [{"topic_name": "t", "partition": 0, "error_code": error}]}


def silver(rows, runs=()):
    return {REQUESTS: rows, RUNS: runs}


def gold(silver):
    """Return the windows as Arrow."""
    return BUILD.rows(whole(silver))[METADATA_LOOKUP]


def names(*numbers):
    return [f"t-{n}" for n in numbers]


def windows(rows):
    return objects(gold(silver(rows)))
