"""Turn Kafka messages, or rows of bronze, into records for the parsers and into rows of bronze."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from conf.names import Header
from engine.ingest.arrow_rows import arrow_schema
from transforms.parse.record import Record

USUAL = (Header.CLUSTER, Header.TIME_ZONE, Header.NODE, Header.KIND, Header.SOURCE, Header.POSITION)
"""The headers that a collector writes with a whole, plain line, in its order."""

FIELDS = (Header.CLUSTER, Header.NODE, Header.KIND, Header.TIME_ZONE, Header.SOURCE)
"""The headers that are the fields of a record between its value and its position, in that order."""

IN_ORDER = (*USUAL, Header.CONTENT_ENCODING, Header.CHUNK)
"""Headers that have a column in bronze; the others stay in `headers`, for the parser of their kind."""

RAW = arrow_schema("bronze", "request_log")
"""All bronze tables have one schema."""

Headers = list[tuple[str, bytes | None]]


class Batch(NamedTuple):
    """Records of one batch, and their rows of bronze."""

    records: list[Record]
    bronze: pa.RecordBatch


def from_messages(messages: Sequence[Message], ingested_at: int) -> Batch:
    """
    Return messages with their headers parted into columns; `ingested_at` in microseconds.

    A record without a position gets `kafka/TOPIC/PARTITION/OFFSET`.
    """
    topics = [message.topic() for message in messages]
    partitions = [message.partition() for message in messages]
    offsets = [message.offset() for message in messages]
    values, stamps = [message.value() for message in messages], [message.timestamp() for message in messages]
    instants = [None if kind == TIMESTAMP_NOT_AVAILABLE else millis * 1_000 for kind, millis in stamps]
    texts, others = _headers(messages)
    named = dict(zip(IN_ORDER, texts, strict=True))
    places = zip(named[Header.POSITION], topics, partitions, offsets, strict=True)
    named[Header.POSITION] = [
        f"kafka/{topic}/{partition}/{offset}" if position is None else position
        for position, topic, partition, offset in places
    ]
    fields = (
        values,
        *(named[name] for name in FIELDS),
        *(named[Header.POSITION], topics, partitions, offsets, instants),
        *(named[Header.CHUNK], named[Header.CONTENT_ENCODING], others),
    )
    columns: dict[str, Sequence[Any]] = {
        **{name.name.lower(): texts for name, texts in named.items()},
        "value": values,
        "topic": topics,
        "partition": partitions,
        "offset": offsets,
        "key": [message.key() for message in messages],
        "headers": [_pairs(of) for of in others],
        "timestamp_type": [kind - 1 for kind, _ in stamps],  # Kafka's own numbers begin at 0 for CreateTime
    }
    return Batch(_records(fields), _bronze(columns, instants, ingested_at))


def _bronze(
    columns: dict[str, Sequence[Any]], instants: Sequence[int | None], ingested_at: int
) -> pa.RecordBatch:
    """Return rows of bronze: the columns of messages, and the three columns that are instants or days."""
    at = pa.array(instants, RAW.field("timestamp").type)
    made = {
        "timestamp": at,
        "ingested_at": pa.repeat(pa.scalar(ingested_at, RAW.field("ingested_at").type), len(instants)),
        "ingest_date": pc.cast(pc.floor_temporal(at, unit="day"), pa.date32(), safe=False),
    }
    arrays = [
        made[field.name] if field.name in made else pa.array(columns[field.name], field.type) for field in RAW
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW)


def from_bronze(batch: pa.RecordBatch) -> Batch:
    """Return rows of bronze as they are."""
    column = {
        name: batch.column(name).to_pylist() for name in RAW.names if name not in ("timestamp", "headers")
    }
    others = [_tuples(of) for of in batch.column("headers").to_pylist()]
    fields = (
        *(column[name] for name in ("value", "cluster", "node", "kind", "time_zone", "source", "position")),
        *(column[name] for name in ("topic", "partition", "offset")),
        batch.column("timestamp").cast(pa.int64()).to_pylist(),
        *(column[name] for name in ("chunk", "content_encoding")),
        others,
    )
    return Batch(_records(fields), batch.select(RAW.names).cast(RAW))


def _headers(messages: Sequence[Message]) -> tuple[list[Sequence[str | None]], Sequence[Headers | None]]:
    """Return the texts of the headers in IN_ORDER by column, and all headers where they are not the usual."""
    rows, others = list[Sequence[str | None]](), list[Headers | None]()
    for message in messages:
        headers = cast("Headers | None", message.headers())
        texts = _usual(headers) if headers is not None and len(headers) == len(USUAL) else None
        rows.append(_texts(headers or []) if texts is None else texts)
        others.append(headers if texts is None else None)
    return list(map(list, zip(*rows, strict=True))), others


def _usual(headers: Headers) -> tuple[str | None, ...] | None:
    """Return the texts of exactly the usual headers; all but the position are the same for many records."""
    name, position = headers[-1]
    texts = _same(tuple(headers[:-1]))
    if texts is None or name != Header.POSITION:
        return None
    return (*texts, _text(position), None, None)


@lru_cache(maxsize=4_096)
def _same(headers: tuple[tuple[str, bytes | None], ...]) -> tuple[str | None, ...] | None:
    keys, values = zip(*headers, strict=True)
    return tuple(map(_text, values)) if keys == USUAL[:-1] else None


def _texts(headers: Headers) -> list[str | None]:
    """Return the text of each header that has a column; of one that comes twice, the first."""
    first = dict(reversed(headers))
    return [_text(first.get(name.value)) for name in IN_ORDER]


def _records(fields: Sequence[Sequence[Any]]) -> list[Record]:
    return list(map(Record._make, zip(*fields, strict=True)))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _tuples(of: Sequence[dict[str, Any]] | None) -> Headers | None:
    return None if of is None else [(header["key"], header["value"]) for header in of]


def _pairs(of: Headers | None) -> list[dict[str, Any]] | None:
    return None if of is None else [{"key": key, "value": value} for key, value in of]
