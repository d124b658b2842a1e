"""Client ids and principals, hashed with a key."""

import pytest

from tests.transforms.parse.records import COMPLETED, line, record
from transforms.gold.metrics.names import known_names
from transforms.parse.hashed_names import hash_connection, hash_labels, hash_names
from transforms.parse.requests import parse

KEY = "a secret key"


def rows(value):
    return parse(record(value)).rows["requests"]


def test_names_are_hashed_and_other_columns_stay():
    parsed = rows(line(**{"requestHeader.clientId": "payroll", "principal": "User:ann"}))

    assert hash_names(parsed, KEY) == [
        parsed[0]._replace(
            client_id="client-2f4fe6b39db6a22c",
            principal="User:1be099a5180d7fba",
            connection=hash_connection(parsed[0].connection, KEY),
        )
    ]


def test_follower_fetchers_and_missing_names_stay():
    parsed = rows(COMPLETED) + rows(line(**{"requestHeader.clientId": None}, principal=None))

    assert [row.client_id for row in hash_names(parsed, KEY)] == ["broker-2-fetcher-0", None]
    assert hash_names(parsed, KEY)[1].principal is None


def test_a_principal_without_a_type_is_hashed_whole():
    assert "ann" not in hash_names(rows(line(principal="ann")), KEY)[0].principal


def test_an_empty_key_and_a_table_without_names_change_nothing():
    parsed = rows(line(principal="User:ann"))
    topics = parse(record(line())).rows.get("topics", [])

    assert (hash_names(parsed, ""), hash_names(topics, KEY)) == (parsed, topics)


LABELS_OF_EXPORTERS = {
    "Kafka": "id client-id clientId user member-id client_software_name transactional-id group brokerHost",
    "kafka_exporter": "id address consumergroup instance",
    "KMinion": "address port rack_id group_id coordinator_id member_host",
    "a lag exporter": "cluster_name group member_host consumer_id client_id consumer_instance_id",
    "rules for jmx_exporter": "broker client clientid client_id user remote remote_addr server host ip peer",
    "Prometheus": "instance job pod",
}


@pytest.mark.parametrize("exporter", LABELS_OF_EXPORTERS)
def test_every_label_that_may_name_a_client_or_an_address_is_hashed(exporter):
    labels = [(name, "canary-203.0.113.7") for name in LABELS_OF_EXPORTERS[exporter].split()]

    hashed = hash_labels(labels, KEY)

    assert [name for name, value in hashed if "canary" in value or "203.0.113" in value] == []
    assert [name for name, _ in hashed] == [name for name, _ in labels]


def test_labels_that_gold_reads_and_tags_of_mbeans_stay():
    of_brokers = {known["broker_label"] for known in known_names()} - {None}
    read = ["topic", "partition", "is_future", "is-future", "name", "request", "quantile", *of_brokers]
    tags = ["type", "version", "error", "delayedOperation", "fetcherType", "networkProcessor", "listener"]
    labels = [(name, "value") for name in (*read, *tags, "broker-id", "node-id", "le", "area", "pool", "gc")]

    assert hash_labels(labels, KEY) == labels
