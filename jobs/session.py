"""The Spark session: the one `spark-submit` made, or a local one built from the settings."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from conf.settings import PROJECT, Settings

ARROW_POOL = "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL"
"""Of the Python workers; pyarrow reads it when it is imported."""

# What our tables and jobs need, wherever they run; a value set for spark-submit wins.
NEEDED = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Files are written once and read many times; zstd costs no more CPU than snappy and halves bronze.
    "spark.sql.parquet.compression.codec": "zstd",
    # Spark's default, INT96, has no statistics in the footer.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Parquet's writer guesses from the first rows when to look how much it holds; then come lines of 4 MiB.
    "spark.hadoop.parquet.page.size.check.estimate": "false",
    "spark.hadoop.parquet.page.size.row.check.min": "16",
    "spark.hadoop.parquet.block.size.row.check.min": "16",
    # A small table log is read by one task; the default of 50 tasks is most of a small commit's cost.
    "spark.databricks.delta.snapshotPartitions": "1",
    # HotSpot never compiles a method of more than 8,000 bytes, and Spark's own limit is 65,535.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # It returns memory to the system, which Arrow's default keeps: after scrapes of 16 MiB a task's peak is
    # 440 instead of 590 MiB, for a hundredth more CPU on request-log lines.
    ARROW_POOL: "jemalloc",
    # Else every column made in Python costs five calls into the JVM more, to note where it was made.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# What suits one machine, and only there.
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Partitions are few and set by us, so adaptive planning only costs: 50 ms an append.
    "spark.sql.adaptive.enabled": "false",
    # Spark 4.2 plans stateless streams adaptively in spite of the setting above; batches here are small.
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
    # Each sort, aggregation and broadcast begins with a page: Spark would make it 16 MiB, for a few rows.
    "spark.buffer.pageSize": "1m",
    # The default starts 20 programs a batch, chmod and readlink: Hadoop has no C library here.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

JAVA_OPTIONS = "-Duser.timezone=UTC -Djava.net.preferIPv4Stack=true"
DEFAULT_JVM_OPTIONS = "-XX:+UseParallelGC"
"""On two cores G1 takes a tenth of them for collecting while the work goes on."""

JVM_OPTIONS_BY_APP = {
    # It only plans batches. Compiling its code fully costs more than it saves, and so does a larger heap:
    # measured at 2,000 lines/s, 0.12 core instead of 0.18 and 507 MB instead of 1,062.
    "ingest": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
"""In place of the default ones."""


class JvmGoneError(RuntimeError):
    """The JVM that a session talks to has ended under it."""


@contextmanager
def jvm_watched() -> Iterator[None]:
    """
    Raise a clear error when the JVM has died, as opposed to a failure in it.

    Raises:
        JvmGoneError: the JVM does not answer any more; the message says what to do.

    """
    try:
        yield
    except Py4JJavaError:
        raise
    except (Py4JError, ConnectionError, PySparkRuntimeError) as error:
        if isinstance(error, PySparkRuntimeError) and error.getErrorClass() != "JAVA_GATEWAY_EXITED":
            raise
        message = (
            "Spark's JVM has died: it was killed, or short of memory ([spark] driver_memory); start the job "
            "again, it goes on from what is committed"
        )
        raise JvmGoneError(message) from error


def spark_session(settings: Settings, app_name: str) -> SparkSession:
    """
    Return the running session, or one that spark-submit configured, or a new local one.

    Raises:
        FileNotFoundError: a local session is wanted and the folder of jars is not there.

    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf()
    wanted = NEEDED if submitted else NEEDED | LOCAL | _sized(settings) | _jvm(app_name)
    for key, value in wanted.items():
        conf.setIfMissing(key, value)
    conf.setIfMissing("spark.app.name", app_name)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _jvm(app_name: str) -> dict[str, str]:
    options = JVM_OPTIONS_BY_APP.get(app_name, DEFAULT_JVM_OPTIONS)
    return {"spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {options}"}


def _sized(settings: Settings) -> dict[str, str]:
    return {
        "spark.master": settings.spark.master,
        "spark.driver.memory": settings.spark.driver_memory,
        "spark.sql.shuffle.partitions": str(settings.spark.shuffle_partitions),
        "spark.driver.extraClassPath": str(jar_folder(settings) / "*"),
    }


def jar_folder(settings: Settings) -> Path:
    """
    Find Spark's Kafka and Delta jars; a relative setting is meant from the project's folder.

    Raises:
        FileNotFoundError: no jar is there.

    """
    folder = (PROJECT / settings.spark.jars).resolve()
    if not any(folder.glob("*.jar")):
        message = f"no jars in {folder}: run `make setup`, or set [spark] jars to where they are"
        raise FileNotFoundError(message)
    return folder
