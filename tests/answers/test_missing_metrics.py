"""Figures that a node's metrics do not support, and the rule to add."""

import pytest

from answers.data_quality.missing_metrics import (
    ANSWERS,
    EXPORT,
    FIRST,
    KEEP,
    MEAN_RULE,
    OPEN_MONITORING,
    START_RULE,
    THROTTLE_RULE,
    UNBLOCK,
    missing_metrics,
)
from schemas.gold.leader_local_mean import MISSING_METRICS
from schemas.silver.metrics import METRIC_SERIES
from tests.answers.cases import Cases
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.metric_rows import series_rows
from tests.transforms.gold.metrics.test_facts import MARKS, PLAIN, RULED
from tests.transforms.gold.silver_rows import arrow

REMOTE = {
    "count of remote": 'kafka_network_requestmetrics_remotetimems_count_total{request="Produce"}',
    "mean of remote": 'kafka_network_requestmetrics_remotetimems_mean{request="Produce"}',
    "bytes moved out": "kafka_server_brokertopicmetrics_reassignmentbytesout_total",
    "bytes copied in": "kafka_server_brokertopicmetrics_replicationbytesin_total",
}
WHOLE = {**RULED, **REMOTE, "mark": MARKS["kafka_example"]}


def built(silver):
    return {METRIC_SERIES: arrow(METRIC_SERIES, silver[METRIC_SERIES])}


def by_answer(selection):
    return {row["answer"]: row for row in missing_metrics(selection)}


CASES = Cases(built, by_answer)


def silver(lines, node="broker-1"):
    return {METRIC_SERIES: series_rows(lines, node)}


def test_rows_are_the_declared_ones_and_nothing_is_missing_where_there_is_nothing():
    without_means = [line for name, line in WHOLE.items() if not name.startswith("mean")]

    assert_declared(missing_metrics(selected(built(silver(without_means)))), MISSING_METRICS)
    assert missing_metrics(selected(built(silver([])))) == []


@CASES.test
def test_nothing_is_missing_where_all_is_exported():
    assert (yield silver(WHOLE.values())) == {}


@CASES.test
def test_node_that_is_no_broker_misses_nothing():
    assert (yield silver(["process_start_time_seconds", "up"], node="prometheus")) == {}


@CASES.test
def test_rules_that_drop_mean_get_the_rule_to_add():
    lines = [line for name, line in WHOLE.items() if not name.startswith("mean")]

    (row,) = (yield silver(lines)).values()

    assert row["answer"] == "leader_local_mean"
    assert row["missing"] == ["request_time_ms.remote.mean", "request_time_ms.total.mean"]
    assert (row["advice"], row["rule"], row["dialect"]) == (FIRST, MEAN_RULE, "kafka_example")


@CASES.test
def test_rules_that_leave_request_times_out_get_both():
    lines = [line for line in WHOLE.values() if "requestmetrics" not in line]

    (row,) = (yield silver([*lines, MARKS["strimzi"]])).values()

    assert len(row["missing"]) == 4
    assert row["rule"].count("- pattern:") == 2
    assert row["dialect"] == "strimzi"


@CASES.test
def test_bean_that_a_block_list_shuts_out_needs_more_than_a_rule():
    lines = [line for name, line in WHOLE.items() if "rate" not in name and name != "mark"]

    row = (yield silver([*lines, MARKS["confluent"]]))["throttle_bean"]

    assert (row["advice"], row["rule"]) == (UNBLOCK, THROTTLE_RULE)


@CASES.test
def test_other_beans_need_no_more_than_a_rule():
    lines = [line for name, line in WHOLE.items() if name not in {"start", "mark"}]

    row = (yield silver([*lines, MARKS["confluent"]]))["restarts"]

    assert (row["advice"], row["rule"]) == (FIRST, START_RULE)


@CASES.test
def test_without_rules_no_rule_helps():
    lines = [line for name, line in PLAIN.items() if name != "start"]

    row = (yield silver([*lines, MARKS["exporter"]]))["restarts"]

    assert (row["advice"], row["rule"]) == (EXPORT, None)


@CASES.test
def test_beans_that_come_with_the_first_replica_are_not_missed_without_rules():
    lines = [line for name, line in PLAIN.items() if name not in {"leader's rate", "size", "end"}]

    assert not {"throttle_bean", "log_sizes"} & set((yield silver([*lines, MARKS["exporter"]])))


@CASES.test
def test_cloudwatch_is_sent_to_open_monitoring():
    found = yield silver(['aws_kafka_produce_total_time_ms_mean_average{dimension_Broker_ID="1"}'], "yace")

    assert {row["advice"] for row in found.values()} == {OPEN_MONITORING}
    assert {row["rule"] for row in found.values()} == {None}
    assert {row["dialect"] for row in found.values()} == {"cloudwatch"}
    assert set(found) == {answer.name for answer in ANSWERS}


@CASES.test
def test_open_monitoring_is_not_sent_to_itself_and_beans_that_come_late_are_not_missed():
    dropped = {"mean of total", "leader's rate", "follower's rate", "size", "end", "start"}
    lines = [f"aws_msk_{line}" for name, line in PLAIN.items() if name not in dropped]

    found = yield silver([*lines, MARKS["msk"]])

    assert set(found) == {"byte_counters", "leader_local_mean", "restarts"}
    assert {(row["dialect"], row["advice"], row["rule"]) for row in found.values()} == {("msk", KEEP, None)}


@pytest.mark.parametrize("figure", ANSWERS, ids=lambda figure: figure.name)
def test_every_need_has_a_rule(figure):
    assert all(any(need.endswith(end) for end in figure.rules) for need in figure.needs)
