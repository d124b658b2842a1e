"""The partitions that a request asked for, joined with those that were answered."""

from collections.abc import Iterable
from typing import Any, NamedTuple

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # Uuid.ZERO_UUID
METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID
METADATA_TOPIC = "__cluster_metadata"

_new = tuple.__new__  # a NamedTuple in half the time of calling its class


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
    wanted: dict[tuple[str | None, str | None, int], Any] = {}
    for topic in asked:
        topic_id, name = topic.topic_id, topic.name
        if topic_id == NO_ID:
            topic_id = None
        for one in topic.partitions:
            wanted[topic_id, name, one.partition] = one
    rows = []
    for topic in answered:
        topic_id, name = topic.topic_id, topic.name
        if topic_id == NO_ID:
            topic_id = None
        for one in topic.partitions:
            index, size, offset, leader = one.partition, one.bytes, one.offset, one.leader
            request = wanted.pop((topic_id, name, index), None)
            if request is not None:
                size = request.bytes if size is None else size
                offset = request.offset if offset is None else offset
            leader_id, epoch = (None, None) if leader is None else (leader.leader_id, leader.leader_epoch)
            watermark = one.high_watermark
            if watermark is not None and watermark < 0:  # of an error
                watermark = None
            cells = (topic_id, name, index, size, one.error_code, offset, leader_id, epoch, watermark)
            rows.append(_new(Partition, cells))
    for (topic_id, name, index), one in wanted.items():
        rows.append(Partition(topic_id, name, index, one.bytes, None, one.offset, None, None, None))
    return rows


def has_metadata(topics: Iterable[Any]) -> bool:
    """Tell whether one of the topics is `__cluster_metadata`, with a partition."""
    for topic in topics:
        if (topic.topic_id == METADATA_TOPIC_ID or topic.name == METADATA_TOPIC) and topic.partitions:
            return True
    return False
