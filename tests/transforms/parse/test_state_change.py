"""Lines of a state-change log, real ones of a broker first."""

from datetime import date, datetime

import pytest

from schemas.silver import LEADERSHIP_CHANGES, QUARANTINE
from tests.transforms.parse.raw_rows import DATA, outcomes, raw
from transforms.parse import PARSER_VERSION
from transforms.parse.state_change import kept, parse_state_change, quarantined, skipped

LINES = DATA.joinpath("state-change.txt").read_bytes().splitlines()
LEADER = next(line for line in LINES if b"] Leader " in line)
FOLLOWER = next(line for line in LINES if b"] Follower " in line)


@pytest.fixture(scope="module")
def real(spark):
    parsed = parse_state_change(raw(spark, LINES, kind="state-change")).cache()
    yield parsed
    parsed.unpersist()


def test_kept_rows_are_the_silver_table(real):
    assert kept(real).schema.simpleString() == LEADERSHIP_CHANGES.schema.simpleString()
    assert quarantined(real).schema.simpleString() == QUARANTINE.schema.simpleString()


def test_line_of_a_new_leader_is_read_whole(real):
    row = kept(real).where("role = 'leader'").orderBy("position").first().asDict()

    assert row | {"position": None} == {
        "cluster": "lab",
        "broker_id": 1,
        "logged_at": datetime(2026, 11, 21, 8, 56, 5, 146601),
        "logged_mono_ns": 1526147732773,
        "clock_resolution_ms": pytest.approx(1e-6),
        "logged_date": date(2026, 11, 21),
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
        "position": None,
        "topic": None,
        "partition": None,
        "offset": None,
        "parser_version": PARSER_VERSION,
    }


def test_line_of_a_follower_names_who_leads_now(real):
    row = kept(real).where("role = 'follower'").orderBy("position").first()

    told = (row.broker_id, row.topic_name, row.partition_index, row.topic_id, row.first_offset)
    assert told == (1, "redir-1795251332", 0, None, 349)
    assert (row.leader_id, row.leader_epoch, row.previous_leader_id, row.previous_leader_epoch) == (
        2,
        1,
        1,
        0,
    )


def test_every_real_line_is_kept_or_skipped_and_changes_are_kept(real):
    found = outcomes(real)

    wanted = {
        f"p/{nth}": ("kept", None) if b" starts at leader epoch " in line else ("skipped", "not_a_change")
        for nth, line in enumerate(LINES)
    }
    assert found == wanted


ODD = {  # lines that are read, and what of them
    "a first leader": (
        LEADER.replace(b"Some(3)", b"None").replace(b"epoch was 0", b"epoch was -1"),
        {"previous_leader_id": None, "previous_leader_epoch": -1},
    ),
    "nobody led": (LEADER.replace(b"Some(3)", b"Some(-1)"), {"previous_leader_id": None}),
    "nobody leads": (FOLLOWER.replace(b"leader is 2", b"leader is -1"), {"leader_id": -1}),
    "dashes in the name": (
        LEADER.replace(b"redir-1795251332-2", b"a-1-b-12"), {"topic_name": "a-1-b", "partition_index": 12},
    ),
    "words of ours in the name": (
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


def test_an_odd_line_is_kept_with_what_it_says(spark):
    rows = [{"value": value, "position": name} for name, (value, _) in ODD.items()]
    found = {row.position: row.asDict() for row in kept(parse_state_change(raw(spark, rows))).collect()}

    assert {name: {key: found[name][key] for key in told} for name, (_, told) in ODD.items()} == {
        name: told for name, (_, told) in ODD.items()
    }


OTHERS = {
    "truncated": (LEADER[:-60], "quarantined", "truncated_line"),
    "cut before the epoch": (LEADER[: LEADER.index(b" starts")], "quarantined", "truncated_line"),
    "two lines in one": (LEADER + FOLLOWER, "quarantined", "unknown_form"),
    "behind another line": (LINES[0] + LEADER, "quarantined", "unknown_form"),
    "inside another line": (LINES[0].replace(b"local", LEADER), "quarantined", "unknown_form"),
    "the beginning spoiled": (LEADER.replace(b"[Broker", b"[Brother"), "quarantined", "unknown_form"),
    "behind another line's stamp": (
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
    "a follower of nobody": (FOLLOWER.replace(b" Current leader is 2.", b""), "quarantined", "missing_field"),
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


def test_other_lines_are_quarantined_or_skipped_with_a_reason(spark):
    rows = [
        {**(row if isinstance(row, dict) else {"value": row}), "position": name}
        for name, (row, *_) in OTHERS.items()
    ]
    parsed = parse_state_change(raw(spark, rows, kind="state-change")).cache()

    assert outcomes(parsed) == {name: tuple(wanted) for name, (_, *wanted) in OTHERS.items()}
    bad = {row.position: bytes(row.value) for row in quarantined(parsed).collect()}
    given = {row["position"]: row["value"] for row in rows}
    assert bad == {name: given[name] for name, (_, outcome, _) in OTHERS.items() if outcome == "quarantined"}
    assert sum(row.lines for row in skipped(parsed, batch_id=0).collect()) == 3
    parsed.unpersist()
