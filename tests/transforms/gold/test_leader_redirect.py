"""Clients that lose a partition's leader and find it again, from made request lines of both leaders."""

from datetime import UTC, datetime, timedelta

import pytest

from schemas.clients import LEADER_REDIRECT
from schemas.perf_test import RUNS
from schemas.silver import REQUESTS, TOPICS
from transforms.frames import frame_of
from transforms.gold.leader_redirect import leader_redirect

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
MS = timedelta(milliseconds=1)


def request(ms, broker, error=0, *, took_ms=1, **fields):
    """Make one PRODUCE of `t-0`, answered `ms` after noon."""
    part = {"topic_name": "t", "partition": 0, "bytes": 10, "error_code": error, "offset": 5}
    part |= fields.pop("part", {})
    row = {"cluster": "lab", "broker_id": broker, "api": "PRODUCE", "kind": "other", "client_id": "c"}
    row |= {"logged_at": AT + ms * MS, "started_at": AT + (ms - took_ms) * MS, "total_ms": float(took_ms)}
    row |= {"connection": f"c-{broker}", "software_version": "3.9.1", "is_own_traffic": False}
    row |= {"position": f"{broker}/{ms}", "partitions": [part]}
    return row | fields


def lookup(ms, **fields):
    return request(ms, 1, api="METADATA", **fields) | {"partitions": None, "position": f"m/{ms}"}


def events(spark, rows):
    found = leader_redirect(
        frame_of(spark, rows, REQUESTS.schema),
        frame_of(spark, [], TOPICS.schema),
        frame_of(spark, [], RUNS.schema),
    )
    return sorted(found.collect(), key=lambda row: row.errored_at)


HINT = {"hinted_leader_id": 2, "hinted_leader_epoch": 7}
MOVE = [request(0, 1), request(10, 1, 6, part=HINT), request(15, 2), request(20, 2)]


def test_rows_are_the_gold_table_and_nothing_gives_nothing(spark):
    requests, topics, runs = (frame_of(spark, [], table.schema) for table in (REQUESTS, TOPICS, RUNS))

    found = leader_redirect(requests, topics, runs)

    assert found.schema.simpleString() == LEADER_REDIRECT.schema.simpleString()
    assert found.count() == 0


def test_a_hinted_client_goes_straight_to_the_new_leader(spark):
    (row,) = events(spark, MOVE)

    assert (row.topic, row.partition, row.client_id, row.software_version) == ("t", 0, "c", "3.9.1")
    assert (row.old_leader_id, row.new_leader_id, row.error_code) == (1, 2, 6)
    assert (row.hinted, row.leader_epoch) == (True, 7)
    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (4.0, 4.0, 0.0)
    assert (row.errors_at_old_leader, row.errors_at_new_leader, row.metadata_requests) == (1, 0, 0)


def test_an_old_client_asks_for_metadata_and_wastes_requests_meanwhile(spark):
    rows = [request(0, 1), *(request(ms, 1, 6) for ms in (10, 11, 60)), lookup(50), request(115, 2)]

    (row,) = events(spark, rows)

    assert (row.hinted, row.redirect_ms, row.errors_at_old_leader, row.metadata_requests) == (
        False,
        104.0,
        3,
        1,
    )


def test_a_leader_that_is_not_ready_is_the_brokers_part_and_no_event_of_its_own(spark):
    rows = [*MOVE[:2], request(15, 2, 6), request(16, 2, 6), request(215, 2)]

    (row,) = events(spark, rows)

    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (204.0, 4.0, 200.0)
    assert (row.errors_at_old_leader, row.errors_at_new_leader) == (1, 2)


def test_a_late_error_of_the_old_leader_is_no_second_event(spark):
    """It was on its way while the first was answered."""
    (row,) = events(spark, [*MOVE[:2], request(15, 2), request(16, 1, 6, took_ms=12), request(20, 2)])

    assert row.redirect_ms == 4.0


def test_each_move_is_an_event_and_back_again_is_one_too(spark):
    back = [request(1_010, 2, 6), request(1_020, 1)]

    rows = events(spark, [*MOVE, *back])

    assert [(r.old_leader_id, r.new_leader_id) for r in rows] == [(1, 2), (2, 1)]


def test_without_a_success_in_reach_the_event_has_no_end(spark):
    (row,) = events(spark, [*MOVE[:2], request(61_500, 2)])

    assert (row.new_leader_id, row.succeeded_at, row.redirect_ms) == (None, None, None)


def test_a_consumer_is_fenced_and_a_follower_is_none(spark):
    fetch = {"api": "FETCH", "kind": "consumer"}
    rows = [request(0, 1, **fetch), request(10, 1, 74, part=HINT, **fetch), request(15, 2, **fetch)]
    followers = [row | {"kind": "follower", "client_id": "broker-3-fetcher-0"} for row in rows]

    (row,) = events(spark, [*rows, *followers])

    assert (row.api, row.error_code, row.hinted) == ("FETCH", 74, True)


def test_lines_sent_again_change_nothing(spark):
    assert events(spark, [*MOVE, *MOVE]) == events(spark, MOVE)


@pytest.mark.parametrize("other", [{"client_id": "d"}, {"part": {"partition": 1}}, {"cluster": "x"}])
def test_what_others_do_is_no_end(spark, other):
    (row,) = events(spark, [*MOVE[:2], request(15, 2, **other)])

    assert row.succeeded_at is None
