"""
Data files of a table as an Arrow dataset.

It is apart from `data_files`, which tasks of Spark import: `pyarrow.dataset` imports pandas, which
they do not need.
"""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from schemas.arrow import arrow_schema
from schemas.fields import Table


def dataset(where: Path, table: Table, paths: Collection[str]) -> ds.Dataset:
    """Return data files of a table as a dataset in its schema; a file may lack newer columns."""
    schema = arrow_schema(table)
    files = [str(where / path) for path in paths]
    if not files:
        return ds.dataset(schema.empty_table())
    # The values of partition columns are in the paths only.
    fields = pa.schema([schema.field(name) for name in table.partition_by])
    of_paths, base = ds.partitioning(fields, flavor="hive"), str(where)
    return ds.dataset(files, schema=schema, format="parquet", partitioning=of_paths, partition_base_dir=base)
