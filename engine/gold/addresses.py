"""Addresses leave gold: `leader_redirect.connection` had those of clients until version 0.1.0."""

from pathlib import Path

import pyarrow as pa

from engine.delta import tables
from schemas.gold.leader_redirect import LEADER_REDIRECT

COLUMN = "connection"


def has_addresses(warehouse: Path) -> bool:
    """Return whether any row of gold has an address."""
    if not tables.exists(warehouse, LEADER_REDIRECT):
        return False
    held = tables.snapshot(warehouse, LEADER_REDIRECT).column(COLUMN)
    return bool(held.null_count < len(held))


def forget_addresses(warehouse: Path) -> None:
    """
    Set the column to NULL in all rows, if any row has a value.

    The former data files stay until VACUUM removes them (`[maintain] vacuum_retention_hours`).
    """
    if not has_addresses(warehouse):
        return
    rows = tables.snapshot(warehouse, LEADER_REDIRECT).all_rows(LEADER_REDIRECT.schema.names).read_all()
    nothing = pa.nulls(len(rows), pa.string())
    tables.overwrite(
        rows.set_column(rows.column_names.index(COLUMN), COLUMN, nothing), warehouse, LEADER_REDIRECT
    )
