"""
Parse one line of a NetworkClient log (`org.apache.kafka.clients.NetworkClient` at DEBUG).

`Sending X request with header RequestHeader(...) and timeout N to node M: ...` and
`Received X response from node M for request with header RequestHeader(...): ...`, after a prefix that names
the client: `[ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] `. Both repeat the request's header, so
gold pairs a request and its answer by the correlation id.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from transforms.parse.columns import integer, origin, stamp_columns
from transforms.parse.line import Line, read_line, skipped, untimed
from transforms.parse.record import Kept, Outcome, Quarantined, Record, sample

LOGGER = "org.apache.kafka.clients.NetworkClient"
MARK = " with header RequestHeader("
REQUEST_MARK = "Completed request:"
FETCH_WITH_SESSION = 7  # KIP-227

HEAD_BYTES = 4_096
"""Header and fetch session come first; what is fetched can be megabytes."""

FORM = (
    r"(?:\[(NAME)\] )?(Sending|Received) [A-Z0-9_]++ (?:request|response from node (-?\d++) for request)"
    r" with header RequestHeader\(apiKey=([A-Z0-9_]++), apiVersion=(\d++), clientId=(ID)"
    r", correlationId=(-?\d++)(?:, headerVersion=-?\d++)?\)(?: and timeout -?\d++ to node (-?\d++))?: "
)
NO_BREAKS = r"\x01\n\r\x85\u2028\u2029"
"""What the names of clients do not hold: line breaks, as Java has them, and a byte that separates."""

PLAIN_EVENT, EVENT = (
    re.compile(FORM.replace("NAME", name).replace("ID", client_id), re.ASCII)
    for name, client_id in (
        (rf"[^\]{NO_BREAKS}]*+", rf"[^,{NO_BREAKS}]*+"),
        (rf"[^{NO_BREAKS}]*?", rf"[^{NO_BREAKS}]*?"),
    )
)
"""The same form: of names without `]` and `,`, which is quick to match, and of any names."""

ID, NUMBER = re.compile(r"\d++", re.ASCII), re.compile(r"-?\d++", re.ASCII)


class ClientEvent(NamedTuple):
    """A row of `silver.client_events`."""

    cluster: str | None
    node_id: int | None
    logged_at: int | None
    logged_mono_ns: int | None
    clock_resolution_ms: float | None
    logged_date: int | None
    direction: str
    component: str | None
    follower_id: int | None
    fetcher_id: int | None
    destination_id: int | None
    api: str | None
    api_version: int | None
    client_id: str | None
    correlation_id: int | None
    session_id: int | None
    session_epoch: int | None
    node: str | None
    source: str | None
    position: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    parser_version: int


def parse(record: Record) -> Outcome:
    """Parse one line into a row of `client_events`; a line with a request's header is never skipped."""
    line = read_line(record)
    if isinstance(line, Quarantined):
        return line
    outcome = None
    if MARK in line.text:
        outcome = untimed(line, record) or _event(line, record)
        if isinstance(outcome, Quarantined):
            return outcome
    if REQUEST_MARK in line.text:
        return Quarantined("request_in_client_log", sample(line.text))
    return outcome or skipped(line, LOGGER, "not_a_request")


def _event(line: Line, record: Record) -> Kept | Quarantined:
    message = line.message
    head = message[:HEAD_BYTES]
    if not head.isascii():
        head = head.encode()[:HEAD_BYTES].decode(errors="ignore")
    found = PLAIN_EVENT.match(head) or EVENT.match(head)
    if record.cluster is None:
        return Quarantined("no_cluster", "the record names no cluster")
    if found and message.find(MARK, found.end()) >= 0:
        return Quarantined("several_objects", "the header stands twice in the line")
    if message[-1:] != ")" or found is None:
        return Quarantined("unknown_form" if message[-1:] == ")" else "truncated_line", sample(message))
    prefix, verb, from_node, api, version, client_id, correlation, to_node = found.groups()
    component, follower_id, fetcher_id = _client(prefix)
    is_sent, session_id, epoch = verb == "Sending", None, None
    if api == "FETCH":
        session_id = _number(NUMBER, "sessionId=", head, found.end())
        epoch = _number(NUMBER, "sessionEpoch=", head, found.end()) if is_sent else None
    event: ClientEvent = tuple.__new__(
        ClientEvent,
        (
            record.cluster,
            line.node_id,
            *stamp_columns(line.stamp),
            "sent" if is_sent else "received",
            component,
            follower_id,
            fetcher_id,
            integer(to_node if is_sent else from_node),
            api,
            integer(version),
            None if client_id in {"", "null"} else client_id,
            integer(correlation),
            session_id,
            epoch,
            *origin(record),
        ),
    )
    return _unfit(event) or Kept({"client_events": [event]})


def _unfit(event: ClientEvent) -> Quarantined | None:
    """Return why an event lacks what every event has, or was not written by its node."""
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


@lru_cache(maxsize=1_024)
def _client(prefix: str | None) -> tuple[str | None, int | None, int | None]:
    """Return component, replica and fetcher of a line's prefix."""
    if not prefix:
        return None, None, None
    component, *_ = prefix.partition(" ")
    if not prefix.startswith("ReplicaFetcher "):
        return component, None, None
    return component, _number(ID, "replicaId=", prefix), _number(ID, "fetcherId=", prefix)


def _number(pattern: re.Pattern[str], name: str, text: str, start: int = 0) -> int | None:
    """Return the number after the first `name=` that has one and begins a word."""
    at = text.find(name, start)
    while at >= 0:
        end = at + len(name)
        number = pattern.match(text, end)
        if number and not (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            return integer(number[0])
        at = text.find(name, end)
    return None
