"""Build `gold.data_quality`: the outcome counts of every line that was read."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.delta import tables
from engine.ingest.sources import SOURCES
from schemas.fields import Table
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from transforms.frames import frame_of, united
from transforms.gold.data_quality import data_quality

RECORD = ("topic", "partition", "offset")
LINE = ("cluster", "node", "source", "position", *RECORD, "logged_at")
"""Columns that every silver row of a line has."""


def rebuild_data_quality(spark: SparkSession, warehouse: Path) -> None:
    """Count every line of every log again, except lines that retention has deleted from bronze."""
    logs = [source.bronze for source in SOURCES]
    for table in (table for source in SOURCES for table in source.tables):
        tables.make(warehouse, table)  # the warehouse may be older than the source
    bronze = united([_rows(spark, warehouse, log) for log in logs])
    quarantine, skipped = (_rows(spark, warehouse, table) for table in (QUARANTINE, SKIPPED))
    kept = {
        source.kind.value: united([_rows(spark, warehouse, of).select(*LINE) for of in source.of_lines])
        for source in SOURCES
    }
    cut = [at for log in logs if (at := tables.complete_from(warehouse, log)) is not None]
    if cut:
        is_whole = F.col("ingest_date") >= F.lit(max(cut).date())
        bronze, skipped = bronze.filter(is_whole), skipped.filter(is_whole)
        known = bronze.select(*RECORD)
        quarantine = quarantine.join(known, on=list(RECORD), how="left_semi")
        kept = {kind: rows.join(known, on=list(RECORD), how="left_semi") for kind, rows in kept.items()}
    rows = data_quality(bronze, kept, quarantine, skipped)
    tables.overwrite(rows, warehouse, DATA_QUALITY)


def _rows(spark: SparkSession, warehouse: Path, table: Table) -> DataFrame:
    """Return a table's rows; skip Delta for an empty table, because its planning runs a Spark job."""
    has_files = tables.exists(warehouse, table) and tables.snapshot(warehouse, table).paths()
    return tables.read(spark, warehouse, table) if has_files else frame_of(spark, [], table.schema)
