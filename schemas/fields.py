"""How a table is declared: a name, a layer, a `StructType` with comments, a key."""

from dataclasses import dataclass

from pyspark.sql.types import (
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One Delta table: everything a reader needs to know about it, and its folder `layer/name`."""

    layer: str  # bronze, silver or gold
    name: str
    about: str
    schema: StructType
    key: tuple[str, ...]  # what makes a row unique once duplicates of delivery are gone
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()  # of a day that is over, once merged; the first one is a hash


def column(name: str, kind: DataType, comment: str) -> StructField:
    """Declare one column; the comment gives meaning and unit and becomes the data dictionary."""
    return StructField(name, kind, nullable=True, metadata={"comment": comment})


HISTOGRAM = MapType(IntegerType(), LongType(), valueContainsNull=False)
"""Log-bucket histogram, bucket -> count; `transforms.histogram` tells what a bucket means."""

ORIGIN = [
    column("cluster", StringType(), "observed cluster"),
    column("node", StringType(), "node as the edge names it: broker-1"),
    column("source", StringType(), "file path or URL at the edge, for people"),
    column("position", StringType(), "place of the line at the edge; equal when re-sent"),
    column("topic", StringType(), "telemetry topic; NULL when read from a file"),
    column("partition", IntegerType(), "telemetry partition; NULL when read from a file"),
    column("offset", LongType(), "telemetry offset; NULL when read from a file"),
    column("parser_version", IntegerType(), "version of the parser that made the row"),
]
