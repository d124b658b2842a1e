"""Silver of raw lines in Spark, outside the streams: one job parses them into a separate folder."""

import uuid
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from conf.settings import Settings
from engine.ingest.batches import cluster_ids, task_plan
from engine.ingest.parsed_files import ATTEMPT
from engine.ingest.task.batch_files import write_batch_files
from engine.ingest.task.written import Tally
from schemas.bronze import RAW
from schemas.fields import Table
from schemas.silver import SILVER
from schemas.silver.not_kept import GAPS
from transforms.frames import frame_of


def parse_into(raw: DataFrame, folder: Path, settings: Settings) -> tuple[dict[Table, DataFrame], Tally]:
    """
    Parse rows of bronze in one Spark job; return the frame of each silver table, and the counts.

    The warehouse of the settings has the Kafka cluster id of each cluster name, but not always `cluster_id`.
    Keep `folder` as long as the frames are in use. The column `kind` of a row selects the parser.
    """
    run = uuid.uuid4().hex[:8]
    clusters = cluster_ids(settings.warehouse_root).by_name()
    plan = task_plan(settings, folder / run, ATTEMPT, reader=run, clusters=clusters, writes_bronze=False)
    whole = raw.unionByName(frame_of(raw.sparkSession, [], RAW), allowMissingColumns=True)
    written = write_batch_files(whole.select(*RAW.names), plan, batch_id=0)
    tables = (table for table in SILVER if table is not GAPS)
    return {table: _frame(raw.sparkSession, folder / run, table) for table in tables}, written.tally


def _frame(spark: SparkSession, folder: Path, table: Table) -> DataFrame:
    where = folder / table.layer / table.name / ATTEMPT
    if not where.exists():
        return frame_of(spark, [], table.schema)
    rows = spark.read.schema(table.schema).option("basePath", str(where)).parquet(str(where))
    return rows.select(*table.schema.names)
