"""
Reads the throttle settings of the observed cluster at a fixed pace: one JSON document a poll.

For clusters whose brokers log no requests: nothing else tells which throttle is in force. A rate is asked of
each broker by itself, as Kafka wants it; lists of topics at first, while a rate is set somewhere, and then
until none is left, since an answer has every setting of every topic.
"""

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from queue import Full, Queue

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)

from collectors.log_files.lines import RawLine
from collectors.scrape import Scrape
from conf.names import Kind
from conf.settings import ScrapedEndpoint

log = logging.getLogger(__name__)

NODE = "cluster"
TIMEOUT_S = 15.0
TOPICS_A_CALL = 200

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")

Settings = dict[str, dict[str, str]]
"""Names of brokers or topics, and of each the settings that somebody made."""


class PollError(Exception):
    """One poll failed."""


def poll(bootstrap_servers: str, options: Mapping[str, str], *, may_be_listed: bool) -> bytes:
    """
    Read the settings; give the document: `polled_at_ns`, `brokers`, and `topics`, null when not asked for.

    Topics are asked for where a rate is set, or replicas `may_be_listed` still.

    Raises:
        PollError: the cluster does not answer in time, or refuses.

    """
    told: dict[str, str | int | float | bool] = {
        **options,
        "bootstrap.servers": bootstrap_servers,
        "client.id": "plumbline-cluster-poll",
    }
    try:
        client = AdminClient(told, logger=log)
        cluster = client.list_topics(timeout=TIMEOUT_S)
        polled_at_ns = time.time_ns()
        brokers = _described(client, ResourceType.BROKER, map(str, cluster.brokers), RATES, calls_of=1)
        topics = None
        if may_be_listed or any(brokers.values()):
            listed = _described(client, ResourceType.TOPIC, cluster.topics, LISTS, calls_of=TOPICS_A_CALL)
            topics = {name: settings for name, settings in listed.items() if settings}
    except (KafkaException, TimeoutError, ValueError) as error:
        message = f"{bootstrap_servers}: {error}"
        raise PollError(message) from error
    document = {"polled_at_ns": polled_at_ns, "brokers": brokers, "topics": topics}
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()


def _described(
    client: AdminClient, kind: ResourceType, names: Iterable[str], wanted: tuple[str, ...], *, calls_of: int
) -> Settings:
    every = [ConfigResource(kind, name) for name in sorted(names)]
    told: Settings = {}
    for first in range(0, len(every), calls_of):
        answers = client.describe_configs(every[first : first + calls_of], request_timeout=TIMEOUT_S)
        for resource, answer in answers.items():
            entries = answer.result(timeout=TIMEOUT_S)
            # A default is nobody's setting: of a rate it is the largest number there is, of a list nothing.
            made = {name: entries[name] for name in wanted if name in entries}
            told[resource.name] = {
                name: entry.value for name, entry in made.items() if entry.value and not entry.is_default
            }
    return told


class ClusterPoller(threading.Thread):
    """Polls into the queue of the scrapes, and like these it fails without ending the collector."""

    def __init__(  # noqa: PLR0913 (what to ask, where to put it, how often)
        self,
        bootstrap_servers: str,
        options: Mapping[str, str],
        results: "Queue[Scrape]",
        stop: threading.Event,
        *,
        interval_s: float,
        once: bool,
    ) -> None:
        """Prepare the thread; `once` ends it after one try."""
        super().__init__(name="cluster-poll", daemon=True)
        self._servers, self._options = bootstrap_servers, options
        self._endpoint = ScrapedEndpoint(url=f"kafka://{bootstrap_servers}", node=NODE)
        self._results, self._stop_event = results, stop
        self._interval_s, self._once = interval_s, once
        self._may_be_listed = True  # nobody knows at first

    def run(self) -> None:
        """Poll until told to stop."""
        while not self._stop_event.is_set():
            self._hand_over(self._tried())
            if self._once:
                return
            self._stop_event.wait(self._interval_s)

    def _tried(self) -> Scrape:
        began, line = time.monotonic(), None
        try:
            value = poll(self._servers, self._options, may_be_listed=self._may_be_listed)
            document = json.loads(value)
            self._may_be_listed = bool(document["topics"])
            position = f"{NODE}/poll/{document['polled_at_ns']}"
            line = RawLine(value, NODE, self._endpoint.url, position, Kind.CLUSTER.value)
        except PollError as error:
            log.warning("poll of the cluster failed: %s", error)
        return Scrape(self._endpoint, time.monotonic() - began, line)

    def _hand_over(self, polled: Scrape) -> None:
        while not self._stop_event.is_set():
            try:
                self._results.put(polled, timeout=0.5)
            except Full:
                continue
            return
