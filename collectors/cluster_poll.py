"""
Poll the throttles and racks of the observed cluster at a fixed interval; each poll is one JSON document.

This serves clusters whose brokers do not log requests: no other input shows which throttles are in force.
Kafka requires one DescribeConfigs call per broker, so each broker's rates take one call. A response for
topics contains every config of every topic, so the poller reads the topics' replica lists only in the first
poll, while a rate is set, and until no list is left.
"""

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from queue import Full, Queue
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)

from collectors.log_files.lines import RawLine
from collectors.scrape import Scrape
from conf.kafka_refusals import Refusals, answer_of
from conf.kafka_security import PLAINTEXT, KafkaSecurity
from conf.names import Kind
from conf.settings import ScrapedEndpoint

log = logging.getLogger(__name__)

NODE = "cluster"
SOURCE = f"kafka://{NODE}"
"""Of each poll: the bootstrap servers have addresses."""
TIMEOUT_S = 15.0
TOPICS_PER_CALL = 200

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")

ConfigValues = dict[str, dict[str, str]]
"""Broker id or topic name to its throttle configs that are not defaults."""


class PollError(Exception):
    """One poll failed."""


def poll(
    bootstrap_servers: str,
    options: Mapping[str, str],
    security: KafkaSecurity = PLAINTEXT,
    *,
    may_be_listed: bool,
) -> bytes:
    """
    Return one poll as a JSON document: `polled_at_ns`, `cluster_id`, `brokers`, `topics` and `racks`.

    `topics` is null unless a rate is set or `may_be_listed`: topics may still have throttled replicas.

    Raises:
        PollError: the cluster does not answer in time or refuses the request.

    """
    refusals = Refusals()
    client = _client(bootstrap_servers, options, security, refusals)
    try:
        cluster = client.list_topics(timeout=TIMEOUT_S)
        polled_at_ns = time.time_ns()
        nodes = answer_of(client.describe_cluster(request_timeout=TIMEOUT_S), TIMEOUT_S).nodes
        brokers = _described(client, ResourceType.BROKER, map(str, cluster.brokers), RATES, per_call=1)
        topics = None
        if may_be_listed or any(brokers.values()):
            listed = _described(client, ResourceType.TOPIC, cluster.topics, LISTS, per_call=TOPICS_PER_CALL)
            topics = {name: settings for name, settings in listed.items() if settings}
    except (KafkaException, ValueError) as error:
        client.poll(0)  # calls `refusals`
        message = f"{bootstrap_servers}: {refusals.first or error}"
        raise PollError(message) from error
    racks = {str(node.id): node.rack for node in nodes}
    document = {
        "polled_at_ns": polled_at_ns,
        "cluster_id": cluster.cluster_id,
        "brokers": brokers,
        "topics": topics,
        "racks": racks,
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def _client(
    servers: str, options: Mapping[str, str], security: KafkaSecurity, refusals: Refusals
) -> AdminClient:
    own: dict[str, Any] = {"bootstrap.servers": servers, "client.id": "plumbline-cluster-poll"}
    own["error_cb"] = refusals
    try:
        return AdminClient({**options, **security.librdkafka(), **own}, logger=log)
    except (KafkaException, ValueError) as error:
        message = f"{servers}: {error}"
        raise PollError(message) from error


def _described(
    client: AdminClient, kind: ResourceType, names: Iterable[str], wanted: tuple[str, ...], *, per_call: int
) -> ConfigValues:
    every = [ConfigResource(kind, name) for name in sorted(names)]
    described: ConfigValues = {}
    for first in range(0, len(every), per_call):
        answers = client.describe_configs(every[first : first + per_call], request_timeout=TIMEOUT_S)
        for resource, answer in answers.items():
            entries = answer_of(answer, TIMEOUT_S)
            # Defaults are left out: they mean no throttle (a rate of Long.MAX_VALUE, an empty list).
            found = {name: entries[name] for name in wanted if name in entries}
            described[resource.name] = {
                name: entry.value for name, entry in found.items() if entry.value and not entry.is_default
            }
    return described


class ClusterPoller(threading.Thread):
    """A thread that polls at a fixed interval; a failed poll does not stop the collector."""

    def __init__(  # noqa: PLR0913 (the cluster, the queue, the interval)
        self,
        bootstrap_servers: str,
        options: Mapping[str, str],
        security: KafkaSecurity,
        results: "Queue[Scrape]",
        stop: threading.Event,
        *,
        interval_s: float,
        once: bool,
    ) -> None:
        """Prepare the thread; with `once` it ends after one poll. `results` is the queue of the scrapes."""
        super().__init__(name="cluster-poll", daemon=True)
        self._servers, self._options, self._security = bootstrap_servers, options, security
        self._endpoint = ScrapedEndpoint(url=f"kafka://{bootstrap_servers}", node=NODE)
        self._results, self._stop_event = results, stop
        self._interval_s, self._once = interval_s, once
        self._may_be_listed = True  # unknown before the first poll

    def run(self) -> None:
        """Poll until the stop event is set."""
        while not self._stop_event.is_set():
            self._enqueue(self._try_poll())
            if self._once:
                return
            self._stop_event.wait(self._interval_s)

    def _try_poll(self) -> Scrape:
        began, line = time.monotonic(), None
        try:
            value = poll(self._servers, self._options, self._security, may_be_listed=self._may_be_listed)
            document = json.loads(value)
            self._may_be_listed = bool(document["topics"])
            position = f"{NODE}/poll/{document['polled_at_ns']}"
            cluster_id = document["cluster_id"]
            line = RawLine(value, NODE, SOURCE, position, Kind.CLUSTER.value, cluster_id=cluster_id)
        except PollError as error:
            log.warning("poll of the cluster failed: %s", error)
        return Scrape(self._endpoint, time.monotonic() - began, line)

    def _enqueue(self, polled: Scrape) -> None:
        while not self._stop_event.is_set():
            try:
                self._results.put(polled, timeout=0.5)
            except Full:
                continue
            return
