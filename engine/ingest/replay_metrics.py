"""
Parse quarantined scrapes again: whole pages, and single lines of pages that were kept without them.

Samples and series that silver already has are skipped. The page's row in `silver.metric_scrapes` is replaced,
because it counts the lines. An interrupted run can be repeated; it does the rest.
"""

import uuid
from collections import Counter
from collections.abc import Mapping

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.names import Kind
from conf.settings import Settings
from engine.delta import tables
from engine.ingest.task.task_plan import KEPT, QUARANTINED
from schemas.fields import Table
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SCRAPES, METRIC_SERIES
from schemas.silver.not_kept import QUARANTINE

RECORD = ["topic", "partition", "offset"]
PLACE = [*RECORD, "position"]
KEYS = {METRIC_SERIES: ["series_id"], METRIC_SAMPLES: ["series_id", "at"]}


def restore_scrapes(
    spark: SparkSession,
    settings: Settings,
    silver: Mapping[Table, DataFrame],
    raw: DataFrame,
    *,
    dry_run: bool,
) -> Counter[str]:
    """
    Restore the quarantined pages and lines that can be read now; return their number by outcome.

    `raw` are the pages with anything in quarantine, `silver` the output of today's parser for them.
    """
    held = tables.read(spark, settings.warehouse_root, QUARANTINE)
    held = held.filter(F.col("kind") == Kind.METRICS.value).select(*PLACE)
    still = silver[QUARANTINE].select(*PLACE)
    readable = held.join(raw.select(*RECORD), on=RECORD, how="left_semi")
    readable = readable.join(still, on=PLACE, how="left_anti").distinct().localCheckpoint()
    counts = Counter({KEPT: readable.count(), QUARANTINED: still.count()})
    if not dry_run and counts[KEPT]:
        _write(spark, settings, silver, readable)
        _delete(spark, settings, readable)
    return counts


def _write(
    spark: SparkSession, settings: Settings, silver: Mapping[Table, DataFrame], readable: DataFrame
) -> None:
    run, root = f"replay-{uuid.uuid4()}", settings.warehouse_root
    for index, (table, key) in enumerate(KEYS.items()):
        rows = silver[table]
        known = _known(spark, settings, table, rows)
        fresh = rows.join(known.select(*key).distinct(), on=key, how="left_anti")
        fresh = fresh.select(*table.schema.names)
        tables.append(fresh, root, table, txn_app_id=run, txn_version=index)
    read = silver[METRIC_SCRAPES].join(readable.select(*RECORD).distinct(), on=RECORD, how="left_semi")
    scrapes = DeltaTable.forPath(spark, tables.path(root, METRIC_SCRAPES)).alias("held")
    same = " AND ".join(f"held.{name} = read.{name}" for name in RECORD)
    merge = scrapes.merge(read.alias("read"), same)
    with tables.rewriting(root, METRIC_SCRAPES):  # it is on disk before the lines leave the quarantine
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
    with tables.rewriting(settings.warehouse_root, QUARANTINE):
        quarantine.merge(readable.alias("readable"), same).whenMatchedDelete().execute()
