"""
Parse one line of a NetworkClient log (`org.apache.kafka.clients.NetworkClient` at DEBUG).

`Sending X request with header RequestHeader(...) and timeout N to node M: ...` and
`Received X response from node M for request with header RequestHeader(...): ...` follow a prefix that names
the client: `[ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] `. Four clients of a broker have no space
after it: `[Persister broker=1]` of share groups, AddPartitionsToTxnManager, AssignmentsManager and
NetworkPartitionMetadataClient. Both lines have the request's header, so gold pairs a request with its
response by the correlation id.
"""
# ruff: noqa: ANN401 (structs and rows whose types are made at run time)

import re
from functools import lru_cache
from typing import Any, NamedTuple

from transforms.parse.columns import ORIGIN, STAMP, integer, origin, row_type
from transforms.parse.line import Line, read_line, skipped
from transforms.parse.record import NO_CLUSTER, Kept, Outcome, Quarantined, Record, sample

LOGGER = "org.apache.kafka.clients.NetworkClient"
MARK = " with header RequestHeader("
MARK_BYTES = MARK.encode()
REQUEST_MARK = b"Completed request:"
FETCH_WITH_SESSION = 7  # KIP-227

HEAD_BYTES = 4_096
"""The header and the fetch session are at the start; the list of partitions can have megabytes."""

BEGIN = (
    r"(?:\[(NAME)\] ?)?(Sending|Received) [A-Z0-9_]++ (?:request|response from node (-?\d++) for request)"
    r" with header RequestHeader\(apiKey=([A-Z0-9_]++), apiVersion=(\d++), clientId=(ID)"
)
CORRELATION = ", correlationId="
END = CORRELATION + r"(-?\d++)(?:, headerVersion=-?\d++)?\)(?: and timeout -?\d++ to node (-?\d++))?: "
NO_BREAKS = r"\x01\n\r\x85\u2028\u2029"
"""Characters that client names do not contain: Java's line breaks, and the byte \\x01."""

# A name may contain `]` or `,`. Few do, and the patterns for the others match without backtracking.
PLAIN_BEGIN = re.compile(
    BEGIN.replace("NAME", rf"[^\]{NO_BREAKS}]*+").replace("ID", rf"[^,{NO_BREAKS}]*+"), re.ASCII
)
PLAIN_END = re.compile(END, re.ASCII)
EVENT = re.compile(re.sub("NAME|ID(?=\\))", lambda _: rf"[^{NO_BREAKS}]*?", BEGIN) + END, re.ASCII)
SESSION = re.compile(
    r"[^s]*+(?:s(?!ession)[^s]*+)*+(?<=[ (])sessionId=(-?\d{1,9})(?!\d)(?:, sessionEpoch=(-?\d{1,9})(?!\d))?",
    re.ASCII,
)
"""A session as Kafka writes it; `_number` reads any other form."""

ID, NUMBER = re.compile(r"\d++", re.ASCII), re.compile(r"-?\d++", re.ASCII)

ClientEvent = row_type(
    "ClientEvent",
    "cluster node_id",
    STAMP,
    "direction component follower_id fetcher_id destination_id",
    "api api_version client_id correlation_id session_id session_epoch",
    ORIGIN,
)


class LineHeader(NamedTuple):
    """The part of a line before the correlation id, which all lines of one connection share."""

    direction: str
    component: str | None
    follower_id: int | None
    fetcher_id: int | None
    from_node_id: int | None
    api: str
    api_version: int | None
    client_id: str | None


def parse(record: Record) -> Outcome:
    """Parse one line into a row of `client_events`. A line with a request header is never skipped."""
    line = read_line(record)
    if isinstance(line, Quarantined):
        return line
    outcome = None
    if MARK_BYTES in line.value:
        outcome = line.fault or _event(line, record)
        if isinstance(outcome, Quarantined):
            return outcome
    if REQUEST_MARK in line.value:
        return Quarantined("request_in_client_log", sample(line.text))
    return outcome or skipped(line, LOGGER, "not_a_request")


def _event(line: Line, record: Record) -> Kept | Quarantined:
    message = line.message
    head = message[:HEAD_BYTES]
    if not head.isascii():
        head = head.encode()[:HEAD_BYTES].decode(errors="ignore")
    header, correlation, to_node, start = _header(head)
    if record.cluster is None:
        return NO_CLUSTER
    if header and message.find(MARK, start) >= 0:
        return Quarantined("several_objects", "the header is in the line twice")
    # Kafka logs a PRODUCE request without its data, as a map in braces: `{acks=1,timeout=30000,...}`.
    is_whole = message[-1:] == ("}" if header and message.startswith("{", start) else ")")
    if header is None or not is_whole:
        return Quarantined("unknown_form" if is_whole else "truncated_line", sample(message))
    is_sent = header.direction == "sent"
    session = _session(head, start, is_sent=is_sent) if header.api == "FETCH" else (None, None)
    direction, component, follower_id, fetcher_id, node_id, *request = header
    sender = (direction, component, follower_id, fetcher_id, integer(to_node) if is_sent else node_id)
    ids = (integer(correlation), *session)
    cells = (record.cluster, line.node_id, *line.stamp, *sender, *request, *ids, *origin(record))
    event = tuple.__new__(ClientEvent, cells)
    return _unfit(event) or tuple.__new__(Kept, ({"client_events": [event]}, ()))


def _header(head: str) -> tuple[LineHeader | None, str, str | None, int]:
    """Return the header, the correlation id, the destination node and the position of the body."""
    at = head.find(CORRELATION)
    header = _plain_header(head[:at]) if at >= 0 else None
    end = PLAIN_END.match(head, at) if header else None
    if header and end:
        return header, end[1], end[2], end.end()
    event = EVENT.match(head)
    if event is None:
        return None, "", None, 0
    *begin, correlation, to_node = event.groups()
    return _named(*begin), correlation, to_node, event.end()


@lru_cache(maxsize=1_024)
def _plain_header(begin: str) -> LineHeader | None:
    found = PLAIN_BEGIN.fullmatch(begin)
    return _named(*found.groups()) if found else None


def _named(  # noqa: PLR0913, PLR0917 (the groups of a pattern)
    prefix: str | None, verb: str, from_node: str | None, api: str, version: str, client_id: str
) -> LineHeader:
    prefix = prefix or None
    fetcher = prefix if prefix and prefix.startswith("ReplicaFetcher ") else ""
    return LineHeader(
        "sent" if verb == "Sending" else "received",
        prefix and prefix.partition(" ")[0],
        _number(ID, "replicaId=", fetcher),
        _number(ID, "fetcherId=", fetcher),
        integer(from_node),
        api,
        integer(version),
        None if client_id in {"", "null"} else client_id,
    )


def _session(head: str, start: int, *, is_sent: bool) -> tuple[int | None, int | None]:
    """Return the id and epoch of a fetch session; a response has no epoch."""
    found = SESSION.match(head, start)
    session_id = int(found[1]) if found else _number(NUMBER, "sessionId=", head, start)
    if not is_sent:
        return session_id, None
    return session_id, int(found[2]) if found and found[2] else _number(NUMBER, "sessionEpoch=", head, start)


def _unfit(event: Any) -> Quarantined | None:
    """Return the fault of an event without a required field, or of one that another node wrote."""
    if event.destination_id is None or event.api_version is None or event.correlation_id is None:
        required = ("destination_id", "api_version", "correlation_id")
        missing = (name for name in required if getattr(event, name) is None)
        return Quarantined("missing_field", ", ".join(missing))
    if event.session_id is None and event.api == "FETCH" and event.api_version >= FETCH_WITH_SESSION:
        return Quarantined("missing_field", "sessionId")
    follower_id, node_id = event.follower_id, event.node_id
    if follower_id is not None and node_id is not None and follower_id != node_id:
        return Quarantined("node_is_another_replica", f"written by replica {follower_id} on {event.node}")
    return None


def _number(pattern: re.Pattern[str], name: str, text: str, start: int = 0) -> int | None:
    """Return the number after the first `name=` that starts a word and has a number."""
    at = text.find(name, start)
    while at >= 0:
        end = at + len(name)
        number = pattern.match(text, end)
        if number and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            return integer(number[0])
        at = text.find(name, end)
    return None
