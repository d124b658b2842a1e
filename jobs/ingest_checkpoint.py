"""What a query's checkpoint tells: who writes, how far it read, whether the topic still has the rest."""

import json
import logging
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

from conf.settings import Telemetry

WRITER_ID = "plumbline-writer-id"
ANSWER_TIMEOUT_S = 15.0


class NoTopicError(Exception):
    """A telemetry topic cannot be read; the message names it and the way out."""


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


def writer_id(checkpoint: Path) -> str:
    """
    Give the UUID kept inside the checkpoint, made with it.

    Delta skips a version that an application id has written before, so a new checkpoint, which counts its
    batches from 0 again, must be a new application.

    Raises:
        ValueError: the checkpoint has batches but lost its id; a batch begun could be written twice.

    """
    kept = checkpoint / WRITER_ID
    if kept.exists():
        return kept.read_text().strip()
    if (checkpoint / "offsets").exists():
        message = (
            f"{checkpoint} has lost its {WRITER_ID}: restore it, or remove the checkpoint and its tables"
        )
        raise ValueError(message)
    checkpoint.mkdir(parents=True, exist_ok=True)
    draft = checkpoint / f".{WRITER_ID}.{os.getpid()}"
    draft.write_text(str(uuid.uuid4()))
    draft.rename(kept)
    return kept.read_text().strip()


def read_until(checkpoint: Path) -> dict[tuple[str, int], int]:
    """Give the offset up to which each partition was read and written, from Spark's own log; {} when new."""
    done = [int(file.name) for file in checkpoint.glob("commits/*") if file.name.isdigit()]
    offsets = checkpoint / "offsets" / str(max(done, default=-1))
    if not offsets.exists():
        return {}
    ends = json.loads(offsets.read_text().splitlines()[-1])
    return {
        (topic, int(partition)): end
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    }


def lost(telemetry: Telemetry, topic: str, checkpoint: Path) -> list[Lost]:
    """
    Compare the checkpoint with what the topic still holds.

    An end below what was read means that the topic was made anew: what it held in between is unknown,
    and its records from 0 on were not read, so they count as lost to this checkpoint.

    Raises:
        NoTopicError: the topic or its cluster cannot be reached.

    """
    held, gone = offsets_held(telemetry, topic), list[Lost]()
    for (name, partition), reached in read_until(checkpoint).items():
        low, high = held.get(partition, (0, 0))
        if low > reached:
            gone.append(Lost(topic=name, partition=partition, first=reached, end=low))
        elif high < reached:
            gone.append(Lost(topic=name, partition=partition, first=0, end=high))
    return gone


def unread(telemetry: Telemetry, topic: str, checkpoint: Path) -> int:
    """
    Count the records of the topic that no finished batch of the checkpoint has read.

    Raises:
        NoTopicError: the topic or its cluster cannot be reached.

    """
    seen = read_until(checkpoint)
    held = offsets_held(telemetry, topic)
    return sum(high - max(low, seen.get((topic, partition), 0)) for partition, (low, high) in held.items())


def offsets_held(telemetry: Telemetry, topic: str) -> dict[int, tuple[int, int]]:
    """
    Give the first offset and the end of each partition.

    Raises:
        NoTopicError: the topic or its cluster cannot be reached.

    """
    own = {
        "bootstrap.servers": telemetry.bootstrap_servers,
        "group.id": f"{telemetry.own_client_prefix}look",
        "log_level": "2",  # a broker that does not answer is told once, by the error below
    }
    consumer = Consumer(telemetry.client_options | own, logger=logging.getLogger(__name__))
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
