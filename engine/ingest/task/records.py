"""Convert Kafka messages or bronze rows to parser records and bronze rows."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from conf.names import Header
from schemas.arrow import arrow_schema
from schemas.bronze import REQUEST_LOG
from transforms.parse.record import FIRST_US, LAST_US, Record

BATCH_RECORDS, BATCH_BYTES = 10_000, 16 * 1024 * 1024
"""A batch is complete when it reaches one of these limits."""

_POSITION = Header.POSITION.value  # cached, because it is used for every record
_OF_SOURCE = (Header.TIME_ZONE, Header.NODE, Header.KIND, Header.SOURCE)

USUAL = ((Header.CLUSTER, Header.CLUSTER_ID, *_OF_SOURCE), (Header.CLUSTER, *_OF_SOURCE))
"""The headers before the position of an unsplit, uncompressed line, in the collector's order."""

FIELDS = (Header.CLUSTER, Header.NODE, Header.KIND, Header.TIME_ZONE, Header.SOURCE, Header.POSITION)
"""The headers of the `Record` fields between `value` and `topic`, in field order."""

IN_ORDER = (*FIELDS, Header.CHUNK, Header.CONTENT_ENCODING, Header.CLUSTER_ID)
"""Headers with a column in bronze; the others stay in `headers` for the parser of their kind."""

RAW = arrow_schema(REQUEST_LOG)
"""All bronze tables have one schema."""

Headers = list[tuple[str, bytes | None]]


class Batch(NamedTuple):
    """The records of one batch, and their bronze rows."""

    records: list[Record]
    bronze: pa.RecordBatch


def from_messages(taken: Iterable[Sequence[Message]], ingested_at: int) -> Iterator[Batch]:
    """
    Yield batches of messages, with their headers as columns; `ingested_at` is in microseconds.

    A record without a position gets `kafka/TOPIC/PARTITION/OFFSET`. Each message is converted as soon as it
    is consumed, while it is still in the CPU cache.
    """
    records, keys, types, size = list[Record](), list[Any](), list[int](), 0
    for messages in taken:
        records += map(_record, messages)
        keys += [message.key() for message in messages]
        types += [message.timestamp()[0] - 1 for message in messages]  # Kafka counts from 0, CreateTime.
        size += sum(map(len, messages))
        if len(records) >= BATCH_RECORDS or size >= BATCH_BYTES:
            yield Batch(records, _bronze(records, keys, types, ingested_at))
            records, keys, types, size = [], [], [], 0
    if records:
        yield Batch(records, _bronze(records, keys, types, ingested_at))


def _bronze(
    records: Sequence[Record], keys: Sequence[Any], types: Sequence[int], ingested_at: int
) -> pa.RecordBatch:
    """Return the bronze rows of Kafka records."""
    columns = dict(zip(Record._fields, zip(*records, strict=True), strict=True))
    columns["headers"] = tuple(map(_pairs, columns["headers"]))
    at = pa.array(columns["timestamp"], RAW.field("timestamp").type)
    now = pa.scalar(ingested_at, RAW.field("ingested_at").type)
    made = {
        "timestamp": at,
        "timestamp_type": pa.array(types, RAW.field("timestamp_type").type),
        "key": pa.array(keys, RAW.field("key").type),
        "ingested_at": pa.repeat(now, len(records)),
        "ingest_date": pc.cast(pc.floor_temporal(pc.coalesce(at, now), unit="day"), pa.date32(), safe=False),
    }
    arrays = [
        made[field.name] if field.name in made else pa.array(columns[field.name], field.type) for field in RAW
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW)


def from_bronze(batch: pa.RecordBatch) -> Batch:
    """Return bronze rows as a batch, unchanged."""
    column = {
        name: batch.column(name).to_pylist() for name in RAW.names if name not in ("timestamp", "headers")
    }
    others = [_tuples(headers) for headers in batch.column("headers").to_pylist()]
    fields = (
        *(column[name] for name in ("value", "cluster", "node", "kind", "time_zone", "source", "position")),
        *(column[name] for name in ("topic", "partition", "offset")),
        batch.column("timestamp").cast(pa.int64()).to_pylist(),
        *(column[name] for name in ("chunk", "content_encoding")),
        others,
        column["cluster_id"],
    )
    return Batch(_records(fields), batch.select(RAW.names).cast(RAW))


def _record(message: Message) -> Record:
    headers = cast("Headers | None", message.headers())
    texts = _usual(headers) if headers else None
    *fields, position, chunk, encoding, cluster_id = _texts(headers or []) if texts is None else texts
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    if position is None:
        position = f"kafka/{topic}/{partition}/{offset}"
    kind, millis = message.timestamp()
    # Producers set the timestamp. One in microseconds is in the year 50,000, which no column can hold.
    has_instant = kind != TIMESTAMP_NOT_AVAILABLE and FIRST_US <= millis * 1_000 <= LAST_US
    at = millis * 1_000 if has_instant else None
    others = headers if texts is None else None
    end = (chunk, encoding, others, cluster_id)
    cells = (message.value(), *fields, position, topic, partition, offset, at, *end)
    return tuple.__new__(Record, cells)


def _usual(headers: Headers) -> tuple[str | None, ...] | None:
    """Return the texts of `IN_ORDER` if a message has exactly the usual headers, else None."""
    name, position = headers[-1]
    if name != _POSITION or (texts := _same(tuple(headers[:-1]))) is None:
        return None
    cluster, node, kind, zone, source, cluster_id = texts
    return cluster, node, kind, zone, source, _text(position), None, None, cluster_id


@lru_cache(maxsize=4_096)
def _same(headers: tuple[tuple[str, bytes | None], ...]) -> tuple[str | None, ...] | None:
    """Return the texts of `FIELDS` except the position, and the cluster id; many records share them."""
    if tuple(name for name, _ in headers) not in USUAL:
        return None
    text = {name: _text(value) for name, value in headers}
    return (*(text[name] for name in FIELDS[:-1]), text.get(Header.CLUSTER_ID))


def _texts(headers: Headers) -> tuple[str | None, ...]:
    """Return the text of each header in `IN_ORDER`; the first of a repeated header counts."""
    first = dict(reversed(headers))
    return tuple(_text(first.get(name.value)) for name in IN_ORDER)


def _records(fields: Sequence[Sequence[Any]]) -> list[Record]:
    return list(map(Record._make, zip(*fields, strict=True)))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _tuples(headers: Sequence[dict[str, Any]] | None) -> Headers | None:
    return None if headers is None else [(header["key"], header["value"]) for header in headers]


def _pairs(headers: Headers | None) -> list[dict[str, Any]] | None:
    return None if headers is None else [{"key": key, "value": value} for key, value in headers]
