"""The Arrow schemas of tables, derived from their Spark types."""

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.fields import Table

_known: dict[tuple[str, str], tuple[Table, pa.Schema]] = {}


def arrow_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of a table; instants are microseconds in UTC."""
    name = (table.layer, table.name)
    # Not `functools.cache`: the hash of a table contains the text of its schema, 100 us for each call.
    known, schema = _known.get(name, (None, None))
    if known is not table:
        schema = to_arrow_schema(table.schema, timezone="UTC")
        _known[name] = table, schema
    return schema
