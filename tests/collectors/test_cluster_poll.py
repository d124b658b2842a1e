"""Polls of a cluster's throttle settings: what is asked, what is told, and that a failure ends nothing."""

import json
import threading
from queue import Queue
from types import SimpleNamespace
from typing import ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException

from collectors import cluster_poll
from collectors.cluster_poll import LISTS, RATES, ClusterPoller, PollError, poll
from conf.kafka_security import PLAINTEXT
from conf.names import Kind


class AdminResult:
    """The result of one call."""

    def __init__(self, entries):
        """Keep the result."""
        self.entries = entries

    def result(self, timeout):
        """Return it."""
        assert timeout
        return self.entries


class Admin:
    """A cluster of two brokers and two topics; `made` are the settings that somebody made."""

    made: ClassVar[dict] = {}
    racks: ClassVar[dict] = {1: "east-1a", 2: None}
    calls: ClassVar[list] = []

    def __init__(self, options, **_):
        """Take whatever a client is told."""
        self.options = options

    def list_topics(self, timeout):
        """Give the brokers and topics, unless the cluster is away."""
        if self.options["bootstrap.servers"] == "away:1":
            message = f"no answer in {timeout}"
            raise KafkaException(message)
        topics, brokers = {"t": None, "u": None}, {1: None, 2: None}
        return SimpleNamespace(brokers=brokers, topics=topics, cluster_id="A3UMX2uJTSWHqIFWNOVTbQ")

    def poll(self, timeout):
        """Call back with the reason."""
        assert timeout == 0
        if self.options["bootstrap.servers"] == "away:1":
            self.options["error_cb"](KafkaError(KafkaError._AUTHENTICATION, "wrong password"))

    def describe_cluster(self, request_timeout):
        """Return every node with its rack."""
        assert request_timeout
        nodes = [SimpleNamespace(id=broker, rack=rack) for broker, rack in self.racks.items()]
        return AdminResult(SimpleNamespace(nodes=nodes))

    def describe_configs(self, resources, request_timeout):
        """Give every setting there is, defaults among them."""
        assert request_timeout
        self.calls.append([resource.name for resource in resources])
        return {resource: AdminResult(self._entries(resource.name)) for resource in resources}

    def _entries(self, name):
        made = self.made.get(name, {})
        entries = {key: SimpleNamespace(value=value, is_default=False) for key, value in made.items()}
        other = SimpleNamespace(value="9223372036854775807", is_default=True)
        return {RATES[0]: other, RATES[1]: other, "retention.ms": other} | entries


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(cluster_poll, "AdminClient", Admin)
    monkeypatch.setattr(Admin, "made", {})
    monkeypatch.setattr(Admin, "calls", [])
    return Admin


def test_one_broker_is_asked_a_call_and_no_topics_while_no_rate_is_set(cluster):
    told = json.loads(poll("here:1", {}, may_be_listed=False))

    assert (told["brokers"], told["topics"]) == ({"1": {}, "2": {}}, None)
    assert cluster.calls == [["1"], ["2"]]
    assert told["polled_at_ns"] > 0


@pytest.mark.usefixtures("cluster")
def test_a_poll_has_the_rack_of_each_broker():
    assert json.loads(poll("here:1", {}, may_be_listed=False))["racks"] == {"1": "east-1a", "2": None}


def test_lists_are_told_once_a_rate_is_set(cluster):
    cluster.made = {"2": {RATES[0]: "500"}, "u": {LISTS[1]: "0:2"}, "t": {LISTS[0]: ""}}
    told = json.loads(poll("here:1", {}, may_be_listed=False))

    assert told["brokers"] == {"1": {}, "2": {RATES[0]: "500"}}
    assert told["topics"] == {"u": {LISTS[1]: "0:2"}}
    assert cluster.calls[-1] == ["t", "u"]


@pytest.mark.usefixtures("cluster")
def test_cluster_that_is_away_is_a_failed_poll():
    """The message has what the client reported, which its exception does not have."""
    with pytest.raises(PollError, match="away:1: wrong password"):
        poll("away:1", {}, may_be_listed=False)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("servers", "is_told"), [("here:1", True), ("away:1", False)])
def test_poller_hands_over_each_try(servers, is_told):
    results, stop = Queue(), threading.Event()
    ClusterPoller(servers, {}, PLAINTEXT, results, stop, interval_s=60, once=True).run()

    (polled,) = results.queue
    assert (polled.line is not None) is is_told
    if polled.line:
        document = json.loads(polled.line.value)
        assert polled.line.kind == Kind.CLUSTER.value
        assert polled.line.cluster_id == document["cluster_id"] == "A3UMX2uJTSWHqIFWNOVTbQ"
        assert polled.line.source == "kafka://cluster"
        assert polled.line.position == f"cluster/poll/{document['polled_at_ns']}"


def test_lists_are_asked_for_until_none_is_left(cluster):
    results, stop = Queue(), threading.Event()
    poller = ClusterPoller("here:1", {}, PLAINTEXT, results, stop, interval_s=0.0, once=False)
    settings = [
        {"2": {RATES[0]: "500"}, "t": {LISTS[0]: "0:2"}},
        {"t": {LISTS[0]: "0:2"}},
        {},
        {},
    ]
    told = []
    for cluster.made in settings:
        told.append(json.loads(poller._try_poll().line.value)["topics"])

    assert told == [{"t": {LISTS[0]: "0:2"}}, {"t": {LISTS[0]: "0:2"}}, {}, None]
