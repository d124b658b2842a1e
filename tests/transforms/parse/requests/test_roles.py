"""Roles of listeners, each as one row per date."""

import pytest

from schemas.silver.listeners import CLIENT, FOLLOWER
from tests.transforms.parse.records import COMPLETED, REQUEST_LINES, line, record
from transforms.parse import requests
from transforms.parse.record import Quarantined
from transforms.parse.requests.roles import RoleParser

CONSUMER, PRODUCE = REQUEST_LINES["FETCH_error_74_cons-3.6.0"], REQUEST_LINES["PRODUCE"]


def roles(*values, parse=requests.parse):
    parser = RoleParser(parse)
    outcomes = [parser.parse(record(value)) for value in values]
    return [
        (row.listener, row.role)
        for outcome in outcomes
        if not isinstance(outcome, Quarantined)
        for row in outcome.rows.get("listeners", [])
    ]


def test_each_role_of_a_listener_is_a_row_once_per_date():
    next_day = COMPLETED.replace(b"2026-11-21T", b"2026-11-22T", 1)

    found = roles(COMPLETED, PRODUCE, COMPLETED, PRODUCE, next_day)

    assert found == [("PEER2", FOLLOWER), ("CLIENT", CLIENT), ("PEER2", FOLLOWER)]


@pytest.mark.parametrize("value", [CONSUMER, PRODUCE])
def test_requests_that_a_broker_refused_give_no_role(value):
    assert roles(value.replace(b'"errorCode":0', b'"errorCode":29')) == []
    assert roles(line(**{"response.errorCode": 70})) == []


@pytest.mark.parametrize("value", [CONSUMER, PRODUCE])
def test_a_served_client_after_a_refused_one_gives_a_role_once(value):
    refused = value.replace(b'"errorCode":0', b'"errorCode":29')

    assert roles(refused, value, refused, value) == [("CLIENT", CLIENT)]


def test_a_served_follower_after_a_refused_one_gives_a_role_once():
    refused = line(**{"response.errorCode": 70})

    assert roles(refused, COMPLETED, refused, COMPLETED) == [("PEER2", FOLLOWER)]


def test_the_memory_of_requests_without_a_new_role_is_bounded(monkeypatch):
    monkeypatch.setattr("transforms.parse.requests.roles.MOST_SETTLED", 1)
    parser = RoleParser(requests.parse)
    for value in (COMPLETED, PRODUCE, COMPLETED, PRODUCE, COMPLETED, PRODUCE):
        parser.parse(record(value))

    assert len(parser._settled) == 1


def test_a_consumer_of_the_metadata_topic_makes_the_listener_of_controllers_none_of_clients():
    """No broker serves it, but a controller does: kafka-metadata-shell reads it."""
    of_controller = REQUEST_LINES["FETCH_consumer"].replace(b'"replicaId":3,', b'"replicaId":-1,')
    (row,) = requests.parse(record(of_controller)).rows["requests"]

    assert (row.kind, row.listener, row.partitions[0].error_code) == ("consumer", "CONTROLLER", 0)
    assert roles(of_controller) == []


def test_a_line_that_another_check_refuses_is_not_remembered():
    outcomes = iter([Quarantined("from_the_future"), requests.parse(record(COMPLETED))])

    assert roles(COMPLETED, COMPLETED, parse=lambda _: next(outcomes)) == [("PEER2", FOLLOWER)]
