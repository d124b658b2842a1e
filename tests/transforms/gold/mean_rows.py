"""Scrapes and request lines of brokers, and their means of leader_local by window."""

from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.metric_rows import AT, TimedBroker
from tests.transforms.gold.silver_rows import START as REQUESTS_AT
from tests.transforms.gold.silver_rows import request, whole
from transforms.gold.leader_local_mean.table import BUILD

LONG_AGO = -100_000.0
assert REQUESTS_AT == AT


def produce(second, *, total_ms, remote_ms=0.0, broker=1, **more):
    """Make a PRODUCE that the broker logged at a second."""
    known = {
        "api": "PRODUCE",
        "kind": "other",
        "remote_ms": remote_ms,
        "correlation_id": round(second * 1000),
    }
    return request(second, leader=broker, total_ms=total_ms, **known, **more)


def silver(*brokers, requests=()):
    samples = [row for broker in brokers for row in broker.rows]
    series = [row for broker in brokers for row in broker.series()]
    return {METRIC_SAMPLES: samples, METRIC_SERIES: series, REQUESTS: list(requests)}


def gold_of(silver):
    """Return gold as Arrow."""
    return BUILD.rows(whole(silver))[LEADER_LOCAL_MEAN]


def aged(**changes):
    """Return a broker with a life of requests that did not wait, which dominate the Mean of its lifetime."""
    made = TimedBroker(started=LONG_AGO)
    made.serve(1_000_000, total_ms=1)
    made.scrape(3, **changes)
    return made


def few_requests():
    """Return two windows with too few requests for a mean."""
    broker = aged()
    for second in (13, 23):
        broker.serve(9, total_ms=5)
        broker.scrape(second)
    return silver(broker)


def no_mean():
    """Return scrapes of an exporter whose rules drop Mean."""
    broker = TimedBroker(started=LONG_AGO)
    for second in (3, 13):
        broker.serve(40, total_ms=5)
        broker.scrape(second, total_mean=None, remote_mean=None)
    return silver(broker)


def apart_in_between():
    """Return three scrapes; the beans of the one in the middle counted different requests."""
    broker = aged()
    for second, behind in ((13, 2), (23, 0)):
        broker.serve(50, total_ms=505, remote_ms=500)
        broker.serve(50, total_ms=5)
        broker.scrape(second, behind=behind, behind_ms=500)
    return silver(broker)


def logged_between_scrapes():
    """Return two scrapes and twelve logged requests, of which the first and the last are outside."""
    broker = aged()
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    return silver(broker, requests=[produce(3 + nth, total_ms=4.5 + nth / 10) for nth in range(12)])
