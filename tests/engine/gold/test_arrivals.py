"""The new rows of a batch are counted from its files."""

from datetime import timedelta

import pytest

from engine.delta import tables
from engine.gold.arrivals import arrivals, arrived, inputs_of
from engine.gold.stream import STREAM
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRIC_SAMPLES
from schemas.silver.requests import REQUESTS
from tests.engine.gold.gold_lab import GoldLab
from tests.transforms.gold.redirect_rows import AT, lookup, request
from transforms.errors import NOT_LEADER
from transforms.gold.builds import BUILDS
from transforms.gold.leader_redirect.client_tries import FENCED_EPOCH

NOON, ALWAYS = int(AT.timestamp()), {"fetches_0", "leader_local_mean_1", "leader_redirect_4", "throttles_0"}
PRODUCES = ALWAYS | {"partition_skew_0", "produce_held_0"}
MS = timedelta(milliseconds=1)
REFUSED = {"leader_redirect_0", "metadata_lookup_1"}


@pytest.fixture
def lab(spark, tmp_path):
    lab = GoldLab(spark, tmp_path / "a b", *BUILDS)
    for table in inputs_of(BUILDS):
        tables.make(lab.warehouse, table)
    return lab


def stream(lab, rows):
    """Return what `arrived` tells about the batches of a stream."""
    found = []
    writer = STREAM.writer(
        rows, lab.settings, lambda batch, _: found.extend(arrived(batch, lab.warehouse, BUILDS))
    )
    writer.trigger(availableNow=True).start().awaitTermination()
    return found


def new_rows(lab):
    """Return the new rows by input, broker and second after noon: lines, newest, and declared touches."""
    return {
        (row.input, row.broker_id, row.slot - NOON): (row.lines, (row.newest - AT) / MS, set(row.touches))
        for row in stream(lab, arrivals(lab.spark, lab.settings))
    }


def test_lines_count_by_broker_and_window_with_the_touches_that_any_of_them_meets(lab):
    no_entries = request(13, 2) | {"partitions": None}
    lines = [request(11, 1), request(12, 1, FENCED_EPOCH), lookup(9_999, error_code=NOT_LEADER), no_entries]
    lab.arrive(REQUESTS, lines)
    lab.arrive(REQUESTS, [request(10_000, 1), request(5, 1) | {"logged_at": None}])
    assert new_rows(lab) == {
        ("requests", 1, 0): (3, 9_999, PRODUCES | REFUSED | {"metadata_lookup_0"}),
        ("requests", 2, 0): (1, 13, PRODUCES),
        ("requests", 1, 10): (1, 10_000, PRODUCES),
    }


def test_a_line_is_refused_by_the_errors_of_an_old_leader_alone(lab):
    others = [request(1, 1, 3), request(2, 1, NOT_LEADER) | {"api": "LIST_OFFSETS"}]
    lab.arrive(REQUESTS, [*others, request(3, 2, NOT_LEADER)])
    touches = {broker: of for (_, broker, _), (_, _, of) in new_rows(lab).items()}
    assert touches == {1: PRODUCES, 2: PRODUCES | REFUSED}


def test_other_inputs_count_without_brokers(lab):
    change = {"cluster": "lab", "logged_at": AT, "role": "leader", "broker_id": 2, "previous_leader_id": 1}
    again = change | {"previous_leader_id": 2}
    lab.arrive(LEADERSHIP_CHANGES, [change, again, again | {"cluster": "other"}])
    lab.arrive(METRIC_SAMPLES, [{"cluster": "scraped", "at": AT}])
    found = {
        row.cluster: (row.broker_id, row.lines, set(row.touches))
        for row in stream(lab, arrivals(lab.spark, lab.settings))
    }
    assert found == {
        "lab": (None, 2, {"leader_redirect_1", "leader_redirect_5"}),
        "other": (None, 1, {"leader_redirect_5"}),
        "scraped": (None, 1, {"leader_local_mean_0", "stock_fetch_total_0", "throttles_1"}),
    }


def test_a_table_that_was_empty_at_the_start_is_read_from_its_first_row(lab):
    rows = arrivals(lab.spark, lab.settings)
    lab.arrive(REQUESTS, [request(1, 1)])
    assert [row.lines for row in stream(lab, rows)] == [1]
    lab.arrive(REQUESTS, [request(2, 1), request(3, 1)])
    assert [row.lines for row in stream(lab, arrivals(lab.spark, lab.settings))] == [2]
