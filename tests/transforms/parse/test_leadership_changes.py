"""Lines of a state-change log, mostly of a real broker."""

from datetime import UTC, datetime

import pytest

from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from tests.transforms.parse import change_lines
from tests.transforms.parse.any_bytes import check, took_s, with_any_bytes
from tests.transforms.parse.change_lines import FOLLOWER, LEADER
from tests.transforms.parse.change_lines import REAL as LINES
from tests.transforms.parse.records import record
from transforms.parse import leadership_changes
from transforms.parse.leadership_changes import LeadershipChange, parse
from transforms.parse.line import OUR_LOGGERS
from transforms.parse.record import DAY_US, PARSER_VERSION, Kept, Quarantined, Skipped


def change(value, **fields):
    """Return the row of a kept line."""
    (row,) = parse(record(value, **fields)).rows["leadership_changes"]
    return row


def test_a_row_has_the_columns_of_the_table_in_order():
    assert LeadershipChange._fields == tuple(LEADERSHIP_CHANGES.schema.names)


def test_all_columns_of_a_leader_s_line_are_parsed():
    at_us = int(datetime(2026, 11, 21, 8, 56, 5, tzinfo=UTC).timestamp()) * 1_000_000 + 146601

    assert change(LEADER)._asdict() == {
        "cluster": "lab",
        "broker_id": 1,
        "logged_at": at_us,
        "logged_mono_ns": 1526147732773,
        "clock_resolution_ms": pytest.approx(1e-6),
        "logged_date": at_us // DAY_US,
        "role": "leader",
        "topic_name": "redir-1795251332",
        "topic_id": "6mIsoWMRTfmFUJoSO1Ga2g",
        "partition_index": 2,
        "leader_id": 1,
        "leader_epoch": 1,
        "partition_epoch": 2,
        "first_offset": 444,
        "previous_leader_id": 3,
        "previous_leader_epoch": 0,
        "node": "broker-1",
        "source": "a.log",
        "position": "p/0",
        "topic": None,
        "partition": None,
        "offset": None,
        "parser_version": PARSER_VERSION,
    }


def test_a_follower_s_line_has_the_current_leader():
    row = change(FOLLOWER)

    names = (row.broker_id, row.topic_name, row.partition_index, row.topic_id, row.first_offset)
    assert names == (1, "redir-1795251332", 0, None, 349)
    epochs = (row.leader_id, row.leader_epoch, row.previous_leader_id, row.previous_leader_epoch)
    assert epochs == (2, 1, 1, 0)


@pytest.mark.parametrize("value", LINES)
def test_real_changes_are_kept_and_other_real_lines_are_skipped(value):
    found = parse(record(value))

    if b" starts at leader epoch " in value:
        assert isinstance(found, Kept)
    else:
        assert found == Skipped("not_a_change", "state.change.logger")


ODD = {  # line -> columns
    "a first leader": (
        LEADER.replace(b"Some(3)", b"None").replace(b"epoch was 0", b"epoch was -1"),
        {"previous_leader_id": None, "previous_leader_epoch": -1},
    ),
    "no previous leader": (LEADER.replace(b"Some(3)", b"Some(-1)"), {"previous_leader_id": None}),
    "no current leader": (FOLLOWER.replace(b"leader is 2", b"leader is -1"), {"leader_id": -1}),
    "dashes in the name": (
        LEADER.replace(b"redir-1795251332-2", b"a-1-b-12"), {"topic_name": "a-1-b", "partition_index": 12},
    ),
    "words of the format in the name": (
        LEADER.replace(b"redir-1795251332", b"Leader.x"), {"topic_name": "Leader.x", "partition_index": 2},
    ),
    "a move under way": (
        LEADER.replace(b"adding replicas []", b"adding replicas [4,5]"), {"leader_epoch": 1},
    ),
    "too few in sync": (LEADER.replace(b"[] .", b"[] (under-min-isr)."), {"leader_id": 1}),
    "no topic id": (LEADER.replace(b"Some(6mIsoWMRTfmFUJoSO1Ga2g)", b"None"), {"topic_id": None}),
    "alone": (LEADER.replace(b"ISR [3,1,2]", b"ISR []"), {"leader_id": 1}),
    "no logger": (LEADER.removesuffix(b" (state.change.logger)"), {"leader_id": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_unusual_line_is_kept_with_its_values(name):
    value, expected = ODD[name]
    row = change(value)._asdict()

    assert {key: row[key] for key in expected} == expected


OTHERS = {
    "truncated": (LEADER[:-60], "quarantined", "truncated_line"),
    "cut before the epoch": (LEADER[: LEADER.index(b" starts")], "quarantined", "truncated_line"),
    "two lines in one": (LEADER + FOLLOWER, "quarantined", "unknown_form"),
    "after another line": (LINES[0] + LEADER, "quarantined", "unknown_form"),
    "inside another line": (LINES[0].replace(b"local", LEADER), "quarantined", "unknown_form"),
    "the beginning spoiled": (LEADER.replace(b"[Broker", b"[Brother"), "quarantined", "unknown_form"),
    "after another line's timestamp": (
        LINES[0].split(b" [Broker")[0] + LEADER[LEADER.index(b" starts") :], "quarantined", "unknown_form",
    ),
    "a leader's start, a follower's end": (
        LEADER.split(b", high")[0] + b" and high" + FOLLOWER.split(b" and high")[1],
        "quarantined", "unknown_form",
    ),
    "a follower's start, a leader's end": (
        FOLLOWER.split(b" and high")[0] + b", high" + LEADER.split(b", high")[1],
        "quarantined", "unknown_form",
    ),
    "another field": (
        LEADER.replace(b" from offset", b" with luck from offset"), "quarantined", "unknown_form",
    ),
    "wrong case": (LEADER.replace(b"ISR [", b"isr ["), "quarantined", "unknown_form"),
    "NaN": (LEADER.replace(b"leader epoch 1", b"leader epoch NaN"), "quarantined", "unknown_form"),
    "2,000 digits": (
        LEADER.replace(b"partition epoch 2", b"partition epoch " + b"9" * 2_000),
        "quarantined", "missing_field",
    ),
    "2,000 digits of an offset": (
        LEADER.replace(b"offset 444", b"offset " + b"9" * 2_000), "quarantined", "missing_field",
    ),
    "an epoch before too large": (
        LEADER.replace(b"epoch was 0", b"epoch was 2147483648"), "quarantined", "missing_field",
    ),
    "large broker": (
        FOLLOWER.replace(b"leader is 2", b"leader is 99999999999"), "quarantined", "missing_field",
    ),
    "no leader": (FOLLOWER.replace(b" Current leader is 2.", b""), "quarantined", "missing_field"),
    "20 MB": (LEADER.replace(b"redir-", b"x" * 20_000_000 + b"-"), "quarantined", "oversized"),
    "NUL before the stamp": (b"\x00" * 500 + LEADER, "quarantined", "no_timestamp"),
    "surrogate bytes": (LEADER.replace(b"redir-", b"\xed\xa0\x80-"), "quarantined", "not_utf8"),
    "separator in a name": (LEADER.replace(b"redir-", b"r\x01-"), "quarantined", "unknown_form"),
    "another node's": ({"value": LEADER, "node": "broker-2"}, "quarantined", "node_is_another_replica"),
    "no cluster": ({"value": LEADER, "cluster": None}, "quarantined", "no_cluster"),
    "no stamp": (LEADER[40:], "quarantined", "no_timestamp"),
    "a part": ({"value": LEADER, "chunk": "2/3"}, "quarantined", "oversized"),
    "other change": (
        b"2026-11-21T08:40:46Z INFO [Broker id=1] Transitioning (state.change.logger)",
        "skipped", "not_a_change",
    ),
    "another logger": (b"2026-11-21T08:40:46Z DEBUG x (a.b)", "skipped", "other_logger"),
    "blank": (b"", "skipped", "blank"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_lines_are_quarantined_or_skipped_with_a_reason(name):
    value, outcome, reason = OTHERS[name]
    found = parse(record(value))

    assert (type(found).__name__.lower(), found.reason) == (outcome, reason)
    assert not isinstance(found, Quarantined) or found.detail


def test_the_detail_names_what_is_missing_or_too_large():
    short = FOLLOWER.replace(b" Current leader is 2.", b"").replace(b"epoch 1", b"epoch 9999999999")

    assert parse(record(short)).detail == "leader_epoch, leader_id"
    assert parse(record(LEADER, node="broker-2")).detail == "written by broker 1 on broker-2"


def test_lines_of_dumps_and_stack_traces_are_skipped_and_the_tail_of_a_parsed_line_is_not():
    found = [parse(record(value)) for value in (b"\tacks = -1", b"\t... 12 more", b" (state.change.logger)")]

    assert found[:2] == [Skipped("continuation", None)] * 2
    assert found[2].reason == "no_timestamp"
    assert f"({leadership_changes.LOGGER})" in OUR_LOGGERS


SLOW = {
    "4 MiB of a name": LEADER.replace(b"redir-", b"x" * 4_190_000 + b"-"),
    "4 MiB of dashes": LEADER.replace(b"redir-", b"1-" * 2_090_000),
    "4 MiB of a broker": LEADER.replace(b"[Broker id=1]", b"[Broker id=" + b"1" * 4_190_000),
    "4 MiB of replicas": LEADER.replace(b"ISR [3", b"ISR [" + b"3," * 2_090_000),
    "64 KiB of dashes": LEADER.replace(b"redir-", b"1-" * 32_600),
    "64 KiB of digits": LEADER.replace(b"redir-", b"1" * 65_200),
}


@pytest.mark.parametrize("name", SLOW)
def test_no_line_takes_longer_than_50_ms(name):
    assert min(took_s(parse, SLOW[name]) for _ in range(3)) < 0.05


@with_any_bytes(change_lines.LINES)
def test_no_bytes_make_the_parser_raise(value):
    """Each line has one outcome, and a row equals the result of the independent parser."""
    outcome = check(parse, value, change_lines.MARK, {"leadership_changes": LEADERSHIP_CHANGES})

    if isinstance(outcome, Kept):
        row = outcome.rows["leadership_changes"][0]._asdict()
        _, columns = change_lines.says(value)
        assert {name: row[name] for name in columns} == columns
    whole = value in change_lines.LINES and change_lines.MARK.search(value)
    assert not whole or isinstance(outcome, Kept)
