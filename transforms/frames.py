"""Small frames from rows at hand: one way to make them, for jobs and tests."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """Put frames of the same columns below each other."""
    return reduce(DataFrame.unionByName, frames)


def frame_of(
    spark: SparkSession, rows: Iterable[Mapping[str, Any] | Sequence[Any]], schema: StructType
) -> DataFrame:
    """
    Return the rows (mappings, or values in the schema's order) as a frame that the plan itself holds.

    `createDataFrame` of a list makes a job of Python workers of every look at it: 0.3 s each, for no rows as
    well. An instant without a zone is one of the process's own zone, as `collect` hands it out.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowTypeError: a value is not of its column's type.

    """
    told = [_plain(row, schema) for row in rows]
    arrow = pa.Table.from_pylist(told, schema=to_arrow_schema(schema, timezone="UTC"))
    return spark.createDataFrame(arrow, schema=schema)


def _plain(value: Any, kind: DataType) -> Any:  # noqa: ANN401 (a cell of any type)
    """Make a cell what Arrow takes for the type."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        cells = [value.get(name) for name in kind.names] if isinstance(value, Mapping) else value
        return {f.name: _plain(cell, f.dataType) for f, cell in zip(kind.fields, cells, strict=True)}
    if isinstance(kind, ArrayType):
        return [_plain(cell, kind.elementType) for cell in value]
    if isinstance(kind, MapType):
        return [(_plain(k, kind.keyType), _plain(v, kind.valueType)) for k, v in value.items()]
    if isinstance(kind, TimestampType) and value.tzinfo is None:
        return value.astimezone(UTC)
    return value
