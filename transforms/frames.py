"""Functions that create small frames from Python rows, and the union of frames."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the union of frames with the same columns, by name."""
    return reduce(DataFrame.unionByName, frames)


def frame_of(
    spark: SparkSession, rows: Iterable[Mapping[str, Any] | Sequence[Any]], schema: StructType
) -> DataFrame:
    """
    Return a frame of the rows. A row is a mapping or the values in schema order; the plan contains the data.

    `createDataFrame` of a list would start Python workers in every action: 0.3 s, even without rows.
    A timestamp without a zone is in the local zone of the process, as `collect` returns it.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowTypeError: a value does not have its column's type.

    """
    return spark.createDataFrame(arrow_of(rows, schema), schema=schema)


def arrow_of(rows: Iterable[Mapping[str, Any] | Sequence[Any]], schema: StructType) -> pa.Table:
    """Return the rows of `frame_of` as Arrow rows."""
    plain = [_plain(row, schema) for row in rows]
    return pa.Table.from_pylist(plain, schema=to_arrow_schema(schema, timezone="UTC"))


def _plain(value: Any, kind: DataType) -> Any:  # noqa: ANN401 (a cell of any type)
    """Return a cell in the form that Arrow accepts for the type."""
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
