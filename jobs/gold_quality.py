"""The table that says of every line that was read what became of it: `gold.data_quality`."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import tables
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.gold import DATA_QUALITY
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SKIPPED
from transforms.gold.data_quality import data_quality

RECORD = ("topic", "partition", "offset")


def rebuild_data_quality(spark: SparkSession, warehouse: Path, *, committer: str) -> None:
    """Count every line of every log again; of what retention has deleted from bronze, nothing is counted."""
    logs = (REQUEST_LOG, CLIENT_LOG)
    bronze = tables.read(spark, warehouse, REQUEST_LOG).unionByName(tables.read(spark, warehouse, CLIENT_LOG))
    requests, client_events, quarantine, skipped = (
        tables.read(spark, warehouse, table) for table in (REQUESTS, CLIENT_EVENTS, QUARANTINE, SKIPPED)
    )
    cut = [at for log in logs if (at := tables.complete_from(warehouse, log)) is not None]
    if cut:
        is_whole = F.col("ingest_date") >= F.lit(max(cut).date())
        bronze, skipped = bronze.filter(is_whole), skipped.filter(is_whole)
        requests, client_events, quarantine = (
            rows.join(bronze.select(*RECORD), on=list(RECORD), how="left_semi")
            for rows in (requests, client_events, quarantine)
        )
    rows = data_quality(bronze, requests, client_events, quarantine, skipped)
    tables.overwrite(rows, warehouse, DATA_QUALITY, committer=committer)
