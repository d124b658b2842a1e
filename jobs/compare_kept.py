"""What comparisons of a warehouse's runs came to, kept in `gold.run_comparison`: the last one of two arms."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from jobs import tables
from jobs.lease import lease
from reports.answers import Row
from schemas.run_comparison import RUN_COMPARISON

WAIT_S = 30.0
OF = ("cluster", "baseline", "contender")


def keep(warehouse: Path, rows: Sequence[Row]) -> None:
    """
    Put a comparison into the place of the last one of the same arms.

    The table is small and written whole: so no name, which is a user's, stands in a predicate.

    Raises:
        jobs.lease.LeaseHeldError: others keep comparisons for longer than half a minute.
        OSError, deltalake.exceptions.DeltaError: the warehouse cannot be written.

    """
    where = tables.path(warehouse, RUN_COMPARISON)
    ours = {_of(row) for row in rows}
    schema = to_arrow_schema(RUN_COMPARISON.schema)
    with lease(warehouse, RUN_COMPARISON.name, timeout_s=WAIT_S):
        there = [row for row in _there(where) if _of(row) not in ours]
        kept = pa.Table.from_pylist([*there, *rows], schema=schema)
        write_deltalake(where, kept, mode="overwrite", schema_mode="overwrite")


def _there(where: str) -> list[Row]:
    if not DeltaTable.is_deltatable(where):
        return []
    found = QueryBuilder().register("kept", DeltaTable(where)).execute("SELECT * FROM kept").read_all()
    rows: list[Row] = pa.table(found).to_pylist()
    return rows


def _of(row: Row) -> tuple[str | None, ...]:
    return tuple(row[name] for name in OF)
