"""What a query's checkpoint tells: who writes, how far it read, whether the topic still has the rest."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from conf.settings import Telemetry
from jobs.hadoop_files import write_whole
from jobs.stream_log import Ends, StreamLog

TOPIC_ID = "plumbline-topic-id"
TOPIC_ID_FORM = re.compile(r"[A-Za-z0-9_-]{22}")
NO_ID = "A" * 22
"""Sixteen zero bytes: the cluster is older than topic ids."""

ANSWER_TIMEOUT_S = 15.0


class NoTopicError(Exception):
    """A telemetry topic cannot be read; the message names it and the way out."""


class MadeAnewError(Exception):
    """A topic was deleted and made again: offsets no longer tell what was read, so there is no going on."""

    def __init__(self, topic: str, told: str) -> None:
        """Tell the way out."""
        super().__init__(
            f"{topic} was made anew ({told}), so what it held and was not read is lost; nothing was written: "
            "set new [warehouse] checkpoints and with them another topic_prefix or a new [warehouse] root"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Offsets `first` up to but without `end`, which were never read and are gone."""

    topic: str
    partition: int
    first: int
    end: int

    def __str__(self) -> str:
        """Tell it in one line."""
        return f"{self.topic} partition {self.partition}: offsets {self.first:,} to {self.end - 1:,}"


def read_until(checkpoint: Path) -> Ends:
    """Give up to where each partition was read and written, or else where it begins; {} when new."""
    log = StreamLog(checkpoint)
    done = max(max(log.commits, default=-1), max(log.offsets, default=-1) - 1)
    return log.begin(done + 1)


def lost(telemetry: Telemetry, topic: str, reached: Ends) -> list[Lost]:
    """
    Compare what was read with what the topic still holds.

    A partition that was not reached begins at 0, as Spark has it, unless nothing of the topic was: a new
    topic begins at what is there.

    Raises:
        MadeAnewError: the topic ends before what was read.
        NoTopicError: the topic or its cluster cannot be reached.

    """
    held, gone = offsets_held(telemetry, topic), list[Lost]()
    reached = {place: end for place, end in reached.items() if place[0] == topic}
    due = dict.fromkeys(((topic, partition) for partition in held), 0) | reached if reached else {}
    for (name, partition), end in due.items():
        low, high = held.get(partition, (0, 0))
        if high < end:
            raise MadeAnewError(topic, f"partition {partition} ends at {high:,} and was read up to {end:,}")
        if low > end:
            gone.append(Lost(topic=name, partition=partition, first=end, end=low))
    return gone


def check_same_topic(telemetry: Telemetry, topic: str, checkpoint: Path) -> None:
    """
    Hold the topic's id against the one kept in the checkpoint, and keep it when there is none, or a torn one.

    Raises:
        MadeAnewError: it is another topic of the same name: its offsets count other lines.
        NoTopicError: the cluster cannot be reached.

    """
    kept, now = checkpoint / f"{TOPIC_ID}.{topic}", topic_id(telemetry, topic)
    try:
        before = kept.read_text(errors="replace").strip()
    except FileNotFoundError:
        before = ""
    if now == NO_ID:
        return
    if TOPIC_ID_FORM.fullmatch(before) and before not in {now, NO_ID}:
        raise MadeAnewError(topic, f"its id is {now} and was {before}")
    if before != now:
        write_whole(kept, now)


def topic_id(telemetry: Telemetry, topic: str) -> str:
    """
    Give the id of a topic, which tells it from an earlier one of the same name.

    Raises:
        NoTopicError: the cluster does not tell.

    """
    admin = AdminClient(dict(_client(telemetry)), logger=logging.getLogger(__name__))
    told = admin.describe_topics(TopicCollection([topic]), request_timeout=ANSWER_TIMEOUT_S)[topic]
    try:
        return str(told.result(ANSWER_TIMEOUT_S).topic_id)
    except KafkaException as error:
        message = f"{telemetry.bootstrap_servers} does not describe {topic}: {error.args[0].str()}"
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
    Tell whether there is such a topic.

    Raises:
        NoTopicError: the cluster cannot be reached.

    """
    admin = AdminClient(dict(_client(telemetry)), logger=logging.getLogger(__name__))
    try:
        return topic in admin.list_topics(timeout=ANSWER_TIMEOUT_S).topics
    except KafkaException as error:
        message = f"{telemetry.bootstrap_servers} does not answer: {error.args[0].str()}"
        raise NoTopicError(message) from error


def offsets_held(telemetry: Telemetry, topic: str) -> dict[int, tuple[int, int]]:
    """
    Give the first offset and the end of each partition.

    Raises:
        NoTopicError: the topic or its cluster cannot be reached.

    """
    group = {"group.id": f"{telemetry.own_client_prefix}look"}
    consumer = Consumer(_client(telemetry) | group, logger=logging.getLogger(__name__))
    try:
        partitions = consumer.list_topics(topic, timeout=ANSWER_TIMEOUT_S).topics[topic].partitions
        held = {
            partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), ANSWER_TIMEOUT_S)
            for partition in partitions
        }
    except KafkaException as error:
        message = f"{telemetry.bootstrap_servers} does not answer for {topic}: {error.args[0].str()}"
        raise NoTopicError(message) from error
    finally:
        consumer.close()
    if not held:
        message = f"there is no topic {topic} at {telemetry.bootstrap_servers}: create it, or start the lab"
        raise NoTopicError(message)
    return held


def _client(telemetry: Telemetry) -> dict[str, str]:
    own = {
        "bootstrap.servers": telemetry.bootstrap_servers,
        "log_level": "2",  # a broker that does not answer is told once, by our own error
    }
    return telemetry.client_options | own
