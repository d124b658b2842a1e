"""
Make the row of `silver.requests` for a request line.

The kind of a FETCH depends on its request, never on the client id, which any user can set:
- With a replica id (`replicaState.replicaId` since v15, `replicaId` before) and `__cluster_metadata`, it is
  `raft`: a raft fetch always names exactly that topic.
- With a replica id and any other topics, it is `follower`. An incremental session without changes has none.
- With a replica id, but refused, or not over a listener or of a principal of `Identities`, it is `other`.
  Kafka refuses an unauthorised fetch for each partition, and the fetch has no error. A broker never
  serves the metadata topic: only controllers do, over their own listener.
- Without a replica id it is `consumer`.
- If the request was not logged, the kind is None.

A SHARE_FETCH (KIP-932) is always `share`. Its bodies are not read: the response has no sizes of records, and
without an error its `currentLeader` is broker 0.
"""
# ruff: noqa: ANN401 (structs and rows whose types are made at run time)

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import astuple

from transforms.parse.columns import ORIGIN, STAMP, row_type
from transforms.parse.record import DAY_US, FIRST_US, PARSER_VERSION, Quarantined, Record
from transforms.parse.requests.bodies import FetchRequest
from transforms.parse.requests.documents import TIMES, AnyDocument, is_unlogged
from transforms.parse.requests.identities import Identities
from transforms.parse.requests.metadata_size import response_bytes
from transforms.parse.requests.partitions import id_or_none, is_metadata, joined

LONGEST_MS = 1e10
"""A longer duration is an error in the log; this limit is 116 days."""

LEAST_GAP_MS, MOST_GAP_MS = -1e-6, 0.005 + 1e-6
"""Kafka truncates the total and its five parts to microseconds, so they differ by less than 5 µs."""

FETCH_WITH_SESSION = 7  # KIP-227
FETCH_WITH_REPLICA_STATE = 15  # KIP-903

UNAUTHORISED = frozenset({29, 100})
"""
TOPIC_AUTHORIZATION_FAILED and UNKNOWN_TOPIC_ID: one of them is the error of each partition of a fetch with a
replica id, without the right to `ClusterAction` (`KafkaApis.handleFetchRequest`).
"""

NO_CONTROLLER = UNAUTHORISED | {3}
"""
With UNKNOWN_TOPIC_OR_PARTITION: the errors of a broker, whose metadata cache never has the metadata topic. A
controller answers with others (`KafkaRaftClient.handleFetchRequest`).
"""

Request = row_type(
    "Request",
    "cluster broker_id",
    STAMP,
    "started_at api api_version client_id correlation_id connection",
    "session_id session_epoch response_session_id listener kind follower_id replica_epoch",
    "software_name software_version principal is_forwarded",
    "total_ms request_queue_ms local_ms remote_ms response_queue_ms send_ms throttle_ms",
    "error_code partitions topics_asked topics_answered response_bytes is_own_traffic quality_flags",
    ORIGIN,
)

Facts = tuple[Any, ...]
"""Columns from the bodies: `kind` to `replica_epoch`, session, `partitions` to `response_bytes`."""


def request_row(  # noqa: C901 (a call per line would take longer)
    record: Record, line: tuple[Any, ...], document: AnyDocument, identities: Identities, *, is_json: bool
) -> Any:
    """Return the row, or the reason to quarantine the line."""
    # Unpacked at once: each API has its own class, and attribute access over many classes is slow in Python.
    (
        header, connection, total, queue, local, remote, answering, send,
        throttle, principal, listener, is_forwarded, client, request, response,
    ) = astuple(document)  # fmt: skip
    api, version, correlation_id, client_id = astuple(header)
    facts = (READERS.get(api, _nothing) if is_json else _text)(version, request, response)
    if isinstance(facts, Quarantined):
        return facts
    gap = total - (queue + local + remote + answering + send)
    flags = []
    if not (
        LEAST_GAP_MS <= gap <= MOST_GAP_MS
        and queue >= 0 <= local
        and remote >= 0 <= answering
        and send >= 0 <= total < LONGEST_MS
    ):
        times = (total, queue, local, remote, answering, send)
        if min(times) < 0 or max(times) > LONGEST_MS:
            wrong = [name for name, ms in zip(TIMES, times, strict=True) if not 0 <= ms <= LONGEST_MS]
            return Quarantined("impossible_duration", ", ".join(wrong))
        if not LEAST_GAP_MS <= gap <= MOST_GAP_MS:
            flags.append("parts_do_not_add_up")
    _, cluster, node, _, _, source, position, topic, partition, offset, _, _, _, _, _ = record
    _, _, _, _, node_id, logged_at, mono_ns, resolution_ms, _ = line
    (
        kind, follower_id, epoch, session_id, session_epoch, response_session,
        partitions, topics_asked, topics_answered, size,
    ) = facts  # fmt: skip
    if follower_id is not None and not identities.may_replicate(kind, listener, principal):
        kind, follower_id, epoch = "other", None, None
    started_at = logged_at - int(total * 1_000 + 0.5)
    # Only a raft fetch may come from the node itself: a KRaft node without a known leader may ask itself.
    if started_at < FIRST_US or (kind == "follower" and follower_id == node_id):
        return _contradiction(started_at, follower_id, node)
    if not request and is_unlogged(request):
        flags.append("no_request_body")
    if not response and is_unlogged(response):
        flags.append("no_response_body")
    if not is_json:
        flags.append("text_form")
    software, software_version = astuple(client) if client else (None, None)
    code = getattr(response, "error_code", None)
    if type(code) is not int or not -(2**31) <= code < 2**31:
        code = None
    cells = (
        cluster, node_id, logged_at, mono_ns, resolution_ms, logged_at // DAY_US,
        started_at, api, version, client_id, correlation_id, connection,
        session_id, session_epoch, response_session, listener, kind, follower_id, epoch,
        None if software == "unknown" else software,
        None if software_version == "unknown" else software_version,
        principal, is_forwarded, total, queue, local, remote, answering, send,
        throttle, code, partitions, topics_asked, topics_answered, size,
        identities.is_own(client_id, principal), flags,
        node, source, position, topic, partition, offset, PARSER_VERSION,
    )  # fmt: skip
    return tuple.__new__(Request, cells)


def _contradiction(started_at: int, follower_id: int | None, node: str | None) -> Quarantined:
    if started_at < FIRST_US:
        return Quarantined("impossible_timestamp", "the request began before the year 1")
    return Quarantined("node_is_another_replica", f"a fetch of replica {follower_id} on {node}")


def _fetch(version: int, request: Any, response: Any) -> Facts | Quarantined:
    answered, response_session = (response.topics, response.session_id) if response else ((), None)
    if not request:
        return None, None, None, None, None, response_session, joined((), answered), None, None, None
    requested, session_id, session_epoch, replica, state = astuple(request)
    if version < FETCH_WITH_REPLICA_STATE and replica is None:
        return Quarantined("missing_field", "request.replicaId")
    if version >= FETCH_WITH_SESSION and session_id is None:
        return Quarantined("missing_field", "request.sessionId")
    epoch = None
    if state:
        epoch = state.replica_epoch
        if state.replica_id is not None:
            replica = state.replica_id
    partitions = joined(requested, answered)
    if replica is None or replica < 0:
        kind, replica = "consumer", None
    else:
        kind, refusals = ("raft", NO_CONTROLLER) if _is_raft(requested) else ("follower", UNAUTHORISED)
        if response and _is_refused(partitions, response_session, refusals):
            kind, replica, epoch = "other", None, None
    return kind, replica, epoch, session_id, session_epoch, response_session, partitions, None, None, None


def _is_raft(requested: Sequence[Any]) -> bool:
    """Return whether a fetch names the metadata topic alone."""
    for topic in requested:  # A generator would cost each fetch more than its one step.
        if not is_metadata(topic.topic_id, topic.name):
            return False
    return bool(requested)


def _is_refused(partitions: Sequence[Any], session_id: int | None, refusals: frozenset[int]) -> bool:
    """Return whether no partition was served; only a fetch in a session has none, if none has changed."""
    for each in partitions:
        if each.error_code not in refusals:
            return False
    return bool(partitions) or not session_id


def _produce(_version: int, request: Any, response: Any) -> Facts:
    """Return the facts of a PRODUCE or an ALTER_PARTITION_REASSIGNMENTS."""
    partitions = joined(request.topics if request else (), response.topics if response else ())
    return "other", None, None, None, None, None, partitions, None, None, None


def _elect_leaders(version: int, _request: Any, response: Any) -> Facts:
    """Return the facts of the response only; a request without a list means every partition."""
    return _produce(version, None, response) if response else NO_FACTS


def _metadata(version: int, request: Any, response: Any) -> Facts:
    requested, names, answered, size = request.topics if request else None, None, None, None
    if requested or (requested is not None and version != 0):
        names = [id_or_none(topic.topic_id) if topic.name is None else topic.name for topic in requested]
    if response:
        answered, size = len(response.topics), response_bytes(version, response)
    return "other", None, None, None, None, None, None, names, answered, size


def _share(_version: int, _request: Any, _response: Any) -> Facts:
    return SHARE_FACTS


def _nothing(_version: int, _request: Any, _response: Any) -> Facts:
    return NO_FACTS


def _text(_version: int, request: Any, _response: Any) -> Facts:
    """Return the session and kind of a FETCH in the text form; no other API has facts there."""
    if not isinstance(request, FetchRequest):
        return NO_FACTS
    replica = request.replica_id
    kind = None if replica is None else "consumer" if replica < 0 else "follower"
    sessions = (request.session_id, request.session_epoch)
    return kind, replica if kind == "follower" else None, None, *sessions, None, None, None, None, None


NO_FACTS: Facts = ("other", *[None] * 9)
SHARE_FACTS: Facts = ("share", *[None] * 9)
READERS: dict[str, Callable[[int, Any, Any], Facts | Quarantined]] = {
    "FETCH": _fetch,
    "PRODUCE": _produce,
    "ALTER_PARTITION_REASSIGNMENTS": _produce,
    "ELECT_LEADERS": _elect_leaders,
    "METADATA": _metadata,
    "SHARE_FETCH": _share,
}
