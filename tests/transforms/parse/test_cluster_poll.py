"""Polls of throttle settings: what is set, what is not, and what no poll can be."""

import json

import pytest

from schemas.throttles import CLUSTER_POLLS, THROTTLE_CHANGES
from tests.transforms.parse.admin_lines import FOLLOWER_LIST, FOLLOWER_RATE, LEADER_LIST, LEADER_RATE
from tests.transforms.parse.raw_rows import outcomes, raw
from transforms.parse.cluster_poll import changes, kept, parse_cluster_poll

AT_NS = 1_795_421_225_052_997_657


def parsed(spark, *documents):
    values = [json.dumps(one).encode() if isinstance(one, dict) else one for one in documents]
    return parse_cluster_poll(raw(spark, values, node="cluster", kind="cluster"))


def poll(brokers, topics):
    return {"polled_at_ns": AT_NS, "brokers": brokers, "topics": topics}


def told(frame):
    names = ("resource", "resource_name", "config", "operation", "value")
    return sorted((tuple(row[name] for name in names) for row in changes(frame).collect()), key=repr)


def test_every_broker_has_both_rates_and_topics_that_are_not_named_have_no_list(spark):
    frame = parsed(spark, poll({"1": {LEADER_RATE: "500"}}, {"t": {LEADER_LIST: "0:1"}}))

    assert told(frame) == sorted(
        [
            ("broker", "1", LEADER_RATE, "set", "500"),
            ("broker", "1", FOLLOWER_RATE, "delete", None),
            ("topic", None, LEADER_LIST, "delete", None),
            ("topic", None, FOLLOWER_LIST, "delete", None),
            ("topic", "t", LEADER_LIST, "set", "0:1"),
        ],
        key=repr,
    )
    rows = {(row.resource_name, row.config): row for row in changes(frame).collect()}
    assert rows["1", LEADER_RATE].rate_bytes_per_s == 500
    assert [tuple(pair) for pair in rows["t", LEADER_LIST].replicas] == [(0, 1)]
    assert {row.told_by for row in rows.values()} == {"poll"}


def test_topics_that_were_not_asked_for_are_not_told(spark):
    frame = parsed(spark, poll({"1": {}}, None))

    assert told(frame) == [
        ("broker", "1", FOLLOWER_RATE, "delete", None),
        ("broker", "1", LEADER_RATE, "delete", None),
    ]
    (row,) = kept(frame).collect()
    assert (row.brokers, row.topics) == (1, None)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"{", "bad_json"),
        (b"[]", "bad_json"),
        ({"brokers": {}}, "bad_json"),
        ({"polled_at_ns": AT_NS}, "missing_field"),
        (b"\xff\xfe", "not_utf8"),
        (None, "no_value"),
    ],
)
def test_what_is_no_poll_is_quarantined(spark, document, reason):
    assert outcomes(parsed(spark, document)) == {"p/0": ("quarantined", reason)}


def test_rows_are_those_of_the_tables(spark):
    frame = parsed(spark, poll({}, {}))

    assert kept(frame).schema.simpleString() == CLUSTER_POLLS.schema.simpleString()
    assert changes(frame).schema.simpleString() == THROTTLE_CHANGES.schema.simpleString()
