"""SQL over Arrow rows in DuckDB: the connection, snippets for log-bucket histograms, and rows of tables."""

import atexit
import glob
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.histogram import LN_GAMMA, OFFSET, SMALLEST_MS
from transforms.spans import MAX_SPANS, Span
from transforms.windows import WINDOW_S

if TYPE_CHECKING:
    import pyarrow.dataset as ds  # it imports pandas, which takes 0.1 s

SETTINGS = {
    # NULL is the smallest value, as in Spark: the first of two lines may lack an instant.
    "default_null_order": "nulls_first",
    "memory_limit": "1GB",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """
    Columns of the rows of a table that meet a condition (SQL); a query reads them when it needs them.

    DuckDB reads data files itself in three quarters of the CPU time that it takes with Arrow between.
    """

    table: Table
    columns: tuple[str, ...]
    source: "Sequence[str] | ds.Dataset | pa.Table"  # paths of data files, or rows
    where: str = "true"

    def query(self, rows: str) -> str:
        """Return the query; `rows` is the name of a source that is not in files."""
        source = self._files() if isinstance(self.source, Sequence) else rows
        names = ", ".join(f'"{name}"' for name in self.columns)
        return f"SELECT {names} FROM ({source}) WHERE {self.where}"  # noqa: S608 (conditions of builds)

    def _files(self) -> str:
        """Return the rows of the files; one that lacks a newer column has NULL there."""
        types, in_paths = _types(self.table), self.table.partition_by
        columns = ", ".join(f'NULL::{of} AS "{name}"' for name, of in types.items())
        nothing = f"SELECT {columns} WHERE false"
        if not self.source:
            return nothing
        paths = ", ".join(text(glob.escape(path)) for path in self.source)
        days = ", ".join(f"'{name}': {types[name]}" for name in in_paths)
        hive = f"hive_partitioning = true, hive_types = {{{days}}}" if days else "hive_partitioning = false"
        return f"FROM read_parquet([{paths}], union_by_name = true, {hive}) UNION ALL BY NAME {nothing}"


@cache
def _types(table: Table) -> dict[str, str]:
    """Return DuckDB's types of the columns of a table."""
    empty = duckdb.from_arrow(arrow_schema(table).empty_table())
    return dict(zip(empty.columns, map(str, empty.types), strict=True))


RowSource: TypeAlias = Rows | pa.RecordBatchReader | pa.Table
"""What a query can read; a reader can be read only once."""


@contextmanager
def connect(rows: Mapping[str, RowSource]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with these rows by name; its temporary tables end with it."""
    with _database().cursor() as db:
        for name, named in rows.items():
            define(db, name, named)
        yield db


def define(db: duckdb.DuckDBPyConnection, name: str, rows: RowSource) -> None:
    """Name rows in queries."""
    if isinstance(rows, Rows):
        if not isinstance(rows.source, Sequence):
            db.register(f"{name}_source", rows.source)
        db.execute(f"CREATE TEMP VIEW {name} AS {rows.query(f'FROM {name}_source')}")
    else:
        db.register(name, rows)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the process's database in memory, because opening one takes 20 ms; if full, it uses a folder."""
    folder = TemporaryDirectory(prefix="plumbline-sql-")
    atexit.register(folder.cleanup)
    return duckdb.connect(config={**SETTINGS, "temp_directory": folder.name})


def load(db: duckdb.DuckDBPyConnection, name: str, rows: RowSource, query: str = "FROM rows") -> None:
    """Store the result of a query over `rows` as a temporary table."""
    define(db, "rows", rows)
    db.execute(f"CREATE TEMP TABLE {name} AS {query}")
    db.execute("DROP VIEW rows")


def numbered(rows: str, columns: str, number: str) -> str:
    """
    Return the query of the rows of a table with a number for each combination of some columns.

    To sort or group by one number takes less time than by several names.

    >>> rows = "(VALUES ('a', 1), (NULL, 1), ('a', 1)) AS t(name, id)"
    >>> numbers = numbered(f"(FROM {rows})", "name, id", "n")
    >>> duckdb.sql(f"SELECT name, id, count(*) FROM ({numbers}) GROUP BY ALL ORDER BY name").fetchall()
    [('a', 1, 2), (None, 1, 1)]
    """
    is_same = " AND ".join(f"each.{name} IS NOT DISTINCT FROM known.{name}" for name in columns.split(", "))
    return f"""
        SELECT each.*, {number} FROM {rows} AS each JOIN (
            SELECT *, row_number() OVER (ORDER BY {columns}) AS {number}
            FROM (SELECT DISTINCT {columns} FROM {rows})
        ) AS known ON {is_same}
    """  # noqa: S608 (names)


def has_rows(db: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return whether a table has rows."""
    return bool(db.table(name).limit(1).fetchall())


def window_s(at_us: str) -> str:
    """Return the start of the window of an instant, in epoch seconds; the instant is in microseconds."""
    return f"{at_us} // {WINDOW_S * 1_000_000} * {WINDOW_S}"


def is_in(windows: Collection[int] | None) -> str:
    """
    Return the condition that `window_s` is one of the windows; None for all windows.

    >>> is_in({100, 90}), is_in(None)
    ('window_s IN (90, 100)', 'true')
    """
    return "true" if windows is None else f"window_s IN ({', '.join(map(str, sorted(windows)))})"


def is_in_spans(at: str, spans: Sequence[Span]) -> str:
    """
    Return the condition that an instant is in one of the spans.

    >>> is_in_spans("at", [Span(0, 10)])
    '("at" >= to_timestamp(0) AND "at" < to_timestamp(10))'
    """
    if len(spans) > MAX_SPANS:
        # A chain of hundreds of comparisons is slow.
        seconds = sorted({second for span in spans for second in range(*span)})
        return f'epoch_us("{at}") // 1000000 IN ({", ".join(map(str, seconds))})'
    limits = (f'("{at}" >= to_timestamp({start}) AND "{at}" < to_timestamp({end}))' for start, end in spans)
    return " OR ".join(limits) or "false"


def text(value: str) -> str:
    """
    Return a text as a literal.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def ratio(part: str, whole: str) -> str:
    """
    Return part / whole; NULL unless `whole` is positive.

    >>> duckdb.sql(f"SELECT {ratio('1', '2')}, {ratio('1', '0')}, {ratio('1', 'NULL')}").fetchall()
    [(0.5, None, None)]
    """
    return f"(CASE WHEN {whole} > 0 THEN {part} / {whole} END)"


def rows_of(table: Table, found: pa.Table) -> pa.Table:
    """
    Return rows in the schema of a table.

    A result has instants in epoch microseconds (`ended_us` for `ended_at`), and `window_s` for `window_start`
    in epoch seconds.
    """
    if "window_s" in found.column_names:
        window_us = pc.multiply(found["window_s"].cast(pa.int64()), 1_000_000)
        found = found.append_column("window_start_us", window_us)
    schema = arrow_schema(table)
    names = (
        name if name in found.column_names else f"{name.removesuffix('_at')}_us" for name in schema.names
    )
    columns = (found[name].cast(field.type) for name, field in zip(names, schema, strict=True))
    return pa.table(list(columns), schema=schema)


def bucket(value_ms: str) -> str:
    """
    Return the key of a finite value's bucket (see `schemas.histogram`), as SQL.

    >>> values = "SELECT unnest([-2.0, 0.0, 1e-6, 2.0, 500.0, NULL]::DOUBLE[]) AS ms"
    >>> duckdb.sql(f"SELECT list({bucket('ms')}) FROM ({values})").fetchall()
    [([-726, 0, 1, 726, 1002, None],)]
    """
    exponent = f"ceil(ln(abs({value_ms})) / {LN_GAMMA!r}) + {OFFSET}"
    return (
        f"(CASE WHEN abs({value_ms}) < {SMALLEST_MS!r} THEN 0 ELSE sign({value_ms}) * ({exponent}) END)::INT"
    )


def finite(value_ms: str) -> str:
    """
    Return the value; NULL for NaN and infinities, which are not measurements.

    >>> values = "SELECT unnest(['1.5', 'nan', '-inf', NULL])::DOUBLE AS ms"
    >>> duckdb.sql(f"SELECT list({finite('ms')}) FROM ({values})").fetchall()
    [([1.5, None, None, None],)]
    """
    return f"(CASE WHEN isfinite({value_ms}) THEN {value_ms} END)"


def integer(text: str) -> str:
    """
    Return a text as an integer; NULL if it is none.

    >>> texts = "SELECT unnest(['3', ' -3 ', '3.7', '3, 4', '99999999999', NULL]) AS text"
    >>> duckdb.sql(f"SELECT list({integer('text')}) FROM ({texts})").fetchall()
    [([3, -3, None, None, None, None],)]
    """
    # DuckDB would round 3.7 and read 1_000.
    return f"(CASE WHEN regexp_full_match({text}, '\\s*[+-]?\\d+\\s*') THEN try_cast({text} AS INT) END)"


def sum_ms(value_ms: str) -> str:
    """Return the sum of values, as whole nanoseconds, so that the order of the rows does not matter."""
    return f"(sum(try_cast(round({value_ms} * 1e6) AS BIGINT)) / 1e6)"


def with_columns(rows: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return rows with these columns added."""
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    return rows
