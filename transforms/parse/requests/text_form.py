"""
Parse completed requests in the text form of Kafka 2.7 and older, before JSON.

`RequestChannel.updateRequestMetrics` concatenates the header, ` -- `, the request's text, `,response:`,
` from connection `, and then times and names as `key:value`. This parser reads the header, the times, and the
session and replica id of a FETCH; it does not read other bodies.
"""

import re
from typing import Any

from msgspec import ValidationError, convert

from transforms.parse.columns import integer
from transforms.parse.documents import Misread
from transforms.parse.record import Quarantined, sample
from transforms.parse.requests.bodies import FetchRequest
from transforms.parse.requests.documents import MARK, TIMES, AnyDocument, OtherDocument, misread

START = MARK + "RequestHeader("
END_CHARS = 4_096
"""Most characters of header and footer that are read; client ids and principals can be long."""

CONNECTION = " from connection "
HEADER = re.compile(
    r"RequestHeader\(apiKey=([A-Z0-9_]+), apiVersion=([0-9]+), clientId=(.*?), correlationId=(-?[0-9]+)"
    r"(?:, headerVersion=-?[0-9]+)?\) -- "
)
NUMBER = r"([-+.0-9Ee]+)"
# Names and versions of KIP-511 have no parentheses, which keeps the match short.
FOOTER = re.compile(
    rf"(\S+);totalTime:{NUMBER},requestQueueTime:{NUMBER},localTime:{NUMBER},remoteTime:{NUMBER},"
    rf"(?:throttleTime:{NUMBER},)?responseQueueTime:{NUMBER},sendTime:{NUMBER},"
    r"securityProtocol:\w+,principal:(.*?)(?:,listener:([^,]+))?"
    r"(?:,clientInformation:ClientInformation\(softwareName=([^,()]*), softwareVersion=([^,()]*)\))?"
    r"(?:,forwarded:(?:true|false))?(?:,temporaryMemoryBytes:[0-9]+)?"
    r"(?:,messageConversionsTime:[-+.0-9Ee]+)?",
    re.ASCII,
)
REPLICA = re.compile(r"replica_?[iI]d=(-?[0-9]+)")
SESSION = re.compile(r"session_?[iI]d=(-?[0-9]+)")
EPOCH = re.compile(r"session_?[eE]poch=(-?[0-9]+)")


def read_text(message: str) -> AnyDocument | Quarantined:
    """Return the document as of a JSON line; only a FETCH has a request body, and it has no topics."""
    start = message[len(MARK) : len(MARK) + END_CHARS]
    if MARK in message[len(MARK) :]:
        return Quarantined("several_objects", sample(message))
    match = HEADER.match(start)
    # The last match counts: a client id may contain these words, but the text after the bodies cannot.
    footer = FOOTER.fullmatch(message.rpartition(CONNECTION)[2][:END_CHARS])
    if match is None or footer is None:
        return Quarantined("bad_text_form", sample(message))
    api, version, client_id, correlation_id = match.groups()
    connection, total, queue, local, remote, throttle, response_queue, send, *names = footer.groups()
    principal, listener, software_name, software_version = (name or None for name in names)
    if principal and (",listener:" in principal or ",clientInformation:" in principal):
        return Quarantined("bad_text_form", sample(message))  # The principal hides the fields after it.
    header = {"requestApiKeyName": api, "requestApiVersion": version, "correlationId": correlation_id}
    fields = {
        "requestHeader": header | {"clientId": None if client_id == "null" else client_id},
        "connection": connection,
        **dict(zip(TIMES, (total, queue, local, remote, response_queue, send), strict=True)),
        "throttleTimeMs": throttle,
        "principal": principal,
        "listener": listener,
        "clientInformation": {"softwareName": software_name, "softwareVersion": software_version},
    }
    try:
        document = convert(fields, OtherDocument, strict=False)
    except ValidationError as error:
        field = str(error).rpartition("`$.")[2].removesuffix("`")
        return misread(message, Misread(field, str(error)))
    if api == "FETCH":
        document.request = _fetch(start[match.end() :])
    return document


def _fetch(request: str) -> Any:  # noqa: ANN401 (a struct of `bodies`)
    found = (pattern.search(request) for pattern in (SESSION, EPOCH, REPLICA))
    session, epoch, replica = (integer(match[1]) if match else None for match in found)
    return FetchRequest(topics=[], session_id=session, session_epoch=epoch, replica_id=replica)
