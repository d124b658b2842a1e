"""The workers of a session, a session whose JVM dies, and one whose JVM cannot start."""

import os
import subprocess
import sys
import time

import psutil
import pyarrow as pa
import pytest

from conf.settings import PROJECT
from engine.process.session import ARROW_POOL, MMAP_THRESHOLD, NEEDED, WORKER_ENV

LOSE_IT = """
from conf.settings import Settings
from engine.process.session import JvmGoneError, jvm_watched, spark_session
try:
    with jvm_watched():
        {before}
        spark = spark_session(Settings(), "dies")
        spark.sparkContext._gateway.proc.kill()
        try:
            spark.range(1).count()
        finally:
            spark.range(1).count()
except JvmGoneError as error:
    print("error:", error)
"""

START_IT = """
from conf.settings import Settings
from engine.process.session import spark_session
from engine.process.signals import interrupt_on_signals
interrupt_on_signals()
spark_session(Settings(), "is stopped")
"""


def lose(before="pass"):
    """Run `LOSE_IT` in a separate process; return its output."""
    command = [sys.executable, "-c", LOSE_IT.format(before=before)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


def test_a_jvm_that_dies_is_reported_in_one_line():
    assert lose().startswith("error: Spark's JVM has died: it was killed, or ran out of memory")


@pytest.mark.parametrize(
    "before",
    [
        "import os; os.environ['JAVA_HOME'] = '/nowhere'",
        "import os; os.environ['PYSPARK_SUBMIT_ARGS'] = '--master x pyspark-shell'",
    ],
    ids=["no Java", "wrong option"],
)
def test_a_jvm_that_does_not_start_is_no_jvm_that_died(before):
    assert lose(before).startswith("error: Spark's JVM did not start: if it has printed why, install Java 17")


def test_a_jvm_ends_with_a_job_that_is_stopped_while_the_jvm_starts(tmp_path):
    """PySpark has then removed the folder for the port: the JVM's main thread dies, its server's does not."""
    printed, jvm = tmp_path / "printed.txt", list[psutil.Process]()
    with printed.open("wb") as sink:
        job = psutil.Popen([sys.executable, "-c", START_IT], cwd=PROJECT, stdout=sink, stderr=sink)
    while job.poll() is None and not jvm:
        jvm = [child for child in job.children() if child.name() == "java"]
        time.sleep(0.01)
    job.terminate()
    job.wait(60)
    _, alive = psutil.wait_procs(jvm, timeout=60)
    for one in alive:
        one.kill()

    assert "KeyboardInterrupt" in printed.read_text()
    assert len(jvm) == 1
    assert not alive


def test_a_worker_uses_the_memory_settings_of_the_session(spark):
    variable = MMAP_THRESHOLD.removeprefix(WORKER_ENV)

    def settings(_batches):
        pool, threshold = pa.default_memory_pool().backend_name, os.environ.get(variable)
        yield pa.RecordBatch.from_pydict({"pool": [pool], "threshold": [threshold]})

    row = spark.range(1).mapInArrow(settings, "pool string, threshold string").first()

    assert (row.pool, row.threshold) == (NEEDED[ARROW_POOL], NEEDED[MMAP_THRESHOLD])


def test_the_ports_of_a_local_driver_ask_for_a_secret(spark):
    """The session's own connections have it."""
    manager = spark._jvm.org.apache.spark.SparkEnv.get().securityManager()

    assert manager.isAuthenticationEnabled()
    assert manager.isEncryptionEnabled()
    assert spark.range(10, numPartitions=2).repartition(2).count() == 10


@pytest.mark.parametrize("left", ["offsets/.0.6f5b7f1c.tmp", "offsets/_set_aside/0"])
def test_a_stream_starts_although_its_first_batch_left_a_file(spark, tmp_path, left):
    """A full disk or a kill while Spark wrote the first batch, or an audit that set a file aside."""
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()
    (source / "lines.txt").write_text("a line\n")
    (checkpoint / left).parent.mkdir(parents=True)
    (checkpoint / left).touch()

    written = spark.readStream.text(str(source)).writeStream.option("checkpointLocation", str(checkpoint))
    written.trigger(availableNow=True).start(str(tmp_path / "rows"), format="parquet").awaitTermination()

    assert spark.read.parquet(str(tmp_path / "rows")).count() == 1
