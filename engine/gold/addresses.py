"""Addresses leave gold: `leader_redirect.connection` had those of clients until version 0.1.0."""

from pathlib import Path

import pyarrow as pa

from engine.delta import tables
from schemas.gold.leader_redirect import LEADER_REDIRECT

COLUMN = "connection"


def forget_addresses(warehouse: Path) -> None:
    """
    Set the column to NULL in all rows, if any row has a value.

    The former data files stay until VACUUM removes them (`[maintain] vacuum_retention_hours`).
    """
    snapshot = tables.snapshot(warehouse, LEADER_REDIRECT)
    held = snapshot.column(COLUMN)
    if held.null_count == len(held):
        return
    rows = snapshot.all_rows(LEADER_REDIRECT.schema.names).read_all()
    nothing = pa.nulls(len(rows), pa.string())
    tables.overwrite(
        rows.set_column(rows.column_names.index(COLUMN), COLUMN, nothing), warehouse, LEADER_REDIRECT
    )
