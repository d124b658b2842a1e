"""Every line accounted for."""

from types import SimpleNamespace

import pytest

from schemas.arrow import arrow_schema
from schemas.bronze import RAW
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.perf_test import PERF_WINDOWS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import arrow, at, event, replaced, request
from transforms.frames import arrow_of
from transforms.gold.data_quality import data_quality

LOG, ROLLED = "broker-1/kafka-request.log", "broker-1/kafka-request.log.2026-11-21-11"


def raw(position, source=LOG, kind="request-log", node="broker-1"):
    return {"cluster": "lab", "kind": kind, "node": node, "source": source, "position": position}


def skip(lines, logger="kafka.network.RequestChannel$", batch_id=0):
    return raw(None) | {"lines": lines, "logger": logger, "batch_id": batch_id}


def quality(bronze=(), requests=(), events=(), *, windows=(), quarantine=(), skipped=()):  # noqa: PLR0913 (one a table)
    rows = data_quality(
        [arrow_of(bronze, RAW).to_reader()],
        {
            "request-log": [arrow(REQUESTS, requests).to_reader()],
            "client-log": [arrow(CLIENT_EVENTS, events).to_reader()],
            "perf-test": [arrow(PERF_WINDOWS, windows).to_reader()],
        },
        arrow(QUARANTINE, quarantine).to_reader(),
        arrow(SKIPPED, skipped).to_reader(),
    )
    assert rows.schema == arrow_schema(DATA_QUALITY)
    return {(row["kind"], row["source"]): SimpleNamespace(**row) for row in rows.to_pylist()}


def counts(row):
    return (row.lines_read, row.kept, row.quarantined, row.skipped, row.duplicates, row.is_balanced)


def test_every_line_is_counted_once_as_what_it_became():
    """Seven lines: two kept, one of them sent again; one torn, sent again too; two of another logger."""
    first, second = request(1, position="p1"), request(2, correlation_id=1, position="p2")
    bronze = [raw(p) for p in ("p1", "p2", "p1", "p3", "p3", "p4", "p5")]
    found = quality(
        bronze,
        [first, second, first],
        quarantine=[raw("p3"), raw("p3")],
        skipped=[skip(1), skip(1, batch_id=1)],
    )

    row = found["request-log", LOG]
    assert counts(row) == (7, 2, 1, 2, 2, True)
    assert row.first_logged_at == at(1)
    assert row.last_logged_at == at(2)


def test_line_that_is_nowhere_is_seen_at_once():
    row = quality([raw("p1"), raw("p2")], [request(1, position="p1")])["request-log", LOG]

    assert counts(row) == (2, 1, 0, 0, 0, False)


def test_row_that_came_from_no_line_is_seen_too():
    row = quality([], [request(1, position="p1")])["request-log", LOG]

    assert counts(row) == (0, 1, 0, 0, 0, False)


def test_line_sent_again_after_its_file_was_renamed_is_kept_once():
    line = request(1, position="p1")
    again = replaced(REQUESTS, line, source=ROLLED)

    found = quality([raw("p1"), raw("p1", source=ROLLED)], [again, line])

    assert {source: counts(row) for (_, source), row in found.items()} == {
        LOG: (1, 1, 0, 0, 0, True),
        ROLLED: (1, 0, 0, 0, 1, True),
    }


def test_parts_of_an_oversized_line_count_each():
    parts = [raw("p1") | {"chunk": chunk} for chunk in ("1/2", "2/2")]

    assert counts(quality(parts, quarantine=parts)["request-log", LOG]) == (2, 0, 2, 0, 0, True)


def test_records_that_nobody_labelled_are_told_apart_by_their_offset():
    """Something else wrote into the topic: no cluster, no node, no position, and yet not one and the same."""
    strays = [{"topic": "telemetry.request-log", "partition": 0, "offset": offset} for offset in (1, 2)]

    found = quality(strays, quarantine=strays)

    assert [counts(row) for row in found.values()] == [(2, 0, 2, 0, 0, True)]


def test_logs_of_followers_have_rows_of_their_own():
    line = event(1, "sent", position="q1")
    bronze = [raw("q1", kind="client-log", node="broker-2", source="broker-2/network-client.log")]

    found = quality(bronze, (), [line])

    assert counts(found["client-log", "broker-2/network-client.log"]) == (1, 1, 0, 0, 0, True)


def test_a_window_of_a_performance_test_is_a_line_too_stamped_or_not():
    lines = [raw(p, kind="perf-test", node="host", source="r1.txt") for p in ("w1", "w2", "w2")]

    found = quality(lines, windows=[lines[0] | {"logged_at": at(1)}, *lines[1:]])

    assert counts(found["perf-test", "r1.txt"]) == (3, 2, 0, 0, 1, True)


@pytest.mark.parametrize("lines", [0, None])
def test_skipped_rows_without_a_count_count_nothing(lines):
    assert counts(quality(skipped=[skip(lines)])["request-log", LOG]) == (0, 0, 0, 0, 0, True)


def test_no_lines_give_no_rows():
    assert quality() == {}
