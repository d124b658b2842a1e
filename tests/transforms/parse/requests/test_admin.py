"""Rows about throttles, moves and ISR changes in request lines."""

import pytest

from tests.transforms.parse.records import COMPLETED, line, record
from tests.transforms.parse.requests.admin_lines import (
    APPEND,
    BROKER,
    DELETE,
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    LOGGER,
    SET,
    SUBTRACT,
    TOPIC,
    TOPIC_ID,
    alter_configs,
    alter_isr,
    list_moves,
    reassign,
)
from transforms.parse.record import PARSER_VERSION, Kept
from transforms.parse.requests import parse

MOVES = {"throttle_changes", "reassignments", "isr_changes"}


def rows(table, *values):
    """Return the rows of a table that the parser makes of lines."""
    return [row for value in values for row in parse(record(value)).rows.get(table, ())]


def columns(found, *names):
    return [tuple(getattr(row, name) for name in names) for row in found]


def test_all_columns_of_a_broker_s_rate_are_parsed():
    (row,) = rows("throttle_changes", alter_configs((BROKER, "1", [(LEADER_RATE, SET, "5242880")])))

    assert row._asdict() == {
        "cluster": "lab",
        "broker_id": 1,
        "logged_at": 1_795_252_768_987_716,
        "logged_date": 20_778,
        "resource": "broker",
        "resource_name": "1",
        "config": LEADER_RATE,
        "operation": "set",
        "value": "5242880",
        "rate_bytes_per_s": 5242880,
        "replicas": None,
        "is_wildcard": None,
        "error_code": 0,
        "is_applied": True,
        "told_by": "request_log",
        "node": "broker-1",
        "source": "a.log",
        "position": "p/0",
        "topic": None,
        "partition": None,
        "offset": None,
        "parser_version": PARSER_VERSION,
    }


def test_lists_of_replicas_are_parsed_and_a_wildcard_is_marked():
    value = alter_configs(
        (TOPIC, "t", [(LEADER_LIST, SET, "0:1,1:2"), (FOLLOWER_LIST, APPEND, "0:3")]),
        (TOPIC, "u", [(LEADER_LIST, SET, "*"), (FOLLOWER_LIST, SUBTRACT, "7:2")]),
        (TOPIC, "v", [(LEADER_LIST, SET, ""), (FOLLOWER_LIST, DELETE, None)]),
    )

    found = rows("throttle_changes", value)
    assert columns(found, "resource_name", "config", "operation", "replicas", "is_wildcard") == [
        ("t", LEADER_LIST, "set", [(0, 1), (1, 2)], False),
        ("t", FOLLOWER_LIST, "append", [(0, 3)], False),
        ("u", LEADER_LIST, "set", None, True),
        ("u", FOLLOWER_LIST, "subtract", [(7, 2)], False),
        ("v", LEADER_LIST, "set", [], False),
        ("v", FOLLOWER_LIST, "delete", None, None),
    ]


def test_the_cluster_wide_default_has_no_name_and_a_deleted_rate_has_no_value():
    value = alter_configs(
        (BROKER, "", [(LEADER_RATE, SET, "100")]), (BROKER, "2", [(FOLLOWER_RATE, DELETE, "7")])
    )

    found = rows("throttle_changes", value)
    assert columns(found, "resource_name", "operation", "value", "rate_bytes_per_s") == [
        (None, "set", "100", 100),
        ("2", "delete", None, None),
    ]


def test_an_operation_of_a_newer_kafka_has_no_name_and_no_value():
    found = rows("throttle_changes", alter_configs((BROKER, "1", [(LEADER_RATE, 9, "100")])))

    assert columns(found, "operation", "value", "rate_bytes_per_s") == [(None, None, None)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"error": 29}, (29, False)),  # CLUSTER_AUTHORIZATION_FAILED
        ({"is_dry": True}, (0, False)),
        ({"response": ""}, (None, None)),  # The response was not logged.
        ({"response": "", "is_dry": True}, (None, False)),
    ],
)
def test_a_refused_or_validate_only_change_is_not_applied(changes, expected):
    given = {name: value for name, value in changes.items() if name != "response"}
    value = alter_configs((BROKER, "1", [(LEADER_RATE, SET, "100")]), **given)
    if "response" in changes:
        start, end = value.index(b'"response":'), value.index(b',"connection"')
        value = value[:start] + b'"response":""' + value[end:]

    assert columns(rows("throttle_changes", value), "error_code", "is_applied") == [expected]


def test_other_configs_and_other_resources_give_no_rows():
    value = alter_configs(
        (BROKER, "1", [("log.cleaner.threads", SET, "2")]),
        (LOGGER, "1", [(LEADER_RATE, SET, "5")]),
        (TOPIC, "t", [("retention.ms", SET, "1")]),
    )

    assert [set(parse(record(one)).rows) for one in (value, COMPLETED)] == [{"requests"}, {"requests"}]


WHOLE_CONFIGS = {"api": "ALTER_CONFIGS", "requestHeader.requestApiKey": 33}


def test_alter_configs_sets_the_named_configs_and_deletes_the_resource_s_other_throttles():
    """Each request replaces all configs of its resource, so it deletes throttles that it does not name."""
    value = alter_configs(
        (BROKER, "1", [(LEADER_RATE, None, "100"), ("log.cleaner.threads", None, "2")]),
        (BROKER, "", []),
        (TOPIC, "t", [(FOLLOWER_LIST, None, "0:1"), (LEADER_LIST, None, None)]),
        (TOPIC, "u", [("retention.ms", None, "1")]),
        (LOGGER, "1", [("kafka.server", None, "INFO")]),
        **WHOLE_CONFIGS,
    )

    found = rows("throttle_changes", value)
    assert columns(found, "resource", "resource_name", "config", "operation", "value", "is_applied") == [
        ("broker", "1", LEADER_RATE, "set", "100", True),
        ("broker", "1", FOLLOWER_RATE, "delete", None, True),
        ("broker", None, LEADER_RATE, "delete", None, True),
        ("broker", None, FOLLOWER_RATE, "delete", None, True),
        ("topic", "t", FOLLOWER_LIST, "set", "0:1", True),
        ("topic", "t", LEADER_LIST, "delete", None, True),
        ("topic", "u", LEADER_LIST, "delete", None, True),
        ("topic", "u", FOLLOWER_LIST, "delete", None, True),
    ]
    assert found[4].replicas == [(0, 1)]


@pytest.mark.parametrize(("changes", "error"), [({"error": 29}, 29), ({"is_dry": True}, 0)])
def test_a_refused_or_validate_only_alter_configs_deletes_nothing(changes, error):
    value = alter_configs((TOPIC, "t", [("retention.ms", None, "1")]), **WHOLE_CONFIGS, **changes)

    found = rows("throttle_changes", value)
    assert columns(found, "operation", "error_code", "is_applied") == [("delete", error, False)] * 2


def test_a_reassignment_has_its_targets_and_the_error_of_each_partition():
    found = rows("reassignments", reassign("t", {0: [3, 2], 1: None, 2: [1]}, errors={2: 39}))

    api = "ALTER_PARTITION_REASSIGNMENTS"
    names = ("api", "topic_name", "partition_index", "replicas", "adding_replicas", "error_code")
    assert columns(found, *names) == [
        (api, "t", 0, [3, 2], None, 0),
        (api, "t", 1, None, None, 0),
        (api, "t", 2, [1], None, 39),
    ]
    client = ("reassign-tool", 75354, "User:ANONYMOUS")
    assert columns(found, "client_id", "correlation_id", "principal") == [client] * 3


def test_an_error_of_the_whole_request_is_in_each_row():
    assert columns(rows("reassignments", reassign("t", {0: [3]}, error=41)), "error_code") == [(41,)]


def test_of_a_refused_request_only_the_first_entries_have_rows():
    """A client without rights can name tens of thousands in one request; none of them changes anything."""
    moves = {n: [3] for n in range(30)}
    refused, mixed = reassign("t", moves, error=31), reassign("t", moves, errors=dict.fromkeys(range(15), 37))

    assert len(rows("reassignments", refused)) == 10
    found = rows("reassignments", mixed)
    assert [row.partition_index for row in found] == [*range(10), *range(15, 30)]


def test_a_listed_move_has_its_added_and_removed_replicas():
    found = rows("reassignments", list_moves("t", {4: ([3, 1], [3], [1])}))

    names = ("partition_index", "replicas", "adding_replicas", "removing_replicas", "error_code")
    assert columns(found, *names) == [(4, [3, 1], [3], [1], 0)]


def test_the_controller_s_answer_has_the_isr_and_a_refused_request_its_error():
    accepted = alter_isr(0, [2, 1, 3], answered_isr=[3, 2])
    refused = alter_isr(1, [2, 1], error=6, answered_isr=[])

    names = ("topic_id", "topic_name", "partition_index", "leader_id", "isr", "partition_epoch", "error_code")
    assert columns(rows("isr_changes", accepted, refused), *names) == [
        (TOPIC_ID, None, 0, 1, [2, 3], 9, 0),
        (TOPIC_ID, None, 1, 1, [1, 2], None, 6),
    ]


def test_an_isr_change_of_kafka_2_8_has_a_topic_name_and_a_list_of_brokers():
    partition = {"partitionIndex": 3, "leaderEpoch": 5, "newIsr": [2, 1], "currentIsrVersion": 4}
    body = {"brokerId": 1, "topics": [{"name": "t", "partitions": [partition]}]}
    value = line(**{"requestHeader.requestApiKeyName": "ALTER_ISR"}, request=body, response="")

    names = ("topic_id", "topic_name", "leader_epoch", "isr", "error_code")
    assert columns(rows("isr_changes", value), *names) == [(None, "t", 5, [1, 2], None)]


def test_a_line_without_logged_bodies_is_kept_and_has_no_admin_rows():
    apis = (
        "ALTER_PARTITION",
        "LIST_PARTITION_REASSIGNMENTS",
        "ALTER_PARTITION_REASSIGNMENTS",
        "ALTER_CONFIGS",
    )
    values = [
        line(**{"requestHeader.requestApiKeyName": api, "request": body, "response": body})
        for api in apis
        for body in ("", None)
    ]

    assert [set(parse(record(value)).rows) for value in values] == [{"requests"}] * 8


def test_unreadable_bodies_are_quarantined_with_the_field():
    """One body has a number in place of a list, and one lacks its list."""
    whole = alter_configs((BROKER, "1", [(LEADER_RATE, SET, "100")]))
    broken = [
        whole.replace(b'"resources":[', b'"resources":7,"x":['),
        line(**{"requestHeader.requestApiKeyName": "ALTER_PARTITION", "request": {}, "response": {}}),
    ]

    found = [parse(record(value)) for value in broken]
    assert [one.reason for one in found] == ["missing_field", "missing_field"]
    assert [one.detail.split(":")[0] for one in found] == ["request.resources", "request.topics"]


def test_tables_without_rows_have_no_entry():
    values = [alter_isr(0, [1]), list_moves("t", {1: ([1], [], [])}), reassign("t", {}), alter_configs()]
    found = [parse(record(value)) for value in values]

    assert {type(one) for one in found} == {Kept}
    assert [set(one.rows) & MOVES for one in found] == [{"isr_changes"}, {"reassignments"}, set(), set()]
