"""The types of a table's columns in DuckDB."""

from typing import Any

from schemas.fields import Table

_DUCK = {
    "string": "VARCHAR",
    "integer": "INTEGER",
    "long": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
    "date": "DATE",
    "binary": "BLOB",
}


def duck_types(table: Table) -> dict[str, str]:
    """Return the type of each column; those that Delta keeps in the paths of files are left out."""
    return {
        field.name: duck_type(field.dataType.jsonValue())
        for field in table.schema.fields
        if field.name not in table.partition_by
    }


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
