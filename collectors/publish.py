"""Raw lines into the telemetry topics: nothing dropped, nothing counted as sent before its ack."""

import gzip
import logging
import os
import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Producer

from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.log_files.positions import InFlight
from collectors.log_files.tail import Batch
from conf.names import Header, Kind
from conf.settings import Collector, Telemetry

log = logging.getLogger(__name__)

COMPRESS_ABOVE_BYTES = 8 * 1024 * 1024
"""A smaller scrape goes plain: the batch is compressed anyway, and Spark reads it without Python."""
MAX_RECORD_BYTES = 16 * 1024 * 1024  # what the telemetry topics take
CONNECT_TIMEOUT_S = 10.0
LOOK_S = 1.0  # so long a signal may have to wait while nobody answers
QUEUE_FULL_WAIT_S = 0.1
FLUSH_TURN_S = 0.25

_WAYS_OUT = {
    KafkaError._MSG_TIMED_OUT: "is the telemetry broker up and reachable?",  # noqa: SLF001 (librdkafka's names)
    KafkaError.MSG_SIZE_TOO_LARGE: f"give the topic max.message.bytes={MAX_RECORD_BYTES}",
    KafkaError._UNKNOWN_TOPIC: "create the topic",  # noqa: SLF001
    KafkaError.UNKNOWN_TOPIC_OR_PART: "create the topic",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "allow this client to write to the topic",
}

_POSITION = Header.POSITION.value  # looked up once, not for every line

RecordHeader = tuple[str, str | bytes | None]
Delivered = Callable[[KafkaError | None, object], None]


class PublishError(CollectorError):
    """The telemetry cluster does not take what it is sent."""


class StoppedError(Exception):
    """The collector was told to stop while it waited for room in the producer's queue."""


def producer_options(telemetry: Telemetry, *, once: bool = False) -> dict[str, str | int | bool]:
    """
    Lay the settings' own words (TLS, SASL, timeouts) under what the promise of delivery needs.

    A collector that runs on waits for brokers however long they are away, its queue full and the log its
    memory; a single run gives up after five minutes.
    """
    return {
        "linger.ms": 50,
        "message.timeout.ms": 300_000 if once else 0,  # 0 is for ever
        "compression.type": "zstd",  # fewer bytes than lz4 on request lines, for no more CPU
        "queue.buffering.max.kbytes": 64 * 1024,
        "queue.buffering.max.messages": 50_000,
        **telemetry.client_options,
        "bootstrap.servers": telemetry.bootstrap_servers,
        "client.id": f"{telemetry.own_client_prefix}collector-{os.getpid()}",
        "partitioner": "murmur2_random",  # the Java client's: a node keeps its partition whoever writes
        "enable.idempotence": True,
        "acks": "all",
        "message.max.bytes": MAX_RECORD_BYTES,
    }


def encoded(line: RawLine) -> tuple[bytes, bool]:
    """
    Compress a big scrape, always to the same bytes; say whether it was.

    A line of a log goes plain, for Spark reads it plain: what is too long for a record comes in parts.
    """
    if line.kind != Kind.METRICS.value or len(line.value) <= COMPRESS_ABOVE_BYTES:
        return line.value, False
    return gzip.compress(line.value, compresslevel=1, mtime=0), True


class Publisher:
    """An idempotent producer that waits when its queue is full and stops at the first failed delivery."""

    def __init__(
        self, telemetry: Telemetry, collector: Collector, stop: threading.Event, *, once: bool = False
    ) -> None:
        """Prepare the producer; nothing is sent yet. `on_wait` is called while there is no room."""
        self.on_wait: Callable[[], None] = lambda: None
        self._prefix = telemetry.topic_prefix
        self._bootstrap = telemetry.bootstrap_servers
        self._stop = stop
        self._failure: str | None = None
        self._fixed: list[RecordHeader] = [
            (Header.CLUSTER.value, collector.cluster.encode()),
            (Header.TIME_ZONE.value, collector.time_zone.encode()),
        ]
        self._headers: dict[tuple[str, str, str], list[RecordHeader]] = {}
        options = {**producer_options(telemetry, once=once), "error_cb": self._on_error}
        try:
            self._producer = Producer(options, logger=log)
        except (KafkaException, ValueError) as error:
            message = f"the producer refuses its options ({error}); see [telemetry.client_options]"
            raise PublishError(message) from error

    def check(self) -> None:
        """
        Ask the telemetry cluster for a sign of life.

        Raises:
            PublishError: nobody answers within 10 s.
            StoppedError: told to stop before somebody did.

        """
        give_up_at = time.monotonic() + CONNECT_TIMEOUT_S
        while True:
            try:
                self._producer.list_topics(timeout=min(LOOK_S, CONNECT_TIMEOUT_S))
            except KafkaException as error:
                if self._stop.is_set():
                    raise StoppedError from None
                if time.monotonic() < give_up_at:
                    continue
                message = (
                    f"no telemetry broker answers at {self._bootstrap} ({error.args[0].str()}); "
                    "start it, or correct bootstrap_servers and client_options in [telemetry]"
                )
                raise PublishError(message) from error
            else:
                return

    def send_batch(self, batch: Batch, flight: InFlight) -> None:
        """
        Hand a batch to the producer; `flight` learns of each ack.

        Raises:
            PublishError: a delivery failed for good.
            StoppedError: told to stop before there was room; what was not sent is read again next time.

        """
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
        Hand one record to the producer, waiting for room in its queue.

        Raises:
            PublishError: a delivery failed for good, or the record is beyond 16 MiB when compressed.
            StoppedError: told to stop before there was room.

        """
        value, is_compressed = encoded(line)
        headers = [*self._headers_of(line), (_POSITION, line.position.encode()), *line.headers]
        if is_compressed:
            headers.append((Header.CONTENT_ENCODING.value, b"gzip"))
        if line.chunk:
            headers.append((Header.CHUNK.value, line.chunk.encode()))
        topic = self._prefix + line.kind
        while True:
            try:
                self._producer.produce(
                    topic, value, key=line.node.encode(), headers=headers, on_delivery=delivered
                )
            except BufferError:
                self.serve(QUEUE_FULL_WAIT_S)
                self.on_wait()
                if self._stop.is_set():
                    raise StoppedError from None
            except KafkaException as error:
                raise PublishError(_explained(error.args[0], topic)) from error
            else:
                return

    def serve(self, timeout_s: float = 0.0) -> None:
        """
        Run the callbacks that are due, waiting for at most `timeout_s`.

        Raises:
            PublishError: the producer or a delivery failed for good.

        """
        self._producer.poll(timeout_s)
        if self._failure:
            raise PublishError(self._failure)

    def failed(self, error: KafkaError, topic: str) -> None:
        """Remember the first delivery that failed for good."""
        self._failure = self._failure or _explained(error, topic)

    def topic(self, kind: str) -> str:
        """Name the topic of a kind."""
        return self._prefix + kind

    def flush(self, timeout_s: float, quiet_s: float) -> int:
        """
        Wait until all is acknowledged; give the number of records that are not.

        The wait ends early when no ack came for `quiet_s`: brokers that are away do not hold up an end.
        """
        give_up_at, acked_at = time.monotonic() + timeout_s, time.monotonic()
        left: int = self._producer.flush(0.0)
        while left and time.monotonic() < min(give_up_at, acked_at + quiet_s):
            before, left = left, self._producer.flush(FLUSH_TURN_S)
            acked_at = time.monotonic() if left < before else acked_at
        return left

    def abandon(self) -> None:
        """Forget what is not acknowledged: it is read and sent again by the next run."""
        self._producer.purge(in_flight=True)
        self._producer.flush(1.0)

    def _headers_of(self, line: RawLine) -> list[RecordHeader]:
        key = (line.node, line.kind, line.source)
        headers = self._headers.get(key)
        if headers is None:
            words = zip((Header.NODE, Header.KIND, Header.SOURCE), key, strict=True)
            headers = [*self._fixed, *((word.value, text.encode(errors="replace")) for word, text in words)]
            self._headers[key] = headers
        return headers

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._failure = self._failure or f"the producer failed for good: {error.str()}; start it again"
        else:
            log.warning("telemetry cluster: %s", error.str())


def _explained(error: KafkaError, topic: str) -> str:
    way_out = _WAYS_OUT.get(error.code(), "see the telemetry broker's log")
    return f"a record was not delivered to {topic}: {error.str()}; {way_out}"
