"""Check that driver and executors share a folder; else each executor would write to its own disk."""

import shutil
import uuid
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from conf.private_folder import make_private

ROWS_PER_TASK = 100
TASKS_PER_CORE = 2


class NotSharedError(OSError):
    """A folder is not the same for driver and executors; nothing was written into a table."""


def check_shared(spark: SparkSession, folder: Path) -> None:
    """
    Write a few rows from every core of a cluster into a folder, and count them on the driver.

    With a local master, check nothing. Spark itself does not detect the problem: it commits the files that
    tasks report, and a file that the driver cannot see is no error.

    Raises:
        NotSharedError: rows are missing; the message says what to do.

    """
    if (spark.sparkContext.master or "").startswith("local"):
        return
    make_private(folder)
    probe = folder / f"_shared-{uuid.uuid4().hex[:8]}"
    tasks = TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    expected = tasks * ROWS_PER_TASK
    try:
        spark.range(0, expected, 1, tasks).write.parquet(str(probe))
        seen = sum(pq.read_metadata(file).num_rows for file in probe.glob("*.parquet"))
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    if seen < expected:
        message = (
            f"{folder} is not one folder for driver and executors: of {expected} rows they wrote {seen} "
            "are here. Use a folder on a file system that all of them mount. If that is not Spark's "
            "default file system, set --conf spark.hadoop.fs.defaultFS=file:///; see docs/spark-cluster.md"
        )
        raise NotSharedError(message)
