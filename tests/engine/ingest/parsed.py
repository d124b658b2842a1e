"""Rows of bronze that a test states, parsed as raw files are."""

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from conf.settings import Settings
from engine.ingest.parsed_files import parse_files
from schemas.arrow import arrow_schema
from schemas.bronze import REQUEST_LOG


def parsed(rows, folder):
    """Return the silver rows by table, and the counts, of Arrow rows of bronze."""
    folder.mkdir(parents=True, exist_ok=True)
    raw = rows.select(arrow_schema(REQUEST_LOG).names).cast(arrow_schema(REQUEST_LOG))
    pq.write_table(raw, folder / "raw.parquet")
    return parse_files(ds.dataset(folder / "raw.parquet", format="parquet"), folder / "silver", Settings())
