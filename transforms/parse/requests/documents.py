"""
Decode the JSON document of a request line: header, times, client and the two bodies of its API.

The API name is found in the text first, so that one pass decodes the JSON with the API's structs.
"""

import re
from typing import Any, Generic, Literal, TypeVar

from msgspec import UNSET, DecodeError, UnsetType
from msgspec.json import Decoder

from transforms.parse.documents import Misread, decode
from transforms.parse.record import Quarantined
from transforms.parse.requests import bodies
from transforms.parse.requests.bodies import Body, Int

Q = TypeVar("Q")
R = TypeVar("R")

MARK = "Completed request:"
API_KEY = b'"requestApiKeyName":"'
TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
SHOWN_END_CHARS = 60

Unlogged = Literal[""] | None
"""A body that Kafka did not log: `""` up to 4.3, null since 4.4."""

Anything = str | int | float | bool | list[Any] | UnsetType | None


class RequestHeader(Body):
    """`RequestHeader`."""

    request_api_key_name: str
    request_api_version: Int
    correlation_id: Int
    client_id: str | None = None


class Client(Body):
    """`ClientInformation` (KIP-511)."""

    software_name: str | None = None
    software_version: str | None = None


class RequestDocument(Body, Generic[Q, R], kw_only=True):
    """The document of a completed request (`RequestConvertToJson.requestDescMetrics`)."""

    request_header: RequestHeader
    connection: str
    total_time_ms: float
    request_queue_time_ms: float
    local_time_ms: float
    remote_time_ms: float
    response_queue_time_ms: float
    send_time_ms: float
    throttle_time_ms: float | None = None
    principal: str | None = None
    listener: str | None = None
    is_forwarded: bool | None = None
    client_information: Client | None = None
    request: Q
    response: R


class OtherDocument(RequestDocument[Any, Any], kw_only=True):
    """The document of an API whose bodies are not read and may be anything."""

    request: Body | Anything = UNSET
    response: bodies.OtherResponse | Anything = UNSET


AnyDocument = RequestDocument[Any, Any]
TIMES = (
    "totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseQueueTimeMs", "sendTimeMs",
)  # fmt: skip


def _decoder(request: Any, response: Any) -> Decoder[AnyDocument]:  # noqa: ANN401 (types)
    return Decoder(RequestDocument[request | Unlogged, response | Unlogged])


DECODERS = {
    "FETCH": _decoder(bodies.FetchRequest, bodies.FetchResponse),
    "PRODUCE": _decoder(bodies.ProduceRequest, bodies.ProduceResponse),
    "METADATA": _decoder(bodies.MetadataRequest, bodies.MetadataResponse),
    "CREATE_TOPICS": _decoder(Body, bodies.CreateTopicsResponse),
    "ELECT_LEADERS": _decoder(Body, bodies.ElectLeadersResponse),
    "ALTER_PARTITION_REASSIGNMENTS": _decoder(
        bodies.AlterReassignmentsRequest, bodies.AlterReassignmentsResponse
    ),
    "LIST_PARTITION_REASSIGNMENTS": _decoder(Body, bodies.ListReassignmentsResponse),
    "INCREMENTAL_ALTER_CONFIGS": _decoder(bodies.AlterConfigsRequest, bodies.AlterConfigsResponse),
    "ALTER_PARTITION": _decoder(bodies.AlterPartitionRequest, bodies.AlterPartitionResponse),
}
DECODERS["ALTER_CONFIGS"] = DECODERS["INCREMENTAL_ALTER_CONFIGS"]
DECODERS["ALTER_ISR"] = DECODERS["ALTER_PARTITION"]
FETCH_2_8 = _decoder(bodies.FetchRequest, bodies.FetchResponse28)
OTHER: Decoder[AnyDocument] = Decoder(OtherDocument)


DECODE = {name.encode(): (name, decoder.decode) for name, decoder in DECODERS.items()}
DECODE_OTHER = ("", OTHER.decode)


def read_document(value: bytes) -> AnyDocument | Quarantined:
    """Return the document of a JSON text, or why the text is none."""
    start = value.find(API_KEY) + len(API_KEY)
    api, decode_document = DECODE.get(value[start : value.find(b'"', start)], DECODE_OTHER)
    try:
        document = decode_document(value)
    except (DecodeError, RecursionError):
        return _second_reading(value.decode(), api)
    name = document.request_header.request_api_key_name
    return document if name == api else _named(value.decode(), document, api)


def _second_reading(text: str, api: str) -> AnyDocument | Quarantined:
    """Decode a text that the first decoder refused: older fields, a lone surrogate, or an error."""
    decoder = FETCH_2_8 if api == "FETCH" and '"partitionResponses"' in text else DECODERS.get(api, OTHER)
    document = decode(text, decoder)
    return misread(text, document) if isinstance(document, Misread) else _named(text, document, api)


def _named(text: str, document: AnyDocument, api: str) -> AnyDocument | Quarantined:
    """Return the document for the API in its header; the name in the text may be escaped or repeated."""
    name = document.request_header.request_api_key_name
    return document if name == api or (name not in DECODERS and not api) else _second_reading(text, name)


def is_unlogged(body: object) -> bool:
    """Return whether Kafka did not log a body."""
    return body is None or body == ""


def shown_end(text: str) -> str:
    """Return the length and the end of a bad line, as `Quarantined.detail`."""
    return f"{len(text)} characters, ends with: {text[-SHOWN_END_CHARS:]}"


def misread(text: str, error: Misread) -> Quarantined:
    """Return the quarantine reason of a text that is not the expected document, with the field's path."""
    if not error.field:
        end = TRAILING.search(error.detail)
        if end and (MARK in text or b"{" in text.encode()[int(end[1]) - 3 : int(end[1]) + 3]):
            return Quarantined("several_objects", shown_end(text))
        return Quarantined("bad_json", f"{error.detail}; {shown_end(text)}")
    if "out of range" in error.detail and error.field in TIMES:
        return Quarantined("impossible_duration", error.field)
    is_missing = "missing required field" in error.detail
    return Quarantined("missing_field", error.field if is_missing else f"{error.field}: {error.detail}")
