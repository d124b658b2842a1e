"""Schemas of the silver tables: typed rows. Each row is a pure function of one bronze row."""

from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRICS
from schemas.silver.not_kept import GAPS, QUARANTINE, SKIPPED
from schemas.silver.perf_test import PERF_TEST
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import CLUSTER_POLLS, MOVES
from schemas.silver.topics import TOPICS

SILVER = (
    REQUESTS,
    CLIENT_EVENTS,
    TOPICS,
    LEADERSHIP_CHANGES,
    *PERF_TEST,
    *METRICS,
    *MOVES,
    CLUSTER_POLLS,
    QUARANTINE,
    SKIPPED,
    GAPS,
)
