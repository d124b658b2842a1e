"""Build `gold.data_quality`: the outcome counts of every line that was read."""

from collections.abc import Sequence
from pathlib import Path

from engine.delta import tables
from engine.ingest.sources import SOURCES
from schemas.fields import Table
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from transforms.gold.data_quality import (
    BRONZE_COLUMNS,
    LINE,
    QUARANTINE_COLUMNS,
    SKIPPED_COLUMNS,
    data_quality,
)
from transforms.sql import Rows


def rebuild_data_quality(warehouse: Path) -> None:
    """Count every line of every log again, except lines that retention has deleted from bronze."""
    logs = [source.bronze for source in SOURCES]
    for table in (table for source in SOURCES for table in source.tables):
        tables.make(warehouse, table)  # the warehouse may be older than the source
        # The log is read here, so that the snapshots below are almost of one instant: the ingest may run.
        tables.snapshot(warehouse, table)
    cut = [at for log in logs if (at := tables.complete_from(warehouse, log)) is not None]
    is_whole = f"ingest_date >= DATE '{max(cut).date()}'" if cut else "true"

    def rows(table: Table, columns: Sequence[str], where: str = "true") -> Rows:
        return tables.snapshot(warehouse, table).near(columns, None, where=where)

    counts = data_quality(
        [rows(log, BRONZE_COLUMNS, is_whole) for log in logs],
        {source.kind.value: [rows(table, LINE) for table in source.of_lines] for source in SOURCES},
        rows(QUARANTINE, QUARANTINE_COLUMNS),
        rows(SKIPPED, SKIPPED_COLUMNS, is_whole),
        is_cut=bool(cut),
    )
    tables.overwrite(counts, warehouse, DATA_QUALITY)
