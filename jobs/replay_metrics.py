"""
The quarantine of scrapes read again: whole pages, and lines of pages that were kept without them.

Samples and series that are there already are left out; the page's row in `silver.metric_scrapes` is replaced,
since it counts its lines. Broken off, it is run again and does the rest.
"""

import uuid
from collections import Counter

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from jobs import scrapes, tables
from jobs.sources import Source
from schemas.fields import Table
from schemas.metrics import METRIC_SAMPLES, METRIC_SCRAPES, METRIC_SERIES
from schemas.silver import QUARANTINE
from transforms.parse import metrics, outcome

RECORD = ["topic", "partition", "offset"]
PLACE = [*RECORD, "position"]
KEYS = {METRIC_SERIES: ["series_id"], METRIC_SAMPLES: ["series_id", "at"]}


def restore_scrapes(
    spark: SparkSession, settings: Settings, source: Source, raw: DataFrame, *, dry_run: bool
) -> Counter[str]:
    """Restore what of the quarantined pages and lines can be read now; count them by outcome."""
    held = tables.read(spark, settings.warehouse_root, QUARANTINE)
    held = held.filter(F.col("kind") == source.kind.value).select(*PLACE)
    parsed = scrapes.read(scrapes.look_at(raw, settings).localCheckpoint(), settings)
    still = parsed.filter(F.col("outcome") == outcome.QUARANTINED).select(*PLACE)
    readable = held.join(raw.select(*RECORD), on=RECORD, how="left_semi")
    readable = readable.join(still, on=PLACE, how="left_anti").distinct().localCheckpoint()
    counts = Counter({outcome.KEPT: readable.count(), outcome.QUARANTINED: still.count()})
    if not dry_run and counts[outcome.KEPT]:
        pages = parsed.filter(metrics.is_page()).join(readable, on=RECORD, how="left_semi")
        restored = parsed.join(pages.select("page"), on="page", how="left_semi")
        _write(spark, settings, source, restored)
        _delete(spark, settings, readable)
    return counts


def _write(spark: SparkSession, settings: Settings, source: Source, restored: DataFrame) -> None:
    run, told = f"replay-{uuid.uuid4()}", settings.warehouse
    for nth, part in enumerate(part for part in source.silver if part.table in KEYS):
        rows, key = part.rows(restored), KEYS[part.table]
        known = _known(spark, settings, part.table, rows)
        fresh = rows.join(known.select(*key).distinct(), on=key, how="left_anti")
        fresh = fresh.select(*part.table.schema.names)
        root = settings.warehouse_root
        tables.append(fresh, root, part.table, txn_app_id=run, txn_version=nth, committer=told.committer)
    scrapes = DeltaTable.forPath(spark, tables.path(settings.warehouse_root, METRIC_SCRAPES)).alias("held")
    same = " AND ".join(f"held.{name} = read.{name}" for name in RECORD)
    merge = scrapes.merge(metrics.scrapes(restored).alias("read"), same)
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def _known(spark: SparkSession, settings: Settings, table: Table, rows: DataFrame) -> DataFrame:
    known = tables.read(spark, settings.warehouse_root, table)
    for column in table.partition_by:
        dates = [row[column] for row in rows.select(column).distinct().collect()]
        known = known.filter(F.col(column).isin(dates))
    return known


def _delete(spark: SparkSession, settings: Settings, readable: DataFrame) -> None:
    quarantine = DeltaTable.forPath(spark, tables.path(settings.warehouse_root, QUARANTINE)).alias("held")
    same = " AND ".join(f"held.{name} = readable.{name}" for name in PLACE)
    quarantine.merge(readable.alias("readable"), same).whenMatchedDelete().execute()
