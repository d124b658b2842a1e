"""Polls of throttle configs: set and unset values, and invalid documents."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.silver.brokers import BROKERS
from schemas.silver.throttles import CLUSTER_POLLS, POLL, THROTTLE_CHANGES
from tests.transforms.parse.any_bytes import arrow, check, took_s, with_any_bytes
from tests.transforms.parse.records import record
from transforms.parse.cluster_polls import ClusterPoll, parse
from transforms.parse.record import DAY_US, PARSER_VERSION, Kept, Quarantined
from transforms.parse.throttles import ThrottleChange
from transforms.throttle_configs import LISTS, RATES

AT_NS = 1_795_421_225_052_997_657
LEADER_RATE, FOLLOWER_RATE = RATES
LEADER_LIST, FOLLOWER_LIST = LISTS
TABLES = {"brokers": BROKERS, "cluster_polls": CLUSTER_POLLS, "throttle_changes": THROTTLE_CHANGES}


def document(brokers, topics, **changes):
    fields = {"polled_at_ns": AT_NS, "brokers": brokers, "topics": topics} | changes
    return json.dumps({name: value for name, value in fields.items() if value is not ...})


def parsed(value, **fields):
    return parse(record(value, node="cluster", kind="cluster", **fields))


def changes(value):
    return [row[4:9] for row in parsed(value).rows["throttle_changes"]]


def test_rows_have_the_columns_of_their_tables_in_order():
    assert ClusterPoll._fields == tuple(CLUSTER_POLLS.schema.names)
    assert ThrottleChange._fields == tuple(THROTTLE_CHANGES.schema.names)


def test_every_broker_has_both_rates_and_unnamed_topics_have_no_list():
    value = document({"1": {LEADER_RATE: "500"}}, {"t": {LEADER_LIST: "0:1"}})

    assert changes(value) == [
        ("broker", "1", LEADER_RATE, "set", "500"),
        ("broker", "1", FOLLOWER_RATE, "delete", None),
        ("topic", None, LEADER_LIST, "delete", None),
        ("topic", None, FOLLOWER_LIST, "delete", None),
        ("topic", "t", LEADER_LIST, "set", "0:1"),
    ]
    rows = {(row.resource_name, row.config): row for row in parsed(value).rows["throttle_changes"]}
    rate, replicas = rows["1", LEADER_RATE], rows["t", LEADER_LIST]
    assert (rate.rate_bytes_per_s, rate.replicas, rate.is_wildcard) == (500, None, None)
    assert (replicas.rate_bytes_per_s, replicas.replicas, replicas.is_wildcard) == (None, [(0, 1)], False)
    assert {(row.told_by, row.is_applied, row.error_code, row.broker_id) for row in rows.values()} == {
        (POLL, True, None, None)
    }


def test_all_columns_of_a_poll_are_parsed():
    at_us = AT_NS // 1_000
    poll, *others = parsed(document({"1": {}, "2": {}}, {"t": {}}), position="p/7").rows["cluster_polls"]

    assert others == []
    assert poll == (
        *("lab", at_us, at_us // DAY_US, 2, 1),
        *("cluster", "a.log", "p/7", None, None, None, PARSER_VERSION),
    )


def test_a_poll_without_topics_has_no_rows_of_lists():
    value = document({"1": {}}, None)

    assert changes(value) == [
        ("broker", "1", LEADER_RATE, "delete", None),
        ("broker", "1", FOLLOWER_RATE, "delete", None),
    ]
    (row,) = parsed(value).rows["cluster_polls"]
    assert (row.brokers, row.topics) == (1, None)
    assert changes(document({}, ...)) == []


def test_a_poll_has_the_rack_of_each_broker():
    (first, second) = parsed(document({}, None, racks={"1": "east-1a", "2": None}), position="p/7").rows[
        "brokers"
    ]

    at_us = AT_NS // 1_000
    assert first == ("lab", 1, "east-1a", POLL, at_us, at_us // DAY_US, "p/7", PARSER_VERSION)
    assert (second.broker_id, second.rack) == (2, None)


@pytest.mark.parametrize(
    "racks", [..., None, {}, {"": "x", "one": "x", "-1": "x", "1_0": "x", str(2**31): "x"}]
)
def test_a_poll_of_an_earlier_collector_or_with_other_ids_has_no_rack(racks):
    assert parsed(document({}, None, racks=racks)).rows["brokers"] == []


def test_a_null_config_is_not_set_and_a_list_may_be_a_wildcard():
    value = document({"1": None, "2": {LEADER_RATE: None}}, {"t": {LEADER_LIST: "*"}, "u": None})

    assert [row[3] for row in changes(value)] == ["delete"] * 6 + ["set"]
    wildcard = parsed(value).rows["throttle_changes"][-1]
    assert (wildcard.replicas, wildcard.is_wildcard) == (None, True)


RATES_READ = {
    " 5\t": 5, "+7": 7, "-1": -1, "\x005": 5, "\xa05": None, "1_0": None, "\u0665": None, "1e3": None,
    "": None, "9" * 5_000: None, str(2**63): None, str(2**63 - 1): 2**63 - 1,
}  # fmt: skip


@pytest.mark.parametrize("text", RATES_READ, ids=range(len(RATES_READ)))
def test_a_rate_is_a_whole_number_between_blanks_or_null(text):
    row, _ = parsed(document({"1": {LEADER_RATE: text}}, None)).rows["throttle_changes"]

    assert (row.operation, row.value, row.rate_bytes_per_s) == ("set", text, RATES_READ[text])


def test_a_lone_surrogate_becomes_a_question_mark_and_an_escaped_backslash_stays():
    value = document({}, {"\ud800": {LEADER_LIST: "\U0001f600"}, "\\ud800": {LEADER_LIST: "\udc00\ud800"}})

    assert [(row[1], row[4]) for row in changes(value)[2:]] == [("?", "\U0001f600"), ("\\ud800", "??")]


def test_fields_of_a_newer_collector_are_ignored():
    value = document({}, None, newer={"a": [1.5]})

    assert isinstance(parsed(value), Kept)


WRONG = {
    "cut": ("{", "bad_json"),
    "empty": ("", "bad_json"),
    "a list": ("[]", "bad_json"),
    "a list of one": (f"[{document({}, None)}]", "bad_json"),
    "null": ("null", "bad_json"),
    "two objects": (document({}, None) * 2, "bad_json"),
    "no instant": ({"brokers": {}}, "bad_json"),
    "an instant as text": (document({}, None, polled_at_ns="1"), "bad_json"),
    "an instant with a fraction": (document({}, None, polled_at_ns=1.5), "bad_json"),
    "an instant too large": (document({}, None, polled_at_ns=2**63), "bad_json"),
    "an instant of 5,000 digits": (document({}, None).replace(str(AT_NS), "9" * 5_000), "bad_json"),
    "no brokers": ({"polled_at_ns": AT_NS}, "missing_field", "brokers"),
    "brokers as a list": (document([], None), "missing_field", "brokers"),
    "a broker as a number": (document({"1": 5}, None), "missing_field", "brokers[...]"),
    "a rate as a number": (document({"1": {LEADER_RATE: 5}}, None), "missing_field", "brokers[...][...]"),
    "topics as a number": (document({}, 7), "missing_field", "topics"),
    "a rack as a number": (document({}, None, racks={"1": 5}), "missing_field", "racks[...]"),
    "NaN": (document({}, None, x=float("nan")), "bad_json"),
    "5,000 deep": (document({}, None, x="y").replace('"y"', "[" * 5_000 + "]" * 5_000), "bad_json"),
    "a raw NUL": (document({"1\x02": {}}, None).replace("\\u0002", "\x00"), "bad_json"),
    "no UTF-8": (b"\xff\xfe", "not_utf8"),
    "nothing": (None, "no_value"),
    "too long": (b" " * (4 * 1024 * 1024 + 1), "oversized"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_poll_is_quarantined_with_the_path_of_the_field(name):
    value, reason, *detail = WRONG[name]
    found = parsed({"value": json.dumps(value)} if isinstance(value, dict) else {"value": value})

    assert isinstance(found, Quarantined)
    assert (found.reason, *detail) == (reason, *([found.detail] if detail else []))


@pytest.mark.parametrize(
    ("field", "reason"),
    [("cluster", "no_cluster"), ("chunk", "oversized"), ("content_encoding", "compressed_line")],
)
def test_a_chunk_or_a_record_without_a_cluster_is_quarantined(field, reason):
    given = {field: None if field == "cluster" else "gzip"}

    assert parsed(document({}, None), **given).reason == reason


@pytest.mark.parametrize("at_ns", [-(2**63), -1_001, -1, 0, 1_795_421_225_052_997_999, 2**63 - 1])
def test_an_instant_is_cut_to_microseconds_as_spark_divides(at_ns):
    """Spark divides doubles, so 999 nanoseconds may round up to the next microsecond."""
    (row,) = parsed(document({}, None, polled_at_ns=at_ns)).rows["cluster_polls"]

    assert abs(row.logged_at - at_ns / 1_000) <= 1.5
    assert row.logged_date == row.logged_at // DAY_US
    arrow([row], CLUSTER_POLLS)


POLLS = [
    document({"1": {LEADER_RATE: "500"}, "2": {}}, {"t": {LEADER_LIST: "0:1,1:2"}}).encode(),
    document({"1": {FOLLOWER_RATE: " 7 "}}, None, racks={"1": "east-1a", "2": None}).encode(),
]


SLOW = [
    document({}, None, x="y").replace('"y"', "[" * 4_000_000),
    " " * 4_000_000,
    document({}, None, x=("y" * 100 + "\ud800") * 37_000),
]


@pytest.mark.parametrize("value", SLOW, ids=range(len(SLOW)))
def test_no_line_without_configs_takes_longer_than_50_ms(value):
    assert min(took_s(parse, value) for _ in range(3)) < 0.05


@with_any_bytes(POLLS)
def test_no_bytes_make_the_parser_raise(value):
    """Each record is kept or quarantined, and a poll has two rows for each broker."""
    outcome = check(parse, value, re.compile(b""), TABLES)

    if isinstance(outcome, Kept):
        (poll,), rows = outcome.rows["cluster_polls"], outcome.rows["throttle_changes"]
        assert sum(row.resource == "broker" for row in rows) == 2 * poll.brokers
    assert value not in POLLS or isinstance(outcome, Kept)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from([*RATES, *LISTS]), inner),
    max_leaves=8,
)


@settings(deadline=None, database=None)
@given(st.integers() | JSON, JSON, JSON, JSON)
def test_no_json_makes_the_parser_raise(at_ns, brokers, topics, racks):
    value = json.dumps({"polled_at_ns": at_ns, "brokers": brokers, "topics": topics, "racks": racks}).encode()

    check(parse, value, re.compile(b""), TABLES)
