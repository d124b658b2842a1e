"""The row of `silver.requests` that a request line gives."""

from math import floor
from typing import Any, NamedTuple

from msgspec.structs import astuple

from transforms.parse.columns import stamp_columns
from transforms.parse.line import Line
from transforms.parse.record import PARSER_VERSION, Quarantined, Record
from transforms.parse.requests.documents import TIMES, AnyDocument, Client, is_unlogged
from transforms.parse.requests.facts import Facts
from transforms.parse.requests.partitions import Partition

LONGEST_MS = 1e10
"""A duration of months is no duration."""

SLACK_MS = 0.005
"""Total and its five parts are each cut to whole microseconds, so they differ by less than 5 of them."""

FLOAT_NOISE_MS = 1e-6
NO_CLIENT = Client()


class Request(NamedTuple):
    """A row of `silver.requests`."""

    cluster: str | None
    broker_id: int | None
    logged_at: int | None
    logged_mono_ns: int | None
    clock_resolution_ms: float | None
    logged_date: int | None
    started_at: int | None
    api: str
    api_version: int
    client_id: str | None
    correlation_id: int
    connection: str
    session_id: int | None
    session_epoch: int | None
    response_session_id: int | None
    listener: str | None
    kind: str | None
    follower_id: int | None
    replica_epoch: int | None
    software_name: str | None
    software_version: str | None
    principal: str | None
    is_forwarded: bool | None
    total_ms: float
    request_queue_ms: float
    local_ms: float
    remote_ms: float
    response_queue_ms: float
    send_ms: float
    throttle_ms: float | None
    error_code: int | None
    partitions: list[Partition] | None
    topics_asked: list[str | None] | None
    topics_answered: int | None
    response_bytes: int | None
    is_own_traffic: bool | None
    quality_flags: list[str]
    node: str | None
    source: str | None
    position: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    parser_version: int


def request_row(
    record: Record, line: Line, document: AnyDocument, facts: Facts, own_client_prefix: str
) -> Request | Quarantined:
    """Return the row, or why its numbers are impossible; `own_client_prefix` marks our own traffic."""
    # All fields at once: each API has its own class, and Python reads attributes of many classes slowly.
    (
        header, connection, total, queue, local, remote, answering, send,
        throttle, principal, listener, is_forwarded, client, request, response,
    ) = astuple(document)  # fmt: skip
    times = (total, queue, local, remote, answering, send)
    if min(times) < 0 or max(times) > LONGEST_MS:
        wrong = [name for name, ms in zip(TIMES, times, strict=True) if not 0 <= ms <= LONGEST_MS]
        return Quarantined("impossible_duration", ", ".join(wrong))
    (
        kind, follower_id, epoch, session_id, session_epoch, response_session,
        partitions, asked, answered, size,
    ) = facts  # fmt: skip
    _, cluster, node, _, _, source, position, topic, partition, offset, _, _, _, _ = record
    _, _, _, node_id, stamp = line
    # A KRaft node that knows no leader yet may ask itself for the metadata; the answer is that it is none.
    if kind == "follower" and follower_id == node_id:
        return Quarantined("node_is_another_replica", f"a fetch of replica {follower_id} on {node}")
    client_id, client = header.client_id, client or NO_CLIENT
    software, version = client.software_name, client.software_version
    logged_at, mono_ns, resolution_ms, logged_date = stamp_columns(stamp)
    flags = []
    if (
        not -FLOAT_NOISE_MS
        <= total - (queue + local + remote + answering + send)
        <= SLACK_MS + FLOAT_NOISE_MS
    ):
        flags.append("parts_do_not_add_up")
    if not request and is_unlogged(request):
        flags.append("no_request_body")
    if not response and is_unlogged(response):
        flags.append("no_response_body")
    cells = (
        cluster, node_id, logged_at, mono_ns, resolution_ms, logged_date,
        None if logged_at is None else logged_at - floor(total * 1_000 + 0.5),
        header.request_api_key_name, header.request_api_version, client_id, header.correlation_id,
        connection, session_id, session_epoch, response_session, listener,
        kind, follower_id, epoch,
        None if software == "unknown" else software, None if version == "unknown" else version,
        principal, is_forwarded, total, queue, local, remote, answering, send,
        throttle, _error_code(response), partitions, asked, answered, size,
        None if client_id is None else client_id.startswith(own_client_prefix), flags,
        node, source, position, topic, partition, offset, PARSER_VERSION,
    )  # fmt: skip
    return tuple.__new__(Request, cells)


def _error_code(response: Any) -> int | None:  # noqa: ANN401 - a struct of `bodies`, or anything
    code = getattr(response, "error_code", None)
    return code if type(code) is int and -(2**31) <= code < 2**31 else None
