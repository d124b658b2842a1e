"""Compare the positions in a checkpoint with the topics: do they still have the unread records?"""

import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from conf.exit_codes import CommandError
from conf.kafka_refusals import Refusals, answer_of
from conf.kafka_security import KafkaSecurity
from conf.settings import Telemetry
from engine.ingest.losses import LostOffsets, OffsetsReusedError, TopicRecreatedError, TruncatedError
from engine.ingest.task.kafka import PATIENCE_S
from engine.process.hadoop_files import write_whole
from engine.streams.log import Ends, StreamLog

TOPIC_ID = "plumbline-topic-id"
TOPIC_ID_FORM = re.compile(r"[A-Za-z0-9_-]{22}")
KAFKA_BASE64 = str.maketrans("+/", "-_")
"""librdkafka writes ids with `+` and `/`, Kafka with `-` and `_`; former checkpoints have both."""

NO_ID = "A" * 22
"""The id of 16 zero bytes: the cluster is older than topic ids (KIP-516)."""

ANSWER_TIMEOUT_S = 15.0


class NoTopicError(CommandError):
    """A telemetry topic cannot be read; the message names it and what to do."""


def read_until(checkpoint: Path) -> Ends:
    """Return the offset up to which each partition was read and written; {} for a new checkpoint."""
    log = StreamLog(checkpoint)
    done = max(max(log.commits, default=-1), max(log.offsets, default=-1) - 1)
    return log.begin(done + 1)


def lost(telemetry: Telemetry, topic: str, reached: Ends, *, is_same: bool) -> list[LostOffsets]:
    """
    Return the ranges that the topic deleted before they were read.

    A new partition of a topic begins at offset 0, as in Spark. A topic without any position begins at its
    first available offset. `is_same`: the topic has the id of the topic that was read.

    Raises:
        OffsetsReusedError: a partition ends before what was read.
        NoTopicError: the topic or its cluster cannot be reached.

    """
    held, gone = offsets_held(telemetry, topic), list[LostOffsets]()
    reached = {place: end for place, end in reached.items() if place[0] == topic}
    due = dict.fromkeys(((topic, partition) for partition in held), 0) | reached if reached else {}
    for (name, partition), end in due.items():
        low, high = held.get(partition, (0, 0))
        if high < end:
            raise ends_early(topic, partition, high, end, is_same=is_same)
        if low > end:
            gone.append(LostOffsets(topic=name, partition=partition, first=end, end=low))
    return gone


def ends_early(topic: str, partition: int, high: int, end: int, *, is_same: bool) -> OffsetsReusedError:
    """Return the error for a partition that ends at `high` and was read up to `end`."""
    evidence = f"ends at {high:,} and was read up to {end:,}"
    if is_same:
        return TruncatedError(topic, partition, f"it {evidence}")
    return TopicRecreatedError(topic, f"partition {partition} {evidence}")


def check_still_same(telemetry: Telemetry, topics: Iterable[str], checkpoint: Path) -> None:
    """
    Check, after a batch was read, that its topics are those of the checkpoint; wait for silent brokers.

    Raises:
        TopicRecreatedError: a topic was deleted and created again while the ingest ran.
        NoTopicError: the cluster has not answered for two minutes.

    """
    for topic in topics:
        check_same_topic(telemetry, topic, checkpoint, timeout_s=PATIENCE_S)


def check_same_topic(
    telemetry: Telemetry, topic: str, checkpoint: Path, *, timeout_s: float = ANSWER_TIMEOUT_S
) -> bool:
    """
    Compare the topic's id with the id in the checkpoint; store it if that is missing or torn.

    Return whether both are known and equal.

    Raises:
        TopicRecreatedError: it is another topic of the same name; its offsets count other lines.
        NoTopicError: the cluster cannot be reached.

    """
    stored, now = checkpoint / f"{TOPIC_ID}.{topic}", topic_id(telemetry, topic, timeout_s)
    try:
        before = stored.read_text(errors="replace").strip().translate(KAFKA_BASE64)
    except FileNotFoundError:
        before = ""
    if now == NO_ID:
        return False
    if TOPIC_ID_FORM.fullmatch(before) and before not in {now, NO_ID}:
        raise TopicRecreatedError(topic, f"its id is {now} and was {before}")
    if before != now:
        write_whole(stored, now)
    return before == now


def topic_id(telemetry: Telemetry, topic: str, timeout_s: float = ANSWER_TIMEOUT_S) -> str:
    """
    Return the id of a topic as Kafka writes it; an earlier topic of the same name had another id.

    Raises:
        NoTopicError: the cluster does not answer.

    """
    admin, refusals = admin_of(telemetry)
    future = admin.describe_topics(TopicCollection([topic]), request_timeout=timeout_s)[topic]
    try:
        return str(answer_of(future, timeout_s).topic_id).translate(KAFKA_BASE64)
    except KafkaException as error:
        admin.poll(0)  # calls `refusals`
        message = (
            f"{telemetry.bootstrap_servers} cannot describe {topic}: {refusals.first or error.args[0].str()}"
        )
        raise NoTopicError(message) from error


def unread(telemetry: Telemetry, topic: str, checkpoint: Path) -> int:
    """
    Count the records of the topic that no finished batch of the checkpoint has read.

    Raises:
        NoTopicError: the topic or its cluster cannot be reached.

    """
    seen = read_until(checkpoint)
    held = offsets_held(telemetry, topic)
    return sum(high - max(low, seen.get((topic, partition), 0)) for partition, (low, high) in held.items())


def has_topic(telemetry: Telemetry, topic: str) -> bool:
    """
    Return whether the topic exists.

    Raises:
        NoTopicError: the cluster cannot be reached.

    """
    admin, refusals = admin_of(telemetry)
    try:
        return topic in admin.list_topics(timeout=ANSWER_TIMEOUT_S).topics
    except KafkaException as error:
        message = f"{telemetry.bootstrap_servers} does not answer: {reason_of(admin, refusals, error)}"
        raise NoTopicError(message) from error


def offsets_held(telemetry: Telemetry, topic: str) -> dict[int, tuple[int, int]]:
    """
    Return the first offset and the end offset of each partition.

    Raises:
        NoTopicError: the topic or its cluster cannot be reached.

    """
    refusals, group = Refusals(), {"group.id": f"{telemetry.own_client_prefix}look"}
    options = _client(telemetry.bootstrap_servers, *_login(telemetry), refusals) | group
    consumer = Consumer(options, logger=logging.getLogger(__name__))
    try:
        partitions = consumer.list_topics(topic, timeout=ANSWER_TIMEOUT_S).topics[topic].partitions
        held = {
            partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), ANSWER_TIMEOUT_S)
            for partition in partitions
        }
    except KafkaException as error:
        why = reason_of(consumer, refusals, error)
        message = f"{telemetry.bootstrap_servers} does not answer for {topic}: {why}"
        raise NoTopicError(message) from error
    finally:
        consumer.close()
    if not held:
        message = f"there is no topic {topic} at {telemetry.bootstrap_servers}: create it, or start the lab"
        raise NoTopicError(message)
    return held


_Login = tuple[tuple[tuple[str, str], ...], KafkaSecurity]
"""More options of librdkafka, and the login without its secrets."""


def admin_of(telemetry: Telemetry) -> tuple[AdminClient, Refusals]:
    """Return the admin client of this process for a cluster, and what its brokers refuse."""
    return _admin(telemetry.bootstrap_servers, *_login(telemetry))


@lru_cache(maxsize=2)
def _admin(servers: str, *login: *_Login) -> tuple[AdminClient, Refusals]:
    """Return the admin client of this process, so that a batch needs no new connection."""
    refusals = Refusals()
    return AdminClient(_client(servers, *login, refusals), logger=logging.getLogger(__name__)), refusals


def _login(telemetry: Telemetry) -> _Login:
    return tuple(telemetry.client_options.items()), telemetry.security


def _client(
    servers: str, options: tuple[tuple[str, str], ...], security: KafkaSecurity, refusals: Refusals
) -> dict[str, Any]:
    own = {
        "bootstrap.servers": servers,
        "log_level": "2",  # the exception reports a broker that does not answer, once
        "error_cb": refusals,
    }
    return dict(options) | security.librdkafka() | own


def reason_of(client: AdminClient | Consumer, refusals: Refusals, error: KafkaException) -> str:
    """Return why a request failed: what a broker refused, else the error itself."""
    client.poll(0)  # calls `refusals`
    if refusals.first:
        return f"{refusals.first}; correct [telemetry.security]"
    return str(error.args[0].str())
