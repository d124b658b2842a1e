"""Answers compared with the tables that `schemas.gold` declares for them."""

from datetime import datetime

PYTHON = {
    "boolean": bool,
    "double": float,
    "integer": int,
    "long": int,
    "string": str,
    "timestamp": datetime,
    "array": list,
    "map": list,
}
"""The Python type of each type of a column, as Arrow returns its cells."""


def assert_declared(rows, table):
    """Fail unless there are rows, and all have the columns of their table, of the declared types."""
    assert rows
    for row in rows:
        missing = set(table.schema.names) - set(row)
        assert not missing, missing
        cells = {name: row[name] for name in table.schema.names if row.get(name) is not None}
        wrong = {
            name: cell
            for name, cell in cells.items()
            if type(cell) is not PYTHON[table.schema[name].dataType.typeName()]
        }
        assert wrong == {}, wrong
