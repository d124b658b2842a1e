"""
The document of a request line: header, times, client, and the two bodies as structs of their API.

The API's name is looked up in the text first, so that the JSON is decoded once, with its bodies.
"""

import re
from typing import Any, Generic, Literal, TypeVar

from msgspec import UNSET, DecodeError, Struct, UnsetType
from msgspec.json import Decoder

from transforms.parse.documents import Misread, decode
from transforms.parse.record import Quarantined
from transforms.parse.requests import bodies
from transforms.parse.requests.bodies import Body, Int

Q = TypeVar("Q")
R = TypeVar("R")

MARK = "Completed request:"
API_KEY = '"requestApiKeyName":"'
TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
SHOWN_END_CHARS = 60

Unlogged = Literal[""] | None
"""A body that Kafka left out: `""` up to 4.3, null since 4.4."""

Anything = str | int | float | bool | list[Any] | UnsetType | None


class Header(Struct, gc=False):
    """`RequestHeader`."""

    requestApiKeyName: str
    requestApiVersion: Int
    correlationId: Int
    clientId: str | None = None


class Client(Struct, gc=False):
    """`ClientInformation` (KIP-511)."""

    softwareName: str | None = None
    softwareVersion: str | None = None


class Document(Struct, Generic[Q, R], kw_only=True, gc=False):
    """A completed request (`RequestConvertToJson.requestDescMetrics`)."""

    requestHeader: Header
    connection: str
    totalTimeMs: float
    requestQueueTimeMs: float
    localTimeMs: float
    remoteTimeMs: float
    responseQueueTimeMs: float
    sendTimeMs: float
    throttleTimeMs: float | None = None
    principal: str | None = None
    listener: str | None = None
    isForwarded: bool | None = None
    clientInformation: Client | None = None
    request: Q
    response: R


class OtherDocument(Document[Any, Any], kw_only=True, gc=False):
    """A request of an API whose bodies are not read: they may be anything."""

    request: Body | Anything = UNSET
    response: bodies.OtherResponse | Anything = UNSET


PARTS = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseQueueTimeMs", "sendTimeMs")
TIMES = ("totalTimeMs", *PARTS)

AnyDocument = Document[Any, Any]

_ALTER_CONFIGS: Decoder[AnyDocument] = Decoder(
    Document[bodies.AlterConfigsRequest | Unlogged, bodies.AlterConfigsResponse | Unlogged]
)
_ALTER_PARTITION: Decoder[AnyDocument] = Decoder(
    Document[bodies.AlterPartitionRequest | Unlogged, bodies.AlterPartitionResponse | Unlogged]
)
DECODERS: dict[str, Decoder[AnyDocument]] = {
    "FETCH": Decoder(Document[bodies.FetchRequest | Unlogged, bodies.FetchResponse | Unlogged]),
    "PRODUCE": Decoder(Document[bodies.ProduceRequest | Unlogged, bodies.ProduceResponse | Unlogged]),
    "METADATA": Decoder(Document[bodies.MetadataRequest | Unlogged, bodies.MetadataResponse | Unlogged]),
    "CREATE_TOPICS": Decoder(Document[Body | Unlogged, bodies.CreateTopicsResponse | Unlogged]),
    "ELECT_LEADERS": Decoder(Document[Body | Unlogged, bodies.ElectLeadersResponse | Unlogged]),
    "ALTER_PARTITION_REASSIGNMENTS": Decoder(
        Document[bodies.AlterReassignmentsRequest | Unlogged, bodies.AlterReassignmentsResponse | Unlogged]
    ),
    "LIST_PARTITION_REASSIGNMENTS": Decoder(
        Document[Body | Unlogged, bodies.ListReassignmentsResponse | Unlogged]
    ),
    "INCREMENTAL_ALTER_CONFIGS": _ALTER_CONFIGS,
    "ALTER_CONFIGS": _ALTER_CONFIGS,
    "ALTER_PARTITION": _ALTER_PARTITION,
    "ALTER_ISR": _ALTER_PARTITION,
}
OTHER: Decoder[AnyDocument] = Decoder(OtherDocument)
FETCH_2_8: Decoder[AnyDocument] = Decoder(
    Document[bodies.FetchRequest | Unlogged, bodies.FetchResponse28 | Unlogged]
)


def read_document(text: str) -> AnyDocument | Quarantined:
    """Return the document that the whole JSON text is, or why it is none."""
    start = text.find(API_KEY) + len(API_KEY)
    api = text[start : text.find('"', start)]
    try:
        document = DECODERS.get(api, OTHER).decode(text)
    except (DecodeError, RecursionError):
        return _second_reading(text, api)
    # The name may be written with an escape, or be there twice.
    name = document.requestHeader.requestApiKeyName
    return document if name == api else _second_reading(text, name)


def _second_reading(text: str, api: str) -> AnyDocument | Quarantined:
    """Read a text that is not the expected document: older fields, half a surrogate pair, or an error."""
    decoder = FETCH_2_8 if api == "FETCH" and '"partitionResponses"' in text else DECODERS.get(api, OTHER)
    document = decode(text, decoder)
    return _quarantined(text, document) if isinstance(document, Misread) else document


def is_unlogged(body: object) -> bool:
    """Tell a body that Kafka left out."""
    return body is None or body == ""


def shown_end(text: str) -> str:
    """Return length and end of a bad line, for people."""
    return f"{len(text)} characters, ends with: {text[-SHOWN_END_CHARS:]}"


def _quarantined(text: str, error: Misread) -> Quarantined:
    if not error.field:
        end = TRAILING.search(error.detail)
        if end and (MARK in text or b"{" in text.encode()[int(end[1]) - 3 : int(end[1]) + 3]):
            return Quarantined("several_objects", shown_end(text))
        return Quarantined("bad_json", f"{error.detail}; {shown_end(text)}")
    if "out of range" in error.detail and error.field in TIMES:
        return Quarantined("impossible_duration", error.field)
    is_missing = "missing required field" in error.detail
    return Quarantined("missing_field", error.field if is_missing else f"{error.field}: {error.detail}")

