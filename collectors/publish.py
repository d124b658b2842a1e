"""Publish raw lines to the telemetry topics. No line is dropped; a line counts as sent after its ack."""

import gzip
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from collectors.cluster_id import cluster_id_in
from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.log_files.positions import InFlight
from collectors.log_files.tail import LineBatch
from conf.kafka_refusals import Refusals
from conf.names import Header, Kind
from conf.settings import Collector, Telemetry

log = logging.getLogger(__name__)

COMPRESS_ABOVE_BYTES = 8 * 1024 * 1024
"""Only larger scrapes are gzipped. The producer compresses batches anyway, and Spark reads plain pages."""
COMPRESSION = "lz4"
"""
Its ratio is at most 255. Zstandard halves the topic, but makes 150 bytes of 4 MiB of one letter: a reader
decompresses all that it fetches at once, so a hostile client could fill its memory (decision 021).
"""
MAX_RECORD_BYTES = 16 * 1024 * 1024  # max.message.bytes of the telemetry topics
CONNECT_TIMEOUT_S = 10.0
LOOK_S = 1.0  # how often check() looks at the stop event while no broker answers
QUEUE_FULL_WAIT_S = 0.1
FLUSH_TURN_S = 0.25

_CLOCK = (
    "this machine's clock is ahead of the broker's by more than the topic's message.timestamp.after.max.ms "
    "(1 h by default), or behind by more than message.timestamp.before.max.ms: correct it and start again"
)
_REMEDIES = {
    KafkaError._MSG_TIMED_OUT: "check that the telemetry broker is up and reachable",  # noqa: SLF001 (librdkafka's names)
    KafkaError.MSG_SIZE_TOO_LARGE: f"set max.message.bytes={MAX_RECORD_BYTES} on the topic",
    KafkaError._UNKNOWN_TOPIC: "create the topic",  # noqa: SLF001
    KafkaError.UNKNOWN_TOPIC_OR_PART: "create the topic",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "allow this client to write to the topic",
    # librdkafka reports the broker's code only if one record of a batch is refused. If several are, each has
    # INVALID_RECORD. The accepted ones have the third. No other cause applies to records of this module.
    KafkaError.INVALID_TIMESTAMP: _CLOCK,
    KafkaError.INVALID_RECORD: _CLOCK,
    KafkaError._INVALID_DIFFERENT_RECORD: _CLOCK,  # noqa: SLF001
}

_POSITION = Header.POSITION.value  # cached, because it is used for every line

RecordHeader = tuple[str, str | bytes | None]
Delivered = Callable[[KafkaError | None, object], None]


class PublishError(CollectorError):
    """The telemetry cluster does not accept records."""


class StoppedError(Exception):
    """The stop event was set while the collector waited for the cluster or for room in the producer queue."""


def producer_options(telemetry: Telemetry, *, once: bool = False) -> dict[str, str | int | bool]:
    """
    Return the producer config: the settings' options, overridden by what delivery depends on.

    It contains the secrets of the login: not for logs.

    A continuous collector never gives up a record: while brokers are down its queue fills up, and further
    lines stay in the log. A run with `once` gives up after five minutes.

    Raises:
        WrongUseError: a file of the login cannot be read.

    """
    return {
        "linger.ms": 50,
        "message.timeout.ms": 300_000 if once else 0,  # 0: no timeout
        "compression.type": COMPRESSION,
        "queue.buffering.max.kbytes": 64 * 1024,
        "queue.buffering.max.messages": 50_000,
        **telemetry.client_options,
        **telemetry.security.librdkafka(),
        "bootstrap.servers": telemetry.bootstrap_servers,
        "client.id": f"{telemetry.own_client_prefix}collector-{os.getpid()}",
        "partitioner": "murmur2_random",  # as the Java client: a node keeps its partition across clients
        "enable.idempotence": True,
        "acks": "all",
        "message.max.bytes": MAX_RECORD_BYTES,
    }


def encoded(line: RawLine) -> tuple[bytes, bool]:
    """
    Return the record value, and whether it is gzipped: only scrapes above 8 MiB are.

    Gzip is deterministic here, so a scrape that is sent again has the same bytes. Log lines are never
    gzipped, because Spark reads them as they are; a line too long for a record comes in chunks.
    """
    if line.kind != Kind.METRICS.value or len(line.value) <= COMPRESS_ABOVE_BYTES:
        return line.value, False
    return gzip.compress(line.value, compresslevel=1, mtime=0), True


class Publisher:
    """An idempotent producer that waits while its queue is full and stops at the first failed delivery."""

    def __init__(
        self, telemetry: Telemetry, collector: Collector, stop: threading.Event, *, once: bool = False
    ) -> None:
        """
        Create the producer; nothing is sent yet. `on_wait` is called while the queue is full.

        Raises:
            PublishError: the producer rejects its options.
            WrongUseError: the `meta.properties` of the settings does not name the cluster's id.

        """
        self.on_wait: Callable[[], None] = lambda: None
        self._prefix = telemetry.topic_prefix
        self._bootstrap = telemetry.bootstrap_servers
        self._stop = stop
        self._failure: str | None = None
        self._unplaced: deque[_Record] = deque()  # records to send again
        self._refusals = Refusals()
        self._cluster, self._time_zone = collector.cluster, collector.time_zone
        self._cluster_id = cluster_id_in(collector.meta_properties) if collector.meta_properties else None
        if collector.files and not self._cluster_id:
            log.warning(
                "no Kafka cluster id is sent, so another cluster named %r would not be noticed: set "
                "[collector] meta_properties to the file in a folder of the broker's log.dirs",
                collector.cluster,
            )
        self._headers: dict[tuple[str, str, str, str | None], list[RecordHeader]] = {}
        options = {**producer_options(telemetry, once=once), "error_cb": self._on_error}
        try:
            self._producer = Producer(options, logger=log)
        except (KafkaException, ValueError) as error:
            message = f"the producer rejects its options ({error}); correct [telemetry.client_options]"
            raise PublishError(message) from error

    def check(self) -> None:
        """
        Check that the telemetry cluster answers.

        Raises:
            PublishError: no broker answers within 10 s, or a broker refuses the login or the certificate.
            StoppedError: the stop event was set before a broker answered.

        """
        give_up_at = time.monotonic() + CONNECT_TIMEOUT_S
        while True:
            try:
                self._producer.list_topics(timeout=min(LOOK_S, CONNECT_TIMEOUT_S))
            except KafkaException as error:
                if self._stop.is_set():
                    raise StoppedError from None
                self._producer.poll(0)  # calls `_refusals`
                if self._refusals.first:
                    message = (
                        f"no telemetry broker at {self._bootstrap} accepts the connection: "
                        f"{self._refusals.first}; correct [telemetry.security]"
                    )
                    raise PublishError(message) from error
                if time.monotonic() < give_up_at:
                    continue
                message = (
                    f"no telemetry broker answers at {self._bootstrap} ({error.args[0].str()}); "
                    "start it, or correct bootstrap_servers, security and client_options in [telemetry]"
                )
                raise PublishError(message) from error
            else:
                return

    def send_batch(self, batch: LineBatch, flight: InFlight) -> None:
        """
        Send a batch; `flight` receives each ack.

        Raises:
            PublishError: a delivery failed permanently.
            StoppedError: the stop event was set while the queue was full; the next run reads the rest again.

        """
        flight.identify(batch.mark, batch.head)
        for line in batch.lines:
            receipt = flight.expect(batch.mark, line.end_offset)
            try:
                self.send(line, receipt)
            except BaseException:
                flight.withdraw(receipt)
                raise
        if batch.is_finished:
            flight.finish(batch.mark, batch.end_offset)

    def send(self, line: RawLine, delivered: Delivered) -> None:
        """
        Send one record; wait while the producer queue is full.

        Raises:
            PublishError: a delivery failed permanently, or the encoded record is larger than 16 MiB.
            StoppedError: the stop event was set while the queue was full.

        """
        value, is_compressed = encoded(line)
        headers = [*self._headers_of(line), (_POSITION, line.position.encode()), *line.headers]
        if is_compressed:
            headers.append((Header.CONTENT_ENCODING.value, b"gzip"))
        if line.chunk:
            headers.append((Header.CHUNK.value, line.chunk.encode()))
        topic, key = self._prefix + line.kind, line.node.encode()
        record = _Record(self._producer, self._unplaced, (topic, value, key, headers), delivered)
        while True:
            try:
                record.produce()
            except BufferError:
                self.serve(QUEUE_FULL_WAIT_S)
                self.on_wait()
                if self._stop.is_set():
                    raise StoppedError from None
            else:
                return

    def serve(self, timeout_s: float = 0.0) -> None:
        """
        Run pending delivery callbacks; wait at most `timeout_s` for one.

        Raises:
            PublishError: the producer or a delivery failed permanently.

        """
        self._producer.poll(timeout_s)
        self._send_unplaced()
        if self._failure:
            raise PublishError(self._failure)

    def failed(self, error: KafkaError, topic: str) -> None:
        """Store the first permanent delivery failure; `serve` raises it."""
        self._failure = self._failure or _failure_message(error, topic)

    def topic(self, kind: str) -> str:
        """Return the topic of a kind."""
        return self._prefix + kind

    def flush(self, timeout_s: float, quiet_s: float) -> int:
        """
        Wait for all acks; return the number of records that are not acknowledged.

        The wait ends early after `quiet_s` without an ack, so unavailable brokers do not delay the exit.
        """
        give_up_at, acked_at = time.monotonic() + timeout_s, time.monotonic()
        left = self._flush(0.0)
        while left and time.monotonic() < min(give_up_at, acked_at + quiet_s):
            before, left = left, self._flush(FLUSH_TURN_S)
            acked_at = time.monotonic() if left < before else acked_at
        return left

    def abandon(self) -> None:
        """Drop the unacknowledged records; the next run reads and sends them again."""
        self._producer.purge(in_flight=True)
        self._producer.flush(1.0)

    def _flush(self, timeout_s: float) -> int:
        left: int = self._producer.flush(timeout_s)
        return left + self._send_unplaced()

    def _send_unplaced(self) -> int:
        """Send the records without a known place again; return how many there were."""
        found = len(self._unplaced)
        with suppress(BufferError):  # the next call sends the others
            while self._unplaced:
                self._unplaced[0].produce()
                self._unplaced.popleft()
        return found

    def _headers_of(self, line: RawLine) -> list[RecordHeader]:
        key = (line.node, line.kind, line.source, line.cluster_id)
        headers = self._headers.get(key)
        if headers is None:
            fields = {
                Header.CLUSTER: self._cluster,
                Header.CLUSTER_ID: line.cluster_id or self._cluster_id,
                Header.TIME_ZONE: self._time_zone,
                Header.NODE: line.node,
                Header.KIND: line.kind,
                Header.SOURCE: line.source,
            }
            named = {name.value: text for name, text in fields.items() if text is not None}
            headers = [(name, text.encode(errors="replace")) for name, text in named.items()]
            self._headers[key] = headers
        return headers

    def _on_error(self, error: KafkaError) -> None:
        self._refusals(error)
        if error.fatal():
            self._failure = (
                self._failure or f"the producer failed permanently: {error.str()}; start the collector again"
            )
        else:
            log.warning("telemetry cluster: %s", error.str())


class _Record:
    """
    One record, and its delivery report.

    While leaders change, librdkafka can take a record for a duplicate of one that is in no log. It then
    reports neither an error nor an offset, so the record is sent again. A line that is there twice is counted
    once.
    """

    __slots__ = ("_delivered", "_fields", "_producer", "_unplaced")

    def __init__(
        self,
        producer: Producer,
        unplaced: "deque[_Record]",
        fields: tuple[str, bytes, bytes, list[RecordHeader]],
        delivered: Delivered,
    ) -> None:
        """Keep topic, value, key and headers; a report without an offset adds the record to `unplaced`."""
        self._producer, self._unplaced, self._fields, self._delivered = producer, unplaced, fields, delivered

    def produce(self) -> None:
        """
        Pass the record to the producer.

        Raises:
            BufferError: its queue is full.
            PublishError: it does not take the record.

        """
        topic, value, key, headers = self._fields
        try:
            self._producer.produce(topic, value, key=key, headers=headers, on_delivery=self)
        except KafkaException as error:
            raise PublishError(_failure_message(error.args[0], topic)) from error

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        """Handle the delivery report."""
        if error is None and message.offset() is None:
            self._unplaced.append(self)
        else:
            self._delivered(error, message)


def _failure_message(error: KafkaError, topic: str) -> str:
    remedy = _REMEDIES.get(error.code(), "see the telemetry broker's log")
    return f"a record was not delivered to {topic}: {error.str()}; {remedy}"
