"""The tables a page reads, as DuckDB declares them: the names and types of `schemas/`, none of its Spark."""

from typing import Any

from schemas.fields import Table
from schemas.gold import GOLD

TABLES: dict[str, Table] = {f"{table.layer}.{table.name}": table for table in GOLD}

UNREAD = frozenset({"leader_local_delayed_hist", "true_delayed_hist"})
"""Histograms that no page shows; they are a third of `gold.fetch_latency`."""

_DUCK = {
    "string": "VARCHAR",
    "integer": "INTEGER",
    "long": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
    "date": "DATE",
}


def read_columns(table: Table) -> list[str]:
    """Name the columns that are read."""
    return [name for name in table.schema.names if name not in UNREAD]


def declared(table: Table) -> str:
    """Give the columns of a table as DuckDB declares them."""
    kinds = {field.name: field.dataType.jsonValue() for field in table.schema.fields}
    return ", ".join(f'"{name}" {duck_type(kinds[name])}' for name in read_columns(table))


def duck_type(kind: Any) -> str:  # noqa: ANN401 (a word or a tree of them, as Spark writes a type as JSON)
    """
    Translate a type.

    >>> duck_type({"type": "map", "keyType": "integer", "valueType": "long", "valueContainsNull": False})
    'MAP(INTEGER, BIGINT)'
    """
    if isinstance(kind, str):
        return _DUCK[kind]
    if kind["type"] == "map":
        return f"MAP({duck_type(kind['keyType'])}, {duck_type(kind['valueType'])})"
    if kind["type"] == "array":
        return f"{duck_type(kind['elementType'])}[]"
    parts = ", ".join(f'"{part["name"]}" {duck_type(part["type"])}' for part in kind["fields"])
    return f"STRUCT({parts})"


def has_windows(table: Table) -> bool:
    """Tell whether rows are of windows, so that old ones can be left out."""
    return "window_start" in table.schema.names
