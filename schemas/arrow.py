"""The Arrow schemas of tables, derived from their Spark types."""

from functools import cache

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.fields import Table


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema of a table; instants are microseconds in UTC."""
    return to_arrow_schema(table.schema, timezone="UTC")
