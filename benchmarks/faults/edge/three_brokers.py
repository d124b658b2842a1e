"""A telemetry cluster of three real brokers, any of which can be killed, stopped and started again."""

import atexit
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from confluent_kafka import KafkaException

from lab import config, jvm, processes, topics
from lab.layout import lay_out
from lab.ports import free_ports

BROKERS = 3
READY_WITHIN_S = 120.0
SESSION_TIMEOUT_S = 6.0
"""After so long without a heartbeat the controller takes a broker's leaderships away (Kafka: 9 s)."""

_MORE = f"""
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
message.max.bytes={config.MAX_MESSAGE_BYTES}
replica.fetch.max.bytes={config.MAX_MESSAGE_BYTES}
broker.session.timeout.ms={int(SESSION_TIMEOUT_S * 1000)}
broker.heartbeat.interval.ms=1000
"""


class ThreeBrokers:
    """Brokers and controllers 1, 2 and 3 on loopback, without the lab's proxies."""

    def __init__(self, folder: Path) -> None:
        """Lay out and start the cluster; about 20 s on two busy cores."""
        self._lab = lay_out(folder, BROKERS, free_ports())
        self._lab.links = []
        for broker in self._lab.brokers:
            home = folder / f"broker-{broker.id}"
            home.mkdir()
            properties = config.server_properties(self._lab, broker) + _MORE
            (home / "server.properties").write_text(properties)
            logging = config.log4j2(Path(broker.logs), request_log=False, client_log=False)
            (home / "log4j2.xml").write_text(logging)
        jvm.format_storage(self._lab)
        self._running: dict[int, dict[str, float]] = {}
        atexit.register(self.stop)
        for broker_id in self.ids:
            self.start(broker_id)
        self._wait("all brokers registered", lambda: topics.broker_count(self.bootstrap_servers) == BROKERS)

    @property
    def ids(self) -> list[int]:
        """The brokers' ids."""
        return self._lab.broker_ids

    @property
    def bootstrap_servers(self) -> str:
        """Where clients begin."""
        return self._lab.bootstrap_servers

    def start(self, broker_id: int) -> None:
        """Start a broker, for the first time or after its end."""
        home = self._lab.state / f"broker-{broker_id}"
        logs = Path(self._lab.brokers[broker_id - 1].logs)
        command = jvm._broker(home, logs, ())
        self._running[broker_id] = processes.spawn(command, output=logs / "output.txt")

    def kill(self, broker_id: int) -> None:
        """End a broker as `kill -9` does."""
        found = processes.find(self._running.pop(broker_id))
        assert found, f"broker {broker_id} had ended by itself"
        found.kill()
        found.wait(10)

    @contextmanager
    def frozen(self, *broker_ids: int) -> Iterator[None]:
        """Stop brokers as SIGSTOP does, and let them go on."""
        pids = [int(self._running[broker_id]["pid"]) for broker_id in broker_ids]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def leader(self, topic: str, partition: int = 0) -> int:
        """Return the leader of a partition."""
        metadata = topics.admin(self.bootstrap_servers).list_topics(topic, timeout=15).topics[topic]
        return metadata.partitions[partition].leader

    def controller(self) -> int:
        """Return the active controller from Kafka's own tool; metadata for clients does not name it."""
        status = jvm.run_tool(
            jvm.tool(
                "org.apache.kafka.tools.MetadataQuorumCommand",
                *("--bootstrap-server", self.bootstrap_servers, "describe", "--status"),
            )
        )
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("LeaderId:"))

    def wait_until_healthy(self) -> None:
        """Start what was killed; wait until every replica of every topic is in sync."""
        for broker_id in self.ids:
            if broker_id not in self._running or not processes.find(self._running[broker_id]):
                self.start(broker_id)
        self._wait("every replica in sync", self._is_in_sync)

    def _is_in_sync(self) -> bool:
        try:
            metadata = topics.admin(self.bootstrap_servers).list_topics(timeout=2)
        except KafkaException:
            return False
        partitions = [p for topic in metadata.topics.values() for p in topic.partitions.values()]
        return len(metadata.brokers) == BROKERS and all(len(p.isrs) == len(p.replicas) for p in partitions)

    def _wait(self, what: str, is_done: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + READY_WITHIN_S
        while not is_done():
            words = [processes.tail(Path(broker.logs) / "server.log") for broker in self._lab.brokers]
            assert time.monotonic() < give_up_at, f"no {what} within {READY_WITHIN_S} s: {words}"
            time.sleep(0.25)

    def stop(self) -> None:
        """End all brokers by their pids and remove what they wrote."""
        processes.end(self._running.values(), patience_s=5)
        self._running.clear()
        shutil.rmtree(self._lab.state, ignore_errors=True)


@cache
def three_brokers() -> ThreeBrokers:
    """Return the cluster of this process; it starts with the first call and ends with the process."""
    return ThreeBrokers(Path(tempfile.mkdtemp(prefix="plumbline-brokers-")))
