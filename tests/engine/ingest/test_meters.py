"""Metrics of the ingest."""

import time
from unittest.mock import Mock

import pytest

from engine.ingest.meters import IngestMeters

LABELS = {"kind": "request-log", "cluster": "lab", "node": "broker-1"}


@pytest.mark.parametrize(("ahead_s", "newest_s"), [(3_500, 0), (-100, -100)])
def test_the_newest_line_is_not_in_the_future(ahead_s, newest_s):
    """A node whose clock is ahead would hide for an hour that its cluster is silent."""
    meters, now = IngestMeters(Mock()), time.time()
    meters.count([LABELS | {"outcome": "kept", "lines": 1, "newest_us": int((now + ahead_s) * 1e6)}])

    exported = meters.registry.get_sample_value("plumbline_ingest_newest_line_timestamp_seconds", LABELS)
    assert exported - now == pytest.approx(newest_s, abs=5)
