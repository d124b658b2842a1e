"""Read batches of the Kafka source, or rows of bronze, as records for the parsers and as rows of bronze."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

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

KAFKA = ("value", "key", "headers", "topic", "partition", "offset", "timestamp", "timestampType")
"""The columns of Spark's Kafka source that are read."""

Headers = list[tuple[str, bytes | None]]


class Batch(NamedTuple):
    """Records of one Arrow batch, and their rows of bronze."""

    records: list[Record]
    bronze: pa.RecordBatch


def from_kafka(batch: pa.RecordBatch, ingested_at: int) -> Batch:
    """
    Return a batch of the Kafka source with the headers parted into columns; `ingested_at` in microseconds.

    A record without a position gets `kafka/TOPIC/PARTITION/OFFSET`.
    """
    column = {name: batch.column(name) for name in KAFKA}
    named, others = _headers(column["headers"])
    topics, partitions, offsets = (column[name].to_pylist() for name in ("topic", "partition", "offset"))
    positions = [
        f"kafka/{topic}/{partition}/{offset}" if position is None else position
        for position, topic, partition, offset in zip(
            named[Header.POSITION], topics, partitions, offsets, strict=True
        )
    ]
    instants = column["timestamp"].cast(pa.int64())
    fields = (
        column["value"].to_pylist(),
        *(named[name] for name in FIELDS),
        *(positions, topics, partitions, offsets, instants.to_pylist()),
        *(named[name] for name in (Header.CHUNK, Header.CONTENT_ENCODING)),
        others,
    )
    bronze = {
        **{name: column[name] for name in ("value", "key", "topic", "partition", "offset")},
        "headers": pa.array([_pairs(of) for of in others], RAW.field("headers").type),
        "timestamp": column["timestamp"].cast(RAW.field("timestamp").type),
        "timestamp_type": column["timestampType"],
        **{name.name.lower(): pa.array(named[name], pa.string()) for name in IN_ORDER},
        "position": pa.array(positions, pa.string()),
        "ingested_at": pa.repeat(pa.scalar(ingested_at, RAW.field("ingested_at").type), len(positions)),
        "ingest_date": _dates(column["timestamp"]),
    }
    arrays = [bronze[name] for name in RAW.names]
    return Batch(_records(fields), pa.RecordBatch.from_arrays(arrays, schema=RAW))


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


def _records(fields: Sequence[Sequence[Any]]) -> list[Record]:
    return list(map(Record._make, zip(*fields, strict=True)))


def _dates(instants: pa.Array) -> pa.Array:
    return pc.cast(pc.floor_temporal(instants, unit="day"), pa.date32(), safe=False)


def _headers(headers: pa.Array) -> tuple[dict[Header, list[str | None]], list[Headers | None]]:
    """
    Return the text of each header by record, and all headers where they are not exactly the usual ones.

    Of a header that comes twice the first is taken.
    """
    n, width = len(headers), len(USUAL)
    flat = headers.flatten()
    keys = flat.field("key")
    expected = pa.array([name.value for name in USUAL] * n, pa.string())
    if headers.null_count == 0 and len(keys) == n * width and keys.equals(expected):
        values = [_text(value) for value in flat.field("value").to_pylist()]
        named: dict[Header, list[str | None]] = {name: values[at::width] for at, name in enumerate(USUAL)}
        return named | {name: [None] * n for name in IN_ORDER[width:]}, [None] * n
    each = [_tuples(of) for of in headers.to_pylist()]
    rows = list(_rows(each))
    return {name: [row[at] for row in rows] for at, name in enumerate(IN_ORDER)}, [
        None if of is not None and tuple(key for key, _ in of) == USUAL else of for of in each
    ]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _rows(each: Sequence[Headers | None]) -> Iterator[list[str | None]]:
    for of in each:
        first: dict[str, bytes | None] = {}
        for key, value in of or ():
            first.setdefault(key, value)
        yield [_text(first.get(name.value)) for name in IN_ORDER]


def _tuples(of: Sequence[dict[str, Any]] | None) -> Headers | None:
    return None if of is None else [(header["key"], header["value"]) for header in of]


def _pairs(of: Headers | None) -> list[dict[str, Any]] | None:
    return None if of is None else [{"key": key, "value": value} for key, value in of]
