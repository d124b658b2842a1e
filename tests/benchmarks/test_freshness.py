"""The reader of the freshness benchmark: which commit of gold makes which version of silver visible."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.pipeline.arms import freshness, product
from benchmarks.pipeline.arms.freshness import SilverReader
from benchmarks.pipeline.usage import Usage
from engine.delta import tables
from schemas.arrow import arrow_schema
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.requests import REQUESTS
from transforms.spans import Span, window_of

AT = datetime(2026, 11, 26, 10, tzinfo=UTC)
SPAN = Span(window_of(AT.timestamp()), window_of(AT.timestamp()) + 10)


@pytest.fixture
def root(tmp_path):
    for table in (REQUESTS, FETCH_LATENCY, BROKER_RTT_CULPRIT):
        tables.make(tmp_path, table)
    return tmp_path


def _silver(root, offset):
    """Append the line at an offset of partition 0; this is version `offset + 1` of silver."""
    row = {"partition": 0, "offset": offset, "logged_at": AT, "logged_date": AT.date()}
    rows = pa.RecordBatch.from_pylist([row], schema=arrow_schema(REQUESTS))
    product.append(root, REQUESTS, rows, app_id="test", batch_id=offset)


def _gold(root, table, version=None):
    note = "" if version is None else json.dumps({"built_from": {"silver.requests": version}})
    rows = pa.Table.from_pylist([{"cluster": "lab", "window_start": AT}], schema=arrow_schema(table))
    tables.replace(rows, root, table, column="window_start", spans=[SPAN], note=note)


def test_a_verdict_belongs_to_the_fetches_that_were_committed_before_it(root):
    reader, appended = SilverReader(root, with_gold=True), {0: np.array([1.0, 2.0])}
    for offset in range(2):
        _silver(root, offset)
        _gold(root, FETCH_LATENCY, offset + 1)
        if not offset:
            _gold(root, BROKER_RTT_CULPRIT)
    reader.poll()

    assert [version for version, _ in reader.built("gold")] == [1, 2]
    assert [version for version, _ in reader.built("verdict")] == [1]
    assert not reader.has(appended)

    _gold(root, BROKER_RTT_CULPRIT)
    reader.poll()

    assert [version for version, _ in reader.built("verdict")] == [1, 2]
    assert reader.has(appended)


def test_a_line_becomes_visible_layer_by_layer_and_lines_after_the_span_are_left_out(root, monkeypatch):
    reader, usage = SilverReader(root, with_gold=True), Usage({}, clock=lambda: 0.0)
    _silver(root, 0)
    _gold(root, FETCH_LATENCY, 1)
    _gold(root, BROKER_RTT_CULPRIT)
    # The first commit of each gold table created it.
    clock = SimpleNamespace(time=iter((10.0, 10.5, 11.0, 11.5, 12.0)).__next__)
    monkeypatch.setattr(freshness, "time", clock)
    monkeypatch.setattr(usage, "between", lambda begin, end: {"asked": {"begin": begin, "end": end}})
    reader.poll()

    seen = reader.seen({0: np.array([4.0, 8.0])}, 40.0, (3.0, 5.0), usage)

    assert seen.appended_at.tolist() == [4.0]
    assert {layer: at.tolist() for layer, at in seen.visible_at.items()} == {
        "silver": [10.0],
        "gold": [11.0],
        "verdict": [12.0],
    }
    assert (seen.measured_from, seen.usage) == (3.0, {"asked": {"begin": 3.0, "end": 5.0}})


def test_without_gold_silver_is_all(root):
    _silver(root, 0)
    reader = SilverReader(root, with_gold=False)
    reader.poll()

    assert reader.has({0: np.array([1.0])})
    assert not reader.has({0: np.array([1.0, 2.0])})
