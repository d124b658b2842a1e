"""Gold of rows that a test states, as answers read it."""

from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from schemas.arrow import arrow_schema
from transforms.frames import arrow_of


def selected(tables, cluster="lab", **filters):
    """Return a selection of rows by table: Arrow rows, or mappings in which a missing column is NULL."""
    built = {
        table: rows if hasattr(rows, "schema") else arrow_of(rows, table.schema).cast(arrow_schema(table))
        for table, rows in tables.items()
    }
    return GoldSelection(gold=GoldReader.of_rows(built), cluster=cluster, **filters)
