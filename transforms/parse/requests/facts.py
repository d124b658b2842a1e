"""
What the bodies of a request say, as columns of `silver.requests`.

The request decides what a FETCH is, never the client id, which is a user's text: a replica id
(`replicaState.replicaId` since v15, `replicaId` before) makes it a replica's; of those, one that fetches
`__cluster_metadata` is a KRaft node's ("raft"), since a raft fetch always names exactly that topic, and every
other one is a follower's, also with an empty list of topics (an incremental session without change). A FETCH
without a replica id is a consumer's. One whose request was not logged has no kind.
"""

from collections.abc import Callable
from typing import NamedTuple

from transforms.parse.record import Quarantined
from transforms.parse.requests.documents import AnyDocument
from transforms.parse.requests.metadata_size import response_bytes
from transforms.parse.requests.partitions import Partition, has_metadata, id_or_none, joined

FETCH_WITH_SESSION = 7  # KIP-227
FETCH_WITH_REPLICA_STATE = 15  # KIP-903


class Facts(NamedTuple):
    """Columns of `silver.requests` under their names."""

    kind: str | None = "other"
    follower_id: int | None = None
    replica_epoch: int | None = None
    session_id: int | None = None
    session_epoch: int | None = None
    response_session_id: int | None = None
    partitions: list[Partition] | None = None
    topics_asked: list[str | None] | None = None
    topics_answered: int | None = None
    response_bytes: int | None = None


NO_FACTS = Facts()


def _fetch(document: AnyDocument) -> Facts | Quarantined:
    request, response = document.request, document.response
    answered, response_session = (response.topics, response.session_id) if response else ((), None)
    if not request:
        return Facts(None, response_session_id=response_session, partitions=joined((), answered))
    state, version, asked = request.replica_state, document.request_header.request_api_version, request.topics
    if version < FETCH_WITH_REPLICA_STATE and request.replica_id is None:
        return Quarantined("missing_field", "request.replicaId")
    if version >= FETCH_WITH_SESSION and request.session_id is None:
        return Quarantined("missing_field", "request.sessionId")
    replica, epoch = (state.replica_id, state.replica_epoch) if state else (None, None)
    if replica is None:
        replica = request.replica_id
    if replica is None or replica < 0:
        kind, replica = "consumer", None
    else:
        kind = "raft" if has_metadata(asked) or has_metadata(answered) else "follower"
    partitions = joined(asked, answered) if asked or answered else []
    session_id, session_epoch = request.session_id, request.session_epoch
    cells = (kind, replica, epoch, session_id, session_epoch, response_session, partitions, None, None, None)
    return tuple.__new__(Facts, cells)


def _produce(document: AnyDocument) -> Facts:
    """Read a PRODUCE or an ALTER_PARTITION_REASSIGNMENTS."""
    request, response = document.request, document.response
    partitions = joined(request.topics if request else (), response.topics if response else ())
    return tuple.__new__(Facts, ("other", None, None, None, None, None, partitions, None, None, None))


def _elect_leaders(document: AnyDocument) -> Facts:
    """Read the answer alone: a request may leave its list out, which means every partition."""
    return Facts(partitions=joined((), document.response.topics)) if document.response else NO_FACTS


def _metadata(document: AnyDocument) -> Facts:
    request, response, version = (
        document.request,
        document.response,
        document.request_header.request_api_version,
    )
    asked, names = request.topics if request else None, None
    if asked or (asked is not None and version != 0):
        names = [id_or_none(topic.topic_id) if topic.name is None else topic.name for topic in asked]
    if not response:
        return Facts(topics_asked=names)
    size = response_bytes(version, response)
    return Facts(topics_asked=names, topics_answered=len(response.topics), response_bytes=size)


def _nothing(_document: AnyDocument) -> Facts:
    return NO_FACTS


def text_facts(document: AnyDocument) -> Facts:
    """Return the facts of the text form: session and kind of a FETCH, unless its request was not logged."""
    request = document.request
    if document.request_header.request_api_key_name != "FETCH":
        return NO_FACTS
    replica = request.replica_id
    kind = None if replica is None else "consumer" if replica < 0 else "follower"
    follower_id = replica if kind == "follower" else None
    return Facts(kind, follower_id, session_id=request.session_id, session_epoch=request.session_epoch)


READERS: dict[str, Callable[[AnyDocument], Facts | Quarantined]] = {
    "FETCH": _fetch,
    "PRODUCE": _produce,
    "ALTER_PARTITION_REASSIGNMENTS": _produce,
    "ELECT_LEADERS": _elect_leaders,
    "METADATA": _metadata,
}


def facts_of(document: AnyDocument) -> Facts | Quarantined:
    """Return the facts of the JSON form, or the path of a field that the API's version requires."""
    return READERS.get(document.request_header.request_api_key_name, _nothing)(document)
