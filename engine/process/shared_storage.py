"""Whether the executors write where the driver reads: else each would keep its part of a table to itself."""

import shutil
import uuid
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

ROWS_PER_TASK = 100
TASKS_PER_CORE = 2


class NotSharedError(OSError):
    """A folder is not the same for driver and executors; nothing was written into a table."""


def check_shared(spark: SparkSession, folder: Path) -> None:
    """
    Let every core of a cluster write a few rows into a folder, and count them here; locally nothing is asked.

    Spark itself would not tell: it commits what tasks say they wrote, and an unseen file is no error.

    Raises:
        NotSharedError: some of them are missing; the message names the way out.

    """
    if (spark.sparkContext.master or "").startswith("local"):
        return
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f"_shared-{uuid.uuid4().hex[:8]}"
    tasks = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    try:
        spark.range(0, tasks * ROWS_PER_TASK, 1, tasks).write.parquet(str(probe))
        seen = sum(pq.read_metadata(file).num_rows for file in probe.glob("*.parquet"))
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    if seen < tasks * ROWS_PER_TASK:
        message = (
            f"{folder} is not one folder for driver and executors: of {tasks * ROWS_PER_TASK} rows they wrote "
            f"{seen} are here; name one on a file system that all of them mount, and where Spark's own "
            "default is another, give --conf spark.hadoop.fs.defaultFS=file:///; see docs/spark-cluster.md"
        )
        raise NotSharedError(message)
