"""Gold about clients from silver: what arrives late, in parts and in another order gives the same gold."""

from datetime import timedelta

import pytest

from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from tests.engine.gold.gold_lab import GoldLab, arrived_at
from tests.transforms.gold.leader_redirect.test_disconnect import END, FOUND, TAKEN, WORK, alive
from tests.transforms.gold.redirect_rows import AT, MOVE, began, lookup, request
from transforms.gold.leader_redirect import build as leader_redirect
from transforms.gold.metadata_lookup import table as metadata_lookup
from transforms.gold.partition_skew import table as partition_skew
from transforms.spans import Span, window_of

NOON = window_of(AT.timestamp())


BUILDS = (partition_skew.BUILD, leader_redirect.BUILD, metadata_lookup.BUILD)


def arrived(of, slot, *touches):
    return arrived_at(of, NOON + slot, *touches)


def windows(*seconds):
    return {NOON + second for second in seconds}


def touched(rows, *, newest=900, redirects=(), takeovers=()):
    """Return the windows of each table that new rows touch."""
    found = {build.name: build.touched(rows, NOON + newest) for build in BUILDS}
    of_redirects = leader_redirect.Redirects(redirects, takeovers).windows(found["leader_redirect"], rows)
    found = {name: set().union(*of) for name, of in found.items()} | {"leader_redirect": of_redirects}
    return {name: of for name, of in found.items() if of}


def test_lines_touch_the_tables_of_their_kind_alone():
    assert touched([arrived(REQUESTS, 0), arrived(LEADERSHIP_CHANGES, 0)]) == {}
    assert touched([arrived(REQUESTS, 0, "metadata_lookup_0")]) == {"metadata_lookup": windows(0)}
    found = touched([arrived(REQUESTS, 0, "partition_skew_0")])
    assert found == {"partition_skew": windows(-10, 0, 10)}


def test_error_touches_a_minute_on_either_side():
    found = touched([arrived(REQUESTS, 0, "leader_redirect_0", "metadata_lookup_1")])

    assert found["leader_redirect"] == windows(*range(-60, 70, 10))
    assert found["metadata_lookup"] == windows(0, 10)


def test_any_line_near_a_redirect_can_be_its_end_or_its_cause():
    events = windows(0, 300)

    assert touched([arrived(REQUESTS, 70)], redirects=events) == {"leader_redirect": windows(0)}
    assert touched([arrived(LEADERSHIP_CHANGES, -60)], redirects=events) == {"leader_redirect": windows(0)}
    assert touched([arrived(REQUESTS, 80), arrived(REQUESTS, -70)], redirects=events) == {}


def test_takeover_touches_the_minute_before_it():
    found = touched([arrived(LEADERSHIP_CHANGES, 0, "leader_redirect_1")])

    assert found == {"leader_redirect": windows(*range(-60, 10, 10))}


def test_any_line_near_a_takeover_touches_what_it_does():
    events = windows(0, 500)

    for slot in (-120, 70):
        found = touched([arrived(REQUESTS, slot)], takeovers=events)
        assert found == {"leader_redirect": windows(*range(-60, 10, 10))}
    assert touched([arrived(REQUESTS, 80), arrived(REQUESTS, -130)], takeovers=events) == {}


def test_run_touches_all_since_its_start_but_of_redirects_only_those_that_are_known():
    run = arrived(RUNS, 0, "partition_skew_1", "metadata_lookup_2", "leader_redirect_2")

    since = windows(0, 10, 20)
    assert touched([run], newest=20) == {"partition_skew": since, "metadata_lookup": since}
    assert touched([run], newest=20, redirects=windows(20, 40))["leader_redirect"] == windows(20)


@pytest.fixture(scope="module")
def empty_lab(spark, tmp_path_factory):
    return GoldLab.empty(spark, tmp_path_factory.mktemp("empty"), *BUILDS)


@pytest.fixture
def lab(empty_lab, tmp_path):
    return empty_lab.copied(tmp_path)


RUN = {"cluster": "lab", "run": "r1", "arm": "new", "client_id": "c", "position": "r/1"}
RUN |= {"started_at": AT - timedelta(seconds=5), "topic_name": "t"}
LINES = [*MOVE, lookup(12), request(30_000, 2), request(95_000, 2)]


def test_parts_in_any_order_give_what_is_built_at_once(lab):
    """First the success, then the error before it, then who ran it, then when the leader began."""
    for table, rows in (
        (REQUESTS, [line for line in LINES if line["broker_id"] == 2]),
        (REQUESTS, [line for line in LINES if line["broker_id"] == 1]),
        (RUNS, [RUN]),
        (LEADERSHIP_CHANGES, [began(14, 2)]),
        (RUNS, [RUN | {"ended_at": AT + timedelta(seconds=60), "position": "r/2"}]),
    ):
        lab.arrive(table, rows)
        lab.run()

    gold = lab.gold()
    assert gold == lab.at_once()
    (event,) = gold["leader_redirect"]
    assert (event["redirect_ms"], event["not_ready_ms"], event["run"]) == (5.0, 0.0, "r1")
    assert [row["run"] for row in gold["partition_skew"]] == ["r1", "r1", "r1", None]
    assert [row["lookups_after_error"] for row in gold["metadata_lookup"]] == [1]


def test_run_that_is_told_last_names_its_redirects(lab):
    lab.arrive(REQUESTS, LINES)
    lab.run()
    lab.arrive(RUNS, [RUN | {"ended_at": AT + timedelta(seconds=60)}])
    lab.run()

    assert [row["run"] for row in lab.gold()["leader_redirect"]] == ["r1"]
    assert lab.gold() == lab.at_once()


def test_span_built_again_is_the_same_and_nothing_new_writes_nothing(lab):
    lab.arrive(REQUESTS, LINES)
    lab.run()
    before = lab.gold()

    lab.run()
    lab.builder().rebuild_span(Span(NOON - 60, NOON + 120))

    assert lab.gold() == before
    assert len(before["leader_redirect"]) == 1


def test_leader_that_died_is_known_by_its_silence_until_lines_tell_that_it_lived(lab):
    lab.arrive(REQUESTS, [*WORK, END])
    lab.arrive(LEADERSHIP_CHANGES, [*TAKEN, began(12_000, 3, partition_index=7)])
    lab.run()
    assert lab.gold()["leader_redirect"] == []

    lab.arrive(REQUESTS, [FOUND])
    lab.run()
    (event,) = lab.gold()["leader_redirect"]
    assert (event["kind"], event["redirect_ms"]) == ("disconnect", 9_101.0)
    assert lab.gold() == lab.at_once()

    lab.arrive(REQUESTS, [alive(11_500)])
    lab.run()
    assert lab.gold()["leader_redirect"] == lab.at_once()["leader_redirect"] == []
