"""Names as people have them: every dialect says the same of the same bean."""

from pathlib import Path

import pytest

from schemas.silver.metrics import METRIC_SERIES
from tests.transforms.gold.metric_rows import series_row
from tests.transforms.gold.silver_rows import arrow, replaced
from transforms.gold.metrics.facts import facts
from transforms.gold.metrics.names import known_names, metric_names

MARKS = {
    "exporter": 'kafka_server_BrokerTopicMetrics_Count{name="MessagesInPerSec"}',
    "lowered": 'kafka_server_brokertopicmetrics_count{name="MessagesInPerSec"}',
    "msk": 'aws_msk_kafka_server_BrokerTopicMetrics_Count{name="MessagesInPerSec"}',
    "confluent": "kafka_server_brokertopicmetrics_messagesinpersec",
    "kafka_example": "kafka_server_brokertopicmetrics_messagesin_total",
    "strimzi": "kafka_server_raftmetrics_current_leader",
}
RULED = {
    "count of total": 'kafka_network_requestmetrics_totaltimems_count_total{request="Produce"}',
    "mean of total": 'kafka_network_requestmetrics_totaltimems_mean{request="Produce"}',
    "p99 of total": 'kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.99"}',
    "leader's rate": "kafka_server_leaderreplication_byte_rate",
    "follower's rate": "kafka_server_followerreplication_byte_rate",
    "bytes moved in": "kafka_server_brokertopicmetrics_reassignmentbytesin_total",
    "bytes copied out": "kafka_server_brokertopicmetrics_replicationbytesout_total",
    "bytes of a topic": 'kafka_server_brokertopicmetrics_bytesin_total{topic="t"}',
    "bytes of all": "kafka_server_brokertopicmetrics_bytesin_total",
    "size": 'kafka_log_log_size{topic="t",partition="3"}',
    "end": 'kafka_log_log_logendoffset{topic="t",partition="3"}',
    "lag": 'kafka_server_fetcherlagmetrics_consumerlag{clientId="f",topic="t",partition="3"}',
    "moving": "kafka_server_replicamanager_reassigningpartitions",
    "under": "kafka_server_replicamanager_underreplicatedpartitions",
    "start": "process_start_time_seconds",
}
PLAIN = {
    "count of total": 'kafka_network_RequestMetrics_Count{name="TotalTimeMs",request="Produce"}',
    "mean of total": 'kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="Produce"}',
    "p99 of total": 'kafka_network_RequestMetrics_99thPercentile{name="TotalTimeMs",request="Produce"}',
    "leader's rate": "kafka_server_LeaderReplication_byte_rate",
    "follower's rate": "kafka_server_FollowerReplication_byte_rate",
    "bytes moved in": 'kafka_server_BrokerTopicMetrics_Count{name="ReassignmentBytesInPerSec"}',
    "bytes copied out": 'kafka_server_BrokerTopicMetrics_Count{name="ReplicationBytesOutPerSec"}',
    "bytes of a topic": 'kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",topic="t"}',
    "bytes of all": 'kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec"}',
    "size": 'kafka_log_Log_Value{name="Size",topic="t",partition="3"}',
    "end": 'kafka_log_Log_Value{name="LogEndOffset",topic="t",partition="3"}',
    "lag": 'kafka_server_FetcherLagMetrics_Value{name="ConsumerLag",clientId="f",topic="t",partition="3"}',
    "moving": 'kafka_server_ReplicaManager_Value{name="ReassigningPartitions"}',
    "under": 'kafka_server_ReplicaManager_Value{name="UnderReplicatedPartitions"}',
    "start": "process_start_time_seconds",
}
BYTES = ("bytes moved in", "bytes copied out", "bytes of a topic", "bytes of all")
CONFLUENT = {
    **RULED,
    "count of total": 'kafka_network_requestmetrics_totaltimems{request="Produce"}',
    **{name: RULED[name].replace("_total", "persec") for name in BYTES},
}
SPOKEN = {
    "exporter": PLAIN,
    "lowered": {
        name: line.split("{")[0].lower() + line[len(line.split("{")[0]) :] for name, line in PLAIN.items()
    },
    "msk": {name: f"aws_msk_{line}" for name, line in PLAIN.items()},
    "confluent": CONFLUENT,
    "kafka_example": RULED,
    "strimzi": RULED,
}
MEANT = {
    "count of total": ("request_time_ms", "count", "total", "Produce", None, None, None),
    "mean of total": ("request_time_ms", "mean", "total", "Produce", None, None, None),
    "p99 of total": ("request_time_ms", "p99", "total", "Produce", None, None, None),
    "leader's rate": ("replication_byte_rate", "value", None, None, "leader", None, None),
    "follower's rate": ("replication_byte_rate", "value", None, None, "follower", None, None),
    "bytes moved in": ("reassignment_bytes", "count", None, None, "in", None, None),
    "bytes copied out": ("replication_bytes", "count", None, None, "out", None, None),
    "bytes of a topic": ("bytes_in", "count", None, None, None, "t", None),
    "bytes of all": ("bytes_in", "count", None, None, None, None, None),
    "size": ("log_size_bytes", "value", None, None, None, "t", 3),
    "end": ("log_end_offset", "value", None, None, None, "t", 3),
    "lag": ("fetcher_lag", "value", None, None, None, "t", 3),
    "moving": ("reassigning_partitions", "value", None, None, None, None, None),
    "under": ("under_replicated_partitions", "value", None, None, None, None, None),
    "start": ("process_start_s", "value", None, None, None, None, None),
}
FACTS = (
    *("cluster", "node", "broker_id", "series_id", "dialect", "meaning", "statistic", "time", "request"),
    *("direction", "topic", "partition"),
)
MEANING = ("meaning", "statistic", "time", "request", "direction", "topic", "partition")


def of(*lines, node="broker-1"):
    return told([series_row(line, node) for line in lines])


def told(rows):
    return facts(arrow(METRIC_SERIES, rows)).to_pylist()


@pytest.fixture(scope="module")
def spoken():
    """Read every dialect at once, a node each; line by line what was understood."""
    rows = []
    by_id = {}
    for node, (dialect, lines) in enumerate(SPOKEN.items(), start=1):
        for name, line in {**lines, "mark": MARKS[dialect]}.items():
            row = series_row(line, f"broker-{node}")
            by_id[row[1]] = (dialect, name)
            rows.append(row)
    return {by_id[row["series_id"]]: row for row in told(rows)}


@pytest.mark.parametrize("dialect", SPOKEN)
def test_every_dialect_says_the_same_of_the_same_bean(spoken, dialect):
    meant = {
        name: tuple(row[column] for column in MEANING) for (of, name), row in spoken.items() if of == dialect
    }

    assert meant == MEANT


@pytest.mark.parametrize("dialect", SPOKEN)
def test_dialect_is_told_by_the_node(spoken, dialect):
    named = {row["dialect"] for (of, _), row in spoken.items() if of == dialect}

    assert named == {"exporter" if dialect == "lowered" else dialect}


def test_columns_are_those_of_the_contract_and_none_in_gives_none_out():
    found = facts(arrow(METRIC_SERIES, []))

    assert found.column_names == list(FACTS)
    assert found.to_pylist() == []


def test_series_without_name_or_labels_means_nothing():
    row = series_row(PLAIN["moving"])
    nameless = replaced(METRIC_SERIES, row, name=None, series_id=1)
    bare = replaced(METRIC_SERIES, row, labels=None, series_id=2)

    assert told([nameless, bare]) == []


def test_series_that_is_there_twice_is_told_once():
    assert len(of(PLAIN["size"], PLAIN["size"])) == 1


def test_labels_of_a_scraper_change_nothing():
    line = PLAIN["size"].replace("{", '{job="kafka",instance="10.0.0.1:7071",pod="kafka-0",')

    assert [row["partition"] for row in of(line)] == [3]


@pytest.mark.parametrize(
    "line",
    [
        # On its way to another disk of the same broker: the exporter's way to say so, and a rule's.
        'kafka_log_Log_Value{is_future="true",name="Size",partition="3",topic="t"}',
        'kafka_log_log_size{topic="t",partition="3, is-future=true"}',
        'kafka_log_log_size{topic="t"}',
        # Other beans of the same type, and other statistics of the same bean.
        'kafka_network_RequestMetrics_Count{name="RequestBytes",request="Produce"}',
        'kafka_network_RequestMetrics_OneMinuteRate{name="TotalTimeMs",request="Produce"}',
        'kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.5"}',
        'kafka_network_RequestMetrics_Count{name="TotalTimeMs"}',
        "kafka_server_brokertopicmetrics_bytesin_oneminuterate",
        "process_start_time",
    ],
)
def test_what_is_like_a_known_name_and_is_none_means_nothing(line):
    assert of(line) == []


def test_one_page_of_all_brokers_tells_each_by_its_label():
    page = [
        f'aws_kafka_produce_total_time_ms_mean_average{{dimension_Broker_ID="{broker}"}}' for broker in (1, 2)
    ]

    found = of(*page, node="yace")

    read = {(row["dialect"], row["broker_id"], row["request"], row["statistic"]) for row in found}
    assert read == {("cloudwatch", 1, "Produce", "mean"), ("cloudwatch", 2, "Produce", "mean")}


def test_no_two_entries_fit_the_same_series():
    fits = [(row["known_name"], row["bean"], row["quantile"]) for row in known_names()]

    assert len(set(fits)) == len(fits)
    # An entry without a quantile beside one with would fit twice.
    free = {row["known_name"] for row in known_names() if row["quantile"] is None}
    assert not free & {row["known_name"] for row in known_names() if row["quantile"] is not None}


def test_every_dialect_says_where_it_is_from():
    assert {one["seen"] for one in metric_names()["dialects"]} == {"run", "docs"}
    assert all(one["about"] for one in metric_names()["dialects"])
    assert {row["known_dialect"] for row in known_names()} - {None} <= {
        one["name"] for one in metric_names()["dialects"]
    }


REAL = Path(__file__).parents[3] / "data" / "metrics"
"""Lines of one real broker (Kafka 4.3.1, jmx_exporter 1.0.1), scraped under each dialect's own rules."""

DROPPED = {
    "exporter": set(),
    "lowered": set(),
    "confluent": {"mean", "byte_rate"},
    "kafka_2_0_0": {"mean", "byte_rate"},
    "kafka_kraft_3_0_0": {"mean"},
    "strimzi": {"mean", "byte_rate"},
}
DIALECTS = {"lowered": "exporter", "kafka_2_0_0": "kafka_example", "kafka_kraft_3_0_0": "kafka_example"}


def test_real_pages_of_one_broker_say_the_same_under_all_rules():
    rows, shown = [], {}
    for nth, rules in enumerate(DROPPED, start=1):
        for line in (REAL / f"{rules}.txt").read_text().splitlines():
            name, value = line.rsplit(" ", 1)
            row = series_row(name, f"broker-{nth}")
            rows.append(row)
            shown[row[1]] = (rules, float(value))
    found = {rules: {} for rules in DROPPED}
    for row in told(rows):
        rules, value = shown[row["series_id"]]
        found[rules][tuple(row[name] for name in MEANING)] = value
        assert row["dialect"] == DIALECTS.get(rules, rules)

    whole = found["exporter"]
    assert len(whole) == 19
    for rules, dropped in DROPPED.items():
        kept = {
            key: value
            for key, value in whole.items()
            if key[1] not in dropped and not ("byte_rate" in dropped and key[0] == "replication_byte_rate")
        }
        # A rate is another one at each scrape; all else stood still.
        assert set(found[rules]) == set(kept), rules
        moved = [key for key in kept if found[rules][key] != kept[key] and key[0] != "replication_byte_rate"]
        assert moved == [], rules
