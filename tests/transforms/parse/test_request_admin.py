"""What request lines tell of throttles, moves and in-sync sets."""

from datetime import UTC, datetime

import pytest

from schemas.throttles import ISR_CHANGES, MOVES, REASSIGNMENTS, THROTTLE_CHANGES
from tests.transforms.parse.admin_lines import (
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
from tests.transforms.parse.raw_rows import COMPLETED, line, outcomes, raw
from transforms.parse.request_log import kept, moves, parse_request_log

ORDER = ("resource", "resource_name", "config", "operation", "partition_index")


def told(spark, table, *values):
    """Give the rows of a table that lines tell, with the line's own columns left out."""
    rows = moves(parse_request_log(raw(spark, values)), table)
    assert rows.schema.simpleString() == table.schema.simpleString()
    order = [name for name in ORDER if name in table.schema.names]
    return [row.asDict(recursive=True) for row in rows.orderBy("position", *order).collect()]


def only(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]


def test_rate_of_a_broker_is_read_with_all_that_its_line_says(spark):
    limit = alter_configs((BROKER, "1", [(LEADER_RATE, SET, "5242880")]))
    (row,) = told(spark, THROTTLE_CHANGES, limit)

    assert row | {"parser_version": None, "logged_date": None} == {
        "cluster": "lab",
        "broker_id": 1,
        "logged_at": datetime(2026, 11, 21, 9, 19, 28, 987716),
        "logged_date": None,
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
        "parser_version": None,
    }
    assert row["logged_date"] == datetime(2026, 11, 21, tzinfo=UTC).date()


def test_lists_of_replicas_are_read_and_every_replica_is_told_apart(spark):
    line = alter_configs(
        (TOPIC, "t", [(LEADER_LIST, SET, "0:1,1:2"), (FOLLOWER_LIST, APPEND, "0:3")]),
        (TOPIC, "u", [(LEADER_LIST, SET, "*"), (FOLLOWER_LIST, SUBTRACT, "7:2")]),
        (TOPIC, "v", [(LEADER_LIST, SET, ""), (FOLLOWER_LIST, DELETE, None)]),
    )
    rows = told(spark, THROTTLE_CHANGES, line)

    found = only(rows, "resource_name", "config", "operation", "replicas", "is_wildcard")
    assert found == [
        ("t", FOLLOWER_LIST, "append", [{"partition": 0, "broker_id": 3}], False),
        (
            "t",
            LEADER_LIST,
            "set",
            [{"partition": 0, "broker_id": 1}, {"partition": 1, "broker_id": 2}],
            False,
        ),
        ("u", FOLLOWER_LIST, "subtract", [{"partition": 7, "broker_id": 2}], False),
        ("u", LEADER_LIST, "set", None, True),
        ("v", FOLLOWER_LIST, "delete", None, None),
        ("v", LEADER_LIST, "set", [], False),
    ]


def test_default_of_all_brokers_has_no_name_and_a_deleted_rate_no_value(spark):
    line = alter_configs(
        (BROKER, "", [(LEADER_RATE, SET, "100")]), (BROKER, "2", [(FOLLOWER_RATE, DELETE, None)])
    )

    found = only(
        told(spark, THROTTLE_CHANGES, line), "resource_name", "operation", "value", "rate_bytes_per_s"
    )
    assert found == [(None, "set", "100", 100), ("2", "delete", None, None)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"error": 29}, (29, False)),  # CLUSTER_AUTHORIZATION_FAILED
        ({"is_dry": True}, (0, False)),
        ({"response": ""}, (None, None)),  # the answer was not logged
    ],
)
def test_change_that_was_refused_or_only_tried_is_not_applied(spark, changes, expected):
    line = alter_configs((BROKER, "1", [(LEADER_RATE, SET, "100")]), **{
        name: value for name, value in changes.items() if name != "response"
    })  # fmt: skip
    if "response" in changes:
        start, end = line.index(b'"response":'), line.index(b',"connection"')
        line = line[:start] + b'"response":""' + line[end:]

    assert only(told(spark, THROTTLE_CHANGES, line), "error_code", "is_applied") == [expected]


def test_other_settings_and_other_resources_are_no_throttles(spark):
    line = alter_configs(
        (BROKER, "1", [("log.cleaner.threads", SET, "2")]),
        (LOGGER, "1", [(LEADER_RATE, SET, "5")]),
        (TOPIC, "t", [("retention.ms", SET, "1")]),
    )
    parsed = parse_request_log(raw(spark, [line, COMPLETED]))

    assert [moves(parsed, table).count() for table in MOVES] == [0, 0, 0]
    assert {outcome for outcome, _ in outcomes(parsed).values()} == {"kept"}


WHOLE_CONFIGS = {"api": "ALTER_CONFIGS", "requestHeader.requestApiKey": 33}


def test_old_request_sets_what_it_names_and_deletes_the_resources_other_throttles(spark):
    """Each request replaces all that its resource has: throttles go also where it is about something else."""
    line = alter_configs(
        (BROKER, "1", [(LEADER_RATE, None, "100"), ("log.cleaner.threads", None, "2")]),
        (BROKER, "", []),
        (TOPIC, "t", [(FOLLOWER_LIST, None, "0:1"), (LEADER_LIST, None, None)]),
        (TOPIC, "u", [("retention.ms", None, "1")]),
        (LOGGER, "1", [("kafka.server", None, "INFO")]),
        **WHOLE_CONFIGS,
    )
    rows = told(spark, THROTTLE_CHANGES, line)

    found = only(rows, "resource", "resource_name", "config", "operation", "value", "is_applied")
    assert found == [
        ("broker", None, FOLLOWER_RATE, "delete", None, True),
        ("broker", None, LEADER_RATE, "delete", None, True),
        ("broker", "1", FOLLOWER_RATE, "delete", None, True),
        ("broker", "1", LEADER_RATE, "set", "100", True),
        ("topic", "t", FOLLOWER_LIST, "set", "0:1", True),
        ("topic", "t", LEADER_LIST, "delete", None, True),
        ("topic", "u", FOLLOWER_LIST, "delete", None, True),
        ("topic", "u", LEADER_LIST, "delete", None, True),
    ]
    assert {tuple(pair.items()) for pair in rows[4]["replicas"]} == {(("partition", 0), ("broker_id", 1))}


@pytest.mark.parametrize(("changes", "error"), [({"error": 29}, 29), ({"is_dry": True}, 0)])
def test_old_request_that_was_refused_or_only_tried_deletes_nothing(spark, changes, error):
    line = alter_configs((TOPIC, "t", [("retention.ms", None, "1")]), **WHOLE_CONFIGS, **changes)

    told_of = only(told(spark, THROTTLE_CHANGES, line), "operation", "error_code", "is_applied")
    assert told_of == [("delete", error, False)] * 2


def test_reassignment_has_its_targets_and_each_partitions_own_answer(spark):
    line = reassign("t", {0: [3, 2], 1: None, 2: [1]}, errors={2: 39})
    rows = told(spark, REASSIGNMENTS, line)

    found = only(rows, "api", "topic_name", "partition_index", "replicas", "adding_replicas", "error_code")
    api = "ALTER_PARTITION_REASSIGNMENTS"
    assert found == [
        (api, "t", 0, [3, 2], None, 0),
        (api, "t", 1, None, None, 0),
        (api, "t", 2, [1], None, 39),
    ]
    assert only(rows, "client_id", "correlation_id", "principal")[0] == (
        "reassign-tool",
        75354,
        "User:ANONYMOUS",
    )


def test_error_of_the_whole_request_is_each_partitions(spark):
    rows = told(spark, REASSIGNMENTS, reassign("t", {0: [3]}, error=41))

    assert only(rows, "error_code") == [(41,)]


def test_listed_move_tells_what_is_added_and_removed(spark):
    rows = told(spark, REASSIGNMENTS, list_moves("t", {4: ([3, 1], [3], [1])}))

    found = only(rows, "partition_index", "replicas", "adding_replicas", "removing_replicas", "error_code")
    assert found == [(4, [3, 1], [3], [1], 0)]


def test_answer_of_the_controller_tells_who_is_in_sync_and_a_refused_wish_does_not(spark):
    accepted, refused = alter_isr(0, [2, 1, 3], told=[3, 2]), alter_isr(1, [2, 1], error=6, told=[])
    rows = told(spark, ISR_CHANGES, accepted, refused)

    names = ("topic_id", "topic_name", "partition_index", "leader_id", "isr", "partition_epoch", "error_code")
    assert only(rows, *names) == [
        (TOPIC_ID, None, 0, 1, [2, 3], 9, 0),
        (TOPIC_ID, None, 1, 1, [1, 2], None, 6),
    ]


def test_bodies_that_cannot_be_read_give_no_rows_and_keep_their_line(spark):
    """A number where a list is wanted, a body that is absent, one that was not logged."""
    whole = alter_configs((BROKER, "1", [(LEADER_RATE, SET, "100")]))
    broken = [
        whole.replace(b'"resources":[', b'"resources":7,"x":['),
        line(**{"requestHeader.requestApiKeyName": "ALTER_PARTITION", "request": {}, "response": {}}),
        line(**{"requestHeader.requestApiKeyName": "ALTER_PARTITION", "request": "", "response": ""}),
    ]
    parsed = parse_request_log(raw(spark, broken))

    assert [moves(parsed, table).count() for table in MOVES] == [0, 0, 0]
    assert kept(parsed).count() == 3


def test_fetch_has_the_high_watermark_it_answered_and_an_error_has_none(spark):
    def answered(**more):
        part = {"partitionIndex": 0, "errorCode": 0, "recordsSizeInBytes": 10, "highWatermark": 99} | more
        return line(**{"response.responses": [{"topicId": TOPIC_ID, "partitions": [part]}]})

    parsed = parse_request_log(raw(spark, [answered(), answered(errorCode=6, highWatermark=-1)]))

    rows = kept(parsed).orderBy("position").collect()
    assert [row.partitions[0].high_watermark for row in rows] == [99, None]
