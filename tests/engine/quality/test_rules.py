"""The rules between the layers: each holds for rows as they should be, and each can fail."""

import json
from datetime import UTC, datetime

import pytest

from conf.settings import PROJECT
from engine.quality.rules import Suite, SuiteError, evaluate, suites_of
from jobs.check_quality import TABLES
from tests.engine.quality import gold_rows
from transforms.frames import frame_of

SUITES = PROJECT / "conf" / "expectations"
AT = datetime(2026, 11, 21, 11, 20, 3, tzinfo=UTC)
LATER = datetime(2026, 11, 21, 11, 20, 13, tzinfo=UTC)
SETTLED = {"nodes_expected": 3, "nodes_reporting": 3, "is_settled": True}
MORE_REPORT = {"nodes_reporting": 4}
PARTS = ("request_queue_ms", "local_ms", "remote_ms", "response_queue_ms", "send_ms")

GOOD = {
    "silver.requests": {
        "cluster": "lab",
        "node": "broker-1",
        "source": "a.log",
        "position": "p",
        "logged_at": AT,
        "broker_id": 1,
        "started_at": AT,
        "api": "FETCH",
        "kind": "follower",
        "follower_id": 2,
        "total_ms": 5.0,
        "throttle_ms": 0.0,
        "quality_flags": [],
        **dict.fromkeys(PARTS, 1.0),
    },
    "silver.client_events": {
        "cluster": "lab",
        "node": "broker-1",
        "source": "a.log",
        "position": "p",
        "logged_at": AT,
        "node_id": 1,
        "direction": "sent",
        "api": "FETCH",
        "correlation_id": 7,
        "destination_id": 2,
    },
    "gold.fetch_latency": {
        "cluster": "lab",
        "window_start": AT,
        "leader_id": 1,
        "kind": "follower",
        "follower_id": 2,
        "client_id": "c",
        "n": 2,
        "n_delayed": 2,
        "n_true": 2,
        "total_hist": {310: 2},
        **SETTLED,
        **{
            f"{of}_{stat}_ms": 3.0 for of in ("leader_local", "true") for stat in ("p50", "p99", "min", "max")
        },
        **{f"{of}_{stat}_ms": 500.0 for of in ("total", "remote") for stat in ("p50", "p99", "min", "max")},
        "total_sum_ms": 1006.0,
        "remote_sum_ms": 1000.0,
        "leader_local_sum_ms": 6.0,
        "true_sum_ms": 6.0,
    },
    "gold.broker_rtt": {
        "cluster": "lab",
        "window_start": AT,
        "follower_id": 2,
        "leader_id": 1,
        "method": "paired",
        "n": 20,
        "estimator": "p50",
        "rtt_ms": 2.0,
        "rtt_low_ms": 1.9,
        "rtt_high_ms": 2.1,
        "rtt_p10_ms": 1.5,
        "rtt_p50_ms": 2.0,
        "rtt_p99_ms": 3.0,
        "rtt_min_ms": 1.0,
        "rtt_max_ms": 3.0,
        "rtt_hist": {40: 20},
        **SETTLED,
    },
    "gold.broker_rtt_culprit": {
        "cluster": "lab",
        "window_start": AT,
        "culprit": "link",
        "follower_id": 2,
        "leader_id": 1,
        "effect_ms": 10.0,
        "effect_low_ms": 9.0,
        "effect_high_ms": 11.0,
        "since": AT,
        **SETTLED,
    },
    "gold.data_quality": {
        "cluster": "lab",
        "kind": "request-log",
        "node": "broker-1",
        "source": "a.log",
        "lines_read": 10,
        "kept": 7,
        "quarantined": 1,
        "skipped": 1,
        "duplicates": 1,
        "first_logged_at": AT,
        "last_logged_at": LATER,
        "is_balanced": True,
    },
    **gold_rows.GOOD,
}
MARKED = {
    "gold.fetch_latency": "client_id",
    **dict.fromkeys(("gold.broker_rtt", "gold.broker_rtt_culprit", *gold_rows.GOOD), "cluster"),
}
"""The column that tells which row an example is; `source` elsewhere."""

SPOILED = {
    "silver.requests": {
        "cluster_is_known": {"cluster": None},
        "broker_id_is_known": {"broker_id": None},
        "position_is_known": {"position": None},
        "api_is_known": {"api": None},
        "total_ms_is_known": {"total_ms": None},
        "total_ms_within_range": {"total_ms": 3_600_001.0, "remote_ms": 3_599_997.0},
        "parts_are_not_negative": {"local_ms": -1.0, "remote_ms": 3.0},
        "times_add_up": {"total_ms": 5.02},
        "started_before_it_ended": {"started_at": LATER},
        "follower_is_told": {"follower_id": None},
    },
    "silver.client_events": {
        "cluster_is_known": {"cluster": None},
        "position_is_known": {"position": None},
        "api_is_known": {"api": None},
        "correlation_id_is_known": {"correlation_id": None},
        "direction_is_one_of_two": {"direction": "lost"},
    },
    "gold.fetch_latency": {
        "cluster_is_known": {"cluster": None},
        "leader_id_is_known": {"leader_id": None},
        "kind_is_a_known_word": {"kind": "other"},
        "n_within_range": {"n": 0, "n_delayed": 0, "n_true": 0, "total_hist": {}},
        "fewer_delayed_than_all": {"n_delayed": 3},
        "quantiles_in_order": {"true_p50_ms": 3.1},
        "parts_add_up": {"leader_local_sum_ms": 7.0},
        "histogram_holds_all": {"total_hist": {310: 1}},
        "total_max_ms_within_range": {"total_max_ms": 3_600_001.0},
        "settled_is_complete": MORE_REPORT,
    },
    "gold.broker_rtt": {
        "cluster_is_known": {"cluster": None},
        "follower_id_is_known": {"follower_id": None},
        "leader_id_is_known": {"leader_id": None},
        "n_is_known": {"n": None},
        "method_is_one_of_two": {"method": "guessed"},
        "a_pair_once_a_window": {"cluster": "lab"},
        "rtt_ms_within_range": {"rtt_ms": 60_001.0, "rtt_high_ms": 60_002.0},
        "quantiles_in_order": {"rtt_p10_ms": 2.5},
        "interval_holds_estimate": {"rtt_low_ms": None},
        "histogram_holds_all": {"rtt_hist": {40: 19}},
        "settled_is_complete": MORE_REPORT,
    },
    "gold.broker_rtt_culprit": {
        "cluster_is_known": {"cluster": None},
        "culprit_is_a_known_word": {"culprit": "somebody"},
        "the_accused_is_named": {"follower_id": None},
        "interval_holds_estimate": {"effect_low_ms": 10.5},
        "onset_is_not_later": {"since": LATER},
        "settled_is_complete": {"nodes_expected": None},
    },
    "gold.data_quality": {
        "cluster_is_known": {"cluster": None},
        "kind_is_known": {"kind": None},
        "node_is_known": {"node": None},
        "lines_are_conserved": {"kept": 6},
        "first_is_before_last": {"last_logged_at": datetime(2026, 11, 20, tzinfo=UTC)},
    },
    **gold_rows.SPOILED,
}


def named():
    """Give every suite there is, by its table."""
    suites = [suite for layer in ("silver", "gold") for suite in suites_of(SUITES, layer)]
    return {f"{suite.layer}.{suite.table}": suite for suite in suites}


@pytest.mark.parametrize("table", named())
def test_every_rule_holds_for_a_good_row_and_fails_for_the_one_that_was_spoiled(spark, table):
    suite, schema = named()[table], TABLES[tuple(table.split("."))].schema
    mark, good = MARKED.get(table, "source"), GOOD[table]
    spoiled = [good | {mark: rule} | changes for rule, changes in SPOILED[table].items()]
    of_good = evaluate(frame_of(spark, [good], schema), suite)
    of_all = {of.rule: of for of in evaluate(frame_of(spark, [good, *spoiled], schema), suite)}

    assert [of.rule for of in of_good if not of.is_passed] == []
    assert set(of_all) == set(SPOILED[table])
    assert [rule for rule, of in of_all.items() if of.is_passed] == []
    for rule, row in zip(SPOILED[table], spoiled, strict=True):
        told = [json.loads(example)[mark] for example in of_all[rule].examples]
        assert row[mark] in told
        assert of_all[rule].rows_seen == len(spoiled) + 1 > of_all[rule].rows_failed > 0


def test_an_empty_hour_keeps_every_rule(spark):
    for table, suite in named().items():
        empty = frame_of(spark, [], TABLES[tuple(table.split("."))].schema)

        assert [of.rule for of in evaluate(empty, suite) if not of.is_passed] == []


def test_a_rule_that_cannot_be_asked_is_an_error_and_no_answer(spark):
    rule = {"type": "unexpected_rows_expectation", "meta": {"rule": "odd", "about": "no SQL"}}
    rule["kwargs"] = {"unexpected_rows_query": "SELECT * FROM {batch} WHERE n >"}
    table = Suite(layer="gold", table="t", at=None, place=("n",), columns=(), expectations=(rule,))

    with pytest.raises(SuiteError, match=r"rule odd of gold\.t cannot be evaluated"):
        evaluate(spark.range(1).toDF("n"), table)
    with pytest.raises(SuiteError, match=r"gold\.t has no column 'n', but its suite reads it"):
        evaluate(spark.range(1), table)


def test_a_file_that_is_no_suite_is_named(tmp_path):
    with pytest.raises(SuiteError, match="no rules for gold"):
        suites_of(tmp_path, "gold")
    (tmp_path / "gold_t.json").write_text('{"expectations": []}')
    with pytest.raises(SuiteError, match=r"gold_t\.json is not a valid suite: KeyError"):
        suites_of(tmp_path, "gold")
