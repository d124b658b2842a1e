"""Write docs/tables.md, the data dictionary: `python -m benchmarks.reference.tables [--check]`."""

import sys

from pyspark.sql.types import ArrayType, DataType, StructType

from conf.settings import PROJECT
from schemas.bronze import BRONZE
from schemas.fields import Table
from schemas.gold import ALL
from schemas.silver import SILVER

PAGE = PROJECT / "docs" / "tables.md"
HEAD = """# Tables

Made from `schemas/` by `make docs`; `make lint` fails when it is stale. All instants are UTC. Every column
may be NULL: missing is NULL, never 0, NaN or an empty string. Names are a contract; columns may be added.
"""


def page() -> str:
    """Return the whole page as Markdown."""
    layers = (("Bronze", BRONZE), ("Silver", SILVER), ("Gold", ALL))
    parts = [HEAD]
    for title, tables in layers:
        parts += [f"\n## {title}\n", *(_section(table) for table in tables)]
    return "".join(parts)


def _section(table: Table) -> str:
    rows = "".join(
        f"| `{field.name}` | `{_type(field.dataType)}` | {field.metadata.get('comment', '')} |\n"
        for field in table.schema.fields
    )
    return (
        f"\n### {table.layer}.{table.name}\n\n{table.about}\n\n"
        f"One row: {', '.join(f'`{name}`' for name in table.key)}.\n\n"
        f"| column | type | meaning |\n| --- | --- | --- |\n{rows}"
    )


def _type(kind: DataType) -> str:
    """Return the name of a type; the comments of the schema describe the fields of a struct."""
    if isinstance(kind, StructType):
        return "struct"
    if isinstance(kind, ArrayType):
        return f"array<{_type(kind.elementType)}>"
    return kind.simpleString()


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is stale: run `make docs`")
    else:
        PAGE.write_text(page())
