"""The Spark session: created by `spark-submit`, or a local one from the settings."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from conf.exit_codes import CommandError, WrongUseError
from conf.settings import PROJECT, Settings
from engine.process.signals import interrupt_on_signals

WORKER_ENV = "spark.executorEnv."
"""Prefix of the options that set an environment variable of the Python workers."""

ARROW_POOL = WORKER_ENV + "ARROW_DEFAULT_MEMORY_POOL"
"""Option for the memory pool of the Python workers; pyarrow reads the variable on import."""

MMAP_THRESHOLD = WORKER_ENV + "MALLOC_MMAP_THRESHOLD_"
"""The size in bytes from which glibc gives a freed block back; it reads the variable at start."""

# Options that the tables and jobs need everywhere; a value set for spark-submit wins.
NEEDED = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # A full disk or a kill in the first batch leaves a draft in `offsets`, and an audit `_set_aside`. Spark
    # would refuse to start over them for ever. The audits of the streams look at the checkpoints instead.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    # Files are written once and read many times; zstd costs no more CPU than snappy and halves bronze.
    "spark.sql.parquet.compression.codec": "zstd",
    # Spark's default, INT96, has no statistics in the footer.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # By default Parquet's writer estimates from the first rows when to check its buffer size; a line may
    # have 4 MiB, so the check must be frequent.
    "spark.hadoop.parquet.page.size.check.estimate": "false",
    "spark.hadoop.parquet.page.size.row.check.min": "16",
    "spark.hadoop.parquet.block.size.row.check.min": "16",
    # One task reads a small table log; the default of 50 tasks is most of the cost of a small commit.
    "spark.databricks.delta.snapshotPartitions": "1",
    # HotSpot never compiles a method of more than 8,000 bytes, and Spark's own limit is 65,535.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # jemalloc returns memory to the system, Arrow's default keeps it: after scrapes of 16 MiB a task's peak
    # is 440 instead of 590 MiB, for 1 % more CPU on request-log lines.
    ARROW_POOL: "jemalloc",
    # By default glibc raises this threshold to the size of each large block that is freed, and keeps later
    # blocks of that size: scrapes of 16 MiB then cost a worker 496 instead of 442 MiB.
    MMAP_THRESHOLD: str(2 * 1024 * 1024),
    # More than the plans of one process need: a generated class that left the cache would be compiled again.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # A list of windows is then data, not a part of the generated code (`transforms.spans.within`).
    "spark.sql.optimizer.inSetConversionThreshold": "0",
    "spark.sql.optimizer.inSetSwitchThreshold": "0",
    # When enabled, each column created in Python makes five more JVM calls, to record its call site.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# Options for a single machine only.
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A signal while the JVM starts ends the main thread of the JVM, since PySpark removes the folder in which
    # it waits for the port. Without this option, the thread of the py4j server would live for ever.
    "spark.submit.callSystemExitOnMainExit": "true",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Other users of the machine can reach the ports of the driver; Spark makes a secret for each session.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    # The settings fix a small number of partitions, so adaptive planning is pure cost: 50 ms per append.
    "spark.sql.adaptive.enabled": "false",
    # Spark 4.2 plans stateless streams adaptively despite the option above; the batches here are small.
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
    # Each sort, aggregation and broadcast allocates a page; the default is 16 MiB even for a few rows.
    "spark.buffer.pageSize": "1m",
    # The default starts 20 processes per batch (chmod, readlink): Hadoop has no native library here.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

JAVA_OPTIONS = "-Duser.timezone=UTC -Djava.net.preferIPv4Stack=true"
DEFAULT_JVM_OPTIONS = "-XX:+UseParallelGC"
"""On two cores the concurrent collection of G1 takes a tenth of the CPU."""

_PLANS_ONLY = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=192m"
JVM_OPTIONS_BY_APP = {
    # The driver only plans batches, so the C2 compiler and a larger heap cost more than they save: measured
    # at 2,000 lines/s, 0.14 core instead of 0.19 and 507 MB instead of 1,062 (decision 022).
    "ingest": _PLANS_ONLY,
    # Spark only names the new files of a batch (decision 042).
    "build_gold": _PLANS_ONLY,
}
"""Options that replace the default ones, by application."""


DIED = (
    "Spark's JVM has died: it was killed, or ran out of memory ([spark] driver_memory); start the job again, "
    "it continues from the last commit"
)
NOT_STARTED = (
    "Spark's JVM did not start: if it has printed why, install Java 17 or set JAVA_HOME, and check master "
    "and driver_memory in [spark]; otherwise it was killed: start the job again"
)


class JvmGoneError(CommandError):
    """The JVM of a session has died, or did not start."""


@contextmanager
def jvm_watched() -> Iterator[None]:
    """
    Raise a clear error when the JVM has died; other failures pass unchanged.

    Raises:
        JvmGoneError: the JVM does not answer; the message says what to do.

    """
    try:
        yield
    except Py4JJavaError:
        raise
    except (Py4JError, ConnectionError, PySparkRuntimeError) as error:
        if isinstance(error, PySparkRuntimeError) and error.getErrorClass() != "JAVA_GATEWAY_EXITED":
            raise
        raise JvmGoneError(NOT_STARTED if isinstance(error, PySparkRuntimeError) else DIED) from error


def spark_session(settings: Settings, app_name: str) -> SparkSession:
    """
    Return the running session, or one that spark-submit configured, or a new local one.

    Raises:
        FileNotFoundError: a local session needs the jars and there are none.

    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf()
    # Hadoop would give its files the permissions of its own umask, 022.
    wanted = NEEDED | {"spark.hadoop.fs.permissions.umask-mode": _umask()}
    if not submitted:
        wanted |= LOCAL | _sized(settings) | _jvm(app_name)
    for key, value in wanted.items():
        conf.setIfMissing(key, value)
    conf.setIfMissing("spark.app.name", app_name)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _umask() -> str:
    """Return the umask of the process, octal; `os.umask` cannot read it without a change."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("Umask:"))


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
    Return the folder of Spark's Kafka and Delta jars; a relative setting is relative to the project.

    Raises:
        FileNotFoundError: the folder has no jar.

    """
    folder = (PROJECT / settings.spark.jars).resolve()
    if not any(folder.glob("*.jar")):
        message = f"no jars in {folder}: run `make setup`, or set [spark] jars to their folder"
        raise FileNotFoundError(message)
    return folder


@contextmanager
def session(settings: Settings, app_name: str) -> Iterator[SparkSession]:
    """
    Yield the running session, or a new one that is stopped afterwards.

    Raises:
        WrongUseError: there are no jars for a new one.

    """
    is_new = SparkSession.getActiveSession() is None
    try:
        spark = spark_session(settings, app_name)
    except FileNotFoundError as error:
        raise WrongUseError(str(error)) from error
    interrupt_on_signals()
    try:
        yield spark
    finally:
        if is_new:
            spark.stop()


def set_system_properties(spark: SparkSession, properties: Mapping[str, str]) -> None:
    """Set system properties of the driver's JVM, which may already run."""
    for name, value in properties.items():
        spark._jvm.java.lang.System.setProperty(name, value)  # type: ignore[union-attr]  # noqa: SLF001 (py4j's gateway)


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Run plans without compiling them: compiling takes longer than a few rows."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {key: str(spark.conf.get(key)) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
