"""SQL over Arrow rows in DuckDB: the connection, snippets for log-bucket histograms, and added columns."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from transforms.histogram import LN_GAMMA, OFFSET, SMALLEST_MS

SETTINGS = {
    # NULL is the smallest value, as in Spark: the first of two lines may lack an instant.
    "default_null_order": "nulls_first",
    "memory_limit": "1GB",
}


@contextmanager
def connect(rows: Mapping[str, pa.RecordBatchReader | pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database in memory with these rows by name; it writes to a temporary folder if it is full."""
    with (
        TemporaryDirectory(prefix="plumbline-sql-") as folder,
        duckdb.connect(config={**SETTINGS, "temp_directory": folder}) as db,
    ):
        for name, named in rows.items():
            db.register(name, named)
        yield db


def bucket(value_ms: str) -> str:
    """
    Return the key of a finite value's bucket (see `transforms.histogram`), as SQL.

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


def sum_ms(value_ms: str) -> str:
    """Return the sum of values, as whole nanoseconds, so that the order of the rows does not matter."""
    return f"(sum(try_cast(round({value_ms} * 1e6) AS BIGINT)) / 1e6)"


def with_columns(rows: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return rows with these columns added."""
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    return rows
