"""Parse one line of a broker's request log (`kafka.request.logger` at DEBUG)."""

from collections.abc import Callable
from math import floor
from typing import Any, NamedTuple

from transforms.parse.columns import origin
from transforms.parse.line import Line, read_line, skipped, untimed
from transforms.parse.record import DAY_US, PARSER_VERSION, Kept, Outcome, Quarantined, Record, sample
from transforms.parse.requests import admin
from transforms.parse.requests.bodies import FetchRequest
from transforms.parse.requests.documents import (
    DECODERS,
    MARK,
    TIMES,
    AnyDocument,
    OtherDocument,
    is_unlogged,
    read_document,
    shown_end,
)
from transforms.parse.requests.metadata_size import response_bytes
from transforms.parse.requests.partitions import NO_ID, Partition, has_metadata, id_or_none, joined
from transforms.parse.requests.row import Request, TopicName
from transforms.parse.requests.text_form import START as TEXT_START
from transforms.parse.requests.text_form import read_text

LOGGER = "kafka.request.logger"
JSON_START = MARK + "{"

LONGEST_MS = 1e10
"""A duration of months is no duration."""

SLACK_MS = 0.005
"""Total and its five parts are each cut to whole microseconds, so they differ by less than 5 of them."""

FLOAT_NOISE_MS = 1e-6
FETCH_WITH_SESSION = 7  # KIP-227
FETCH_WITH_REPLICA_STATE = 15  # KIP-903


class Facts(NamedTuple):
    """What the bodies say, as columns of `silver.requests`."""

    kind: str | None = "other"
    partitions: list[Partition] | None = None
    session_id: int | None = None
    session_epoch: int | None = None
    response_session_id: int | None = None
    follower_id: int | None = None
    replica_epoch: int | None = None
    topics_asked: list[str | None] | None = None
    topics_answered: int | None = None
    response_bytes: int | None = None


NO_FACTS = Facts()


def parse(record: Record, own_client_prefix: str = "plumbline-") -> Outcome:
    """
    Return the row of `requests` that a line gives, and its rows of `topics` and the tables of `admin`.

    `own_client_prefix` marks the telemetry's own traffic. A line with `Completed request:` is never skipped.
    """
    line = read_line(record)
    if isinstance(line, Quarantined):
        return line
    if MARK not in line.text:
        return skipped(line, LOGGER, "not_a_request")
    failure = _unplaced(line, record)
    if failure is not None:
        return failure
    document = _document(line)
    if isinstance(document, Quarantined):
        return document
    is_text = type(document) is OtherDocument and line.message.startswith(TEXT_START)
    facts = READERS.get(document.requestHeader.requestApiKeyName, _other)(document, is_text)
    if isinstance(facts, str):
        return Quarantined("missing_field", facts)
    failure = _impossible(document, facts, record, line)
    if failure is not None:
        return failure
    return Kept(_rows(record, line, document, facts, is_text=is_text, own_client_prefix=own_client_prefix))


def _unplaced(line: Line, record: Record) -> Quarantined | None:
    failure = untimed(line, record)
    if failure is not None:
        return failure
    if record.cluster is None:
        return Quarantined("no_cluster", "the record names no cluster")
    if line.node_id is None:
        return Quarantined("node_without_number", record.node or "no node")
    return None


def _document(line: Line) -> AnyDocument | Quarantined:
    message = line.message
    if message.startswith(JSON_START):
        if not message.endswith("}"):
            return Quarantined("truncated_line", shown_end(line.text))
        return read_document(message[len(MARK) :])
    if not message.startswith(TEXT_START):
        return Quarantined("unknown_form", sample(line.text))
    # The end of the text is marked by its logger alone: a principal or listener has no end mark.
    return Quarantined("truncated_line", shown_end(line.text)) if line.logger is None else read_text(message)


def _impossible(document: AnyDocument, facts: Facts, record: Record, line: Line) -> Quarantined | None:
    wrong = [name for name in TIMES if not 0 <= getattr(document, name) <= LONGEST_MS]
    if wrong:
        return Quarantined("impossible_duration", ", ".join(wrong))
    # A KRaft node that knows no leader yet may ask itself for the metadata; the answer is that it is none.
    if facts.follower_id is not None and facts.follower_id == line.node_id and facts.kind != "raft":
        detail = f"a fetch of replica {facts.follower_id} on {record.node}"
        return Quarantined("node_is_another_replica", detail)
    return None


def _fetch(document: AnyDocument, is_text: bool) -> Facts | str:
    request, response = document.request or None, document.response or None
    answered = response.topics if response is not None else ()
    response_session_id = response.session_id if response is not None else None
    if request is None:
        return Facts(None, joined((), answered), response_session_id=response_session_id)
    state = request.replica_state
    replica_id = state.replica_id if state is not None else None
    if replica_id is None:
        replica_id = request.replica_id
    if is_text:
        partitions = None
    else:
        version = document.requestHeader.requestApiVersion
        if version < FETCH_WITH_REPLICA_STATE and request.replica_id is None:
            return "request.replicaId"
        if version >= FETCH_WITH_SESSION and request.session_id is None:
            return "request.sessionId"
        partitions = joined(request.topics, answered) if request.topics or answered else []
    kind: str | None = "consumer"
    if replica_id is None:
        kind = None if is_text else kind
    elif replica_id < 0:
        replica_id = None
    else:
        kind = "raft" if has_metadata(request.topics) or has_metadata(answered) else "follower"
    epoch = state.replica_epoch if state is not None else None
    session = (request.session_id, request.session_epoch, response_session_id)
    return tuple.__new__(Facts, (kind, partitions, *session, replica_id, epoch, None, None, None))


def _joined(document: AnyDocument, is_text: bool) -> Facts:
    if is_text:
        return NO_FACTS
    request, response = document.request or None, document.response or None
    return Facts(partitions=joined(request.topics if request else (), response.topics if response else ()))


def _elect_leaders(document: AnyDocument, _is_text: bool) -> Facts:
    """Read the answer alone: a request may leave its list out, which means every partition."""
    return Facts(partitions=joined((), document.response.topics)) if document.response else NO_FACTS


def _metadata(document: AnyDocument, _is_text: bool) -> Facts:
    request, response = document.request or None, document.response or None
    version = document.requestHeader.requestApiVersion
    asked = request.topics if request else None
    names = None
    if asked or (asked is not None and version != 0):
        names = [id_or_none(topic.topic_id) if topic.name is None else topic.name for topic in asked]
    if response is None:
        return Facts(topics_asked=names)
    size = response_bytes(version, response)
    return Facts(topics_asked=names, topics_answered=len(response.topics), response_bytes=size)


def _other(_document: AnyDocument, _is_text: bool) -> Facts:
    return NO_FACTS


READERS: dict[str, Callable[[AnyDocument, bool], Facts | str]] = {
    "FETCH": _fetch,
    "PRODUCE": _joined,
    "ALTER_PARTITION_REASSIGNMENTS": _joined,
    "ELECT_LEADERS": _elect_leaders,
    "METADATA": _metadata,
}


def _rows(
    record: Record, line: Line, document: AnyDocument, facts: Facts, *, is_text: bool, own_client_prefix: str
) -> dict[str, list[Any]]:
    """Return the rows by table: one of `requests`, and those of tables that have any."""
    row = _request(record, line, document, facts, is_text, own_client_prefix)
    rows: dict[str, list[Any]] = {"requests": [row]}
    response, api = document.response or None, row.api
    if is_text or api not in DECODERS or api in ("FETCH", "PRODUCE"):
        return rows
    if api in ("METADATA", "CREATE_TOPICS"):
        if response is not None:
            rows["topics"] = [
                TopicName(row.cluster, t.topic_id, t.name, t.is_internal, row.logged_at, row.position, PARSER_VERSION)
                for t in response.topics
                if t.error_code == 0 and t.name is not None and t.topic_id not in (NO_ID, None)
            ]
    elif api in admin.TABLES:
        table, rows_of = admin.TABLES[api]
        place = admin.Place(row.cluster, row.broker_id, row.logged_at, row.logged_date)
        request = document.request or None
        call = admin.Call(document.requestHeader, row.principal, request, response, place, origin(record))
        rows[table] = list(rows_of(call))
    return {table: found for table, found in rows.items() if found}


def _request(
    record: Record, line: Line, document: AnyDocument, facts: Facts, is_text: bool, own_client_prefix: str
) -> Request:
    header, client, stamp = document.requestHeader, document.clientInformation, line.stamp
    total_ms = document.totalTimeMs
    assert stamp is not None and stamp.logged_at is not None  # noqa: S101, PT018 - `untimed` saw to it
    software = (None, None) if client is None else (_known(client.softwareName), _known(client.softwareVersion))
    response = document.response
    cells = (
        record.cluster,
        line.node_id,
        stamp.logged_at,
        stamp.logged_mono_ns,
        stamp.clock_resolution_ms,
        stamp.logged_at // DAY_US,
        stamp.logged_at - floor(total_ms * 1_000 + 0.5),
        header.requestApiKeyName,
        header.requestApiVersion,
        header.clientId,
        header.correlationId,
        document.connection,
        facts.session_id,
        facts.session_epoch,
        facts.response_session_id,
        document.listener,
        facts.kind,
        facts.follower_id,
        facts.replica_epoch,
        *software,
        document.principal,
        document.isForwarded,
        total_ms,
        document.requestQueueTimeMs,
        document.localTimeMs,
        document.remoteTimeMs,
        document.responseQueueTimeMs,
        document.sendTimeMs,
        document.throttleTimeMs,
        _error_code(response) if response else None,
        facts.partitions,
        facts.topics_asked,
        facts.topics_answered,
        facts.response_bytes,
        None if header.clientId is None else header.clientId.startswith(own_client_prefix),
        _flags(document, is_text),
        record.node,
        record.source,
        record.position,
        record.topic,
        record.partition,
        record.offset,
        PARSER_VERSION,
    )
    return tuple.__new__(Request, cells)


def _known(name: str | None) -> str | None:
    return None if name == "unknown" else name


def _error_code(response: Any) -> int | None:  # noqa: ANN401 - a struct of `bodies`, or anything
    code = getattr(response, "error_code", None)
    return code if type(code) is int and -(2**31) <= code < 2**31 else None


def _flags(document: AnyDocument, is_text: bool) -> list[str]:
    gap = document.totalTimeMs - (
        document.requestQueueTimeMs
        + document.localTimeMs
        + document.remoteTimeMs
        + document.responseQueueTimeMs
        + document.sendTimeMs
    )
    flags = []
    if not -FLOAT_NOISE_MS <= gap <= SLACK_MS + FLOAT_NOISE_MS:
        flags.append("parts_do_not_add_up")
    if is_text:
        return [*flags, "text_form"]
    if not document.request and is_unlogged(document.request):
        flags.append("no_request_body")
    if not document.response and is_unlogged(document.response):
        flags.append("no_response_body")
    return flags
