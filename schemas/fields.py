"""Declarations of tables: a name, a layer, a `StructType` with comments, and a key."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql.types import (
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The declaration of one Delta table, which is stored in the folder `layer/name`."""

    layer: str  # bronze, silver or gold
    name: str
    about: str
    schema: StructType = field(hash=False)  # its hash would print all fields each time
    key: tuple[str, ...]  # unique after the duplicates of a re-sent record are removed
    partition_by: tuple[str, ...] = ()
    is_stored: bool = True  # False: the rows are computed on read
    sort_by: tuple[str, ...] = ()  # sort order of the merged files of a past day; the first column is a hash
    at: str = ""  # the instant of a row; default: its first instant
    # Why a gold table has no `build`, `suite`, `question` or `metric`; a test demands them.
    lacks: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def instant(self) -> str:
        """The column with the instant of a row."""
        instants = (of.name for of in self.schema if isinstance(of.dataType, TimestampType))
        return self.at or next(instants)


def column(name: str, kind: DataType, comment: str) -> StructField:
    """Return one nullable column. The comment states its meaning and unit; docs/tables.md shows it."""
    return StructField(name, kind, nullable=True, metadata={"comment": comment})


HISTOGRAM = MapType(IntegerType(), LongType(), valueContainsNull=False)
"""Log-bucket histogram, bucket -> count; `schemas.histogram` defines the buckets."""

ORIGIN = [
    column("cluster", StringType(), "observed cluster"),
    column("node", StringType(), "node name set by the collector: broker-1"),
    column("source", StringType(), "file path or URL on the node, for display"),
    column(
        "position", StringType(), "position of the line in its source; a re-sent line has the same position"
    ),
    column("topic", StringType(), "telemetry topic; NULL when read from a file"),
    column("partition", IntegerType(), "telemetry partition; NULL when read from a file"),
    column("offset", LongType(), "telemetry offset; NULL when read from a file"),
    column("parser_version", IntegerType(), "version of the parser that wrote the row"),
]
