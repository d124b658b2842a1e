"""Join the partitions of a request with those of its response."""
# ruff: noqa: ANN401 (structs and rows whose types are made at run time)

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from transforms.parse.columns import row_type

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # Uuid.ZERO_UUID
METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID
METADATA_TOPIC = "__cluster_metadata"

_new = tuple.__new__  # Calling a NamedTuple's class takes twice as long.


RequestPartition = row_type(
    "RequestPartition",
    "topic_id topic_name partition bytes error_code offset hinted_leader_id hinted_leader_epoch",
    "high_watermark",
)
"""An element of `silver.requests.partitions` (`schemas.silver.requests.REQUEST_PARTITION`)."""

NOT_REQUESTED = (None, None, None)


def id_or_none(topic_id: str | None) -> str | None:
    """Return a topic id; None for the zero id, which Kafka logs if the id is unknown."""
    return None if topic_id == NO_ID else topic_id


def joined(requested: Sequence[Any], answered: Sequence[Any]) -> list[Any]:
    """
    Return the answered partitions in order, joined with the request, then the unanswered ones.

    Both inputs are topics of `bodies`. The response has its own order, and in an incremental fetch session
    both sides omit unchanged partitions.
    """
    if len(requested) == 1 == len(answered):
        row = _pair(requested[0], answered[0])
        if row is not None:
            return [row]
    wanted: dict[tuple[str | None, str | None, int], tuple[Any, ...]] = {}
    for topic in requested:
        topic_id, name, partitions = astuple(topic)
        topic_id = id_or_none(topic_id)
        for one in partitions:
            cells = astuple(one)
            wanted[topic_id, name, cells[0]] = cells
    rows = []
    for topic in answered:
        topic_id, name, partitions = astuple(topic)
        topic_id = id_or_none(topic_id)
        for one in partitions:
            index, size, error_code, offset, leader, watermark = astuple(one)
            cells = wanted.pop((topic_id, name, index), NOT_REQUESTED)
            size = cells[1] if size is None else size
            offset = cells[2] if offset is None else offset
            leader_id, epoch = astuple(leader) if leader else (None, None)
            if watermark is not None and watermark < 0:  # The partition has an error.
                watermark = None
            row = (topic_id, name, index, size, error_code, offset, leader_id, epoch, watermark)
            rows.append(_new(RequestPartition, row))
    for (topic_id, name, index), cells in wanted.items():
        rows.append(RequestPartition(topic_id, name, index, cells[1], None, cells[2], None, None, None))
    return rows


def _pair(requested: Any, answered: Any) -> Any:
    """Return the row of one requested and answered partition, which most lines have; None for other lines."""
    topic_id, name, wanted = astuple(requested)
    answered_id, answered_name, answers = astuple(answered)
    if len(wanted) != 1 or len(answers) != 1 or answered_id != topic_id or answered_name != name:
        return None
    index, size, error_code, offset, leader, watermark = astuple(answers[0])
    cells = astuple(wanted[0])
    if leader or index != cells[0] or topic_id == NO_ID or (watermark is not None and watermark < 0):
        return None
    size = cells[1] if size is None else size
    offset = cells[2] if offset is None else offset
    return _new(RequestPartition, (topic_id, name, index, size, error_code, offset, None, None, watermark))


def is_metadata(topic_id: str | None, topic_name: str | None) -> bool:
    """Return whether a topic is `__cluster_metadata`."""
    return topic_id == METADATA_TOPIC_ID or topic_name == METADATA_TOPIC
