"""The partitions that a request asked for, joined with those that were answered."""

from collections.abc import Iterable
from typing import Any, NamedTuple

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # Uuid.ZERO_UUID
METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID
METADATA_TOPIC = "__cluster_metadata"


class Partition(NamedTuple):
    """An element of `silver.requests.partitions` (`schemas.silver.REQUEST_PARTITION`)."""

    topic_id: str | None
    topic_name: str | None
    partition: int
    bytes: int | None
    error_code: int | None
    offset: int | None
    hinted_leader_id: int | None
    hinted_leader_epoch: int | None
    high_watermark: int | None


def id_or_none(topic_id: str | None) -> str | None:
    """Return a topic's id; None for the zero id, which Kafka writes where the id is unknown."""
    return None if topic_id == NO_ID else topic_id


def joined(asked: Iterable[Any], answered: Iterable[Any]) -> list[Partition]:
    """
    Return the answers in their order, each with what was asked for, and after them what got no answer.

    Both are topics of `bodies`. Answers come in another order than they were asked for, and incremental fetch
    sessions leave out what did not change on either side.
    """
    new = tuple.__new__  # half the time of calling the class
    wanted: dict[tuple[str | None, int], tuple[str | None, Any]] = {}
    for topic in asked:
        topic_id = id_or_none(topic.topic_id)
        key = topic.name if topic_id is None else topic_id
        for one in topic.partitions:
            wanted.setdefault((key, one.partition), (topic.name, one))
    rows = []
    for topic in answered:
        topic_id, name = id_or_none(topic.topic_id), topic.name
        key = name if topic_id is None else topic_id
        for one in topic.partitions:
            index, sent, offset, leader = one.partition, one.bytes, one.offset, one.leader
            topic_name, watermark = name, one.high_watermark
            request = wanted.pop((key, index), None)
            if request is not None:
                topic_name = name if name is not None else request[0]
                sent = request[1].bytes if sent is None else sent
                offset = request[1].offset if offset is None else offset
            leader_id, epoch = (None, None) if leader is None else (leader.leader_id, leader.leader_epoch)
            if watermark is not None and watermark < 0:  # of an error
                watermark = None
            cells = (topic_id, topic_name, index, sent, one.error_code, offset, leader_id, epoch, watermark)
            rows.append(new(Partition, cells))
    for (key, index), (name, one) in wanted.items():
        topic_id = None if key == name else key
        rows.append(Partition(topic_id, name, index, one.bytes, None, one.offset, None, None, None))
    return rows


def has_metadata(topics: Iterable[Any]) -> bool:
    """Tell whether one of the topics is `__cluster_metadata`, with a partition."""
    for topic in topics:
        if (topic.topic_id == METADATA_TOPIC_ID or topic.name == METADATA_TOPIC) and topic.partitions:
            return True
    return False
