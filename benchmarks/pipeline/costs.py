"""CPU-seconds per million request-log lines, of ours and of what users would run instead."""

import dataclasses
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pipeline import duck
from benchmarks.pipeline.lines import Topics
from benchmarks.pipeline.measure import Measured
from benchmarks.pipeline.textbook import Textbook
from conf.settings import Settings
from jobs import ingest, tables
from jobs.gate import Gate
from jobs.gold_quality import rebuild_data_quality
from jobs.gold_stream import Batches, inputs, stream_writer
from jobs.gold_writer import GoldWriter
from jobs.ingest_batch import SOURCES, now, raw_of
from jobs.ingest_meters import Meters
from jobs.ingest_state import checkpoint_of
from jobs.progress import Progress
from lab import jvm
from schemas.bronze import BRONZE as BRONZE_TABLES
from schemas.bronze import RAW
from schemas.gold import GOLD as GOLD_TABLES
from schemas.silver import REQUESTS, SILVER

CONSUMER, BRONZE, INGEST, GOLD = (
    "consumer perf test",
    "raw copy to bronze",
    "ingest: bronze and silver",
    "gold",
)
DELTA = "ingest, committed by Delta"
TEXTBOOK, TEXTBOOK_GOLD, DUCKDB = "textbook: bronze and silver", "textbook: gold", "DuckDB, from a file"

REQUEST_LOG = SOURCES[0]
CODEGEN = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")

SHARED = {
    "logged_at": "logged_at",
    "broker_id": "broker_id",
    "api": "api",
    "api_version": "api_version",
    "client_id": "client_id",
    "correlation_id": "correlation_id",
    "connection": "connection",
    "follower_id": "follower_id",
    "total_ms": "totalTimeMs",
    "request_queue_ms": "requestQueueTimeMs",
    "local_ms": "localTimeMs",
    "remote_ms": "remoteTimeMs",
    "response_queue_ms": "responseQueueTimeMs",
    "send_ms": "sendTimeMs",
    "throttle_ms": "throttleTimeMs",
    "listener": "listener",
    "principal": "principal",
    "error_code": "error_code",
    "topic": "topic",
    "partition": "partition",
    "offset": "offset",
}
"""Our column to the textbook's, where both hold the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One arm in one round."""

    round: int
    arm: str
    cpu_s_per_million: float
    wall_s: float


class Costs:
    """All arms over one topic of `n` lines, in one Spark session."""

    def __init__(self, spark: SparkSession, folder: Path, conf: Path, topics: Topics, n: int) -> None:
        """Say what is read and where everything is written."""
        self._spark, self._conf, self._topics, self._n = spark, conf, topics, n
        self._all, self._folder = folder, folder

    def round(self, nth: int, lines: Path) -> Iterator[Cost]:
        """Run every arm once. An arm that reads what another wrote comes behind it."""
        shutil.rmtree(self._all, ignore_errors=True)
        self._folder = self._all / str(nth)  # Delta remembers the tables of a path
        book = self._book()
        arms: dict[str, Callable[[], object]] = {
            CONSUMER: self._consume,
            BRONZE: self._copy,
            INGEST: lambda: self._ingest("ingest"),
            DELTA: lambda: self._ingest("delta", committer="delta"),
            GOLD: self._gold,
            TEXTBOOK: book.bronze_and_silver,
            TEXTBOOK_GOLD: book.gold,
            DUCKDB: lambda: duck.parse_and_write(lines, self._folder / "duckdb"),
        }
        self._make_tables()
        for arm, run in arms.items():
            yield self._cost(nth, arm, run)

    def differences(self) -> int:
        """Count the rows of silver that the two pipelines of the last round do not share."""
        ours = tables.read(self._spark, self._settings("ingest").warehouse_root, REQUESTS)
        ours = ours.select(*SHARED)
        theirs = self._book().rows("silver").select(*(F.col(b).alias(a) for a, b in SHARED.items()))
        return _rows_apart(ours, theirs)

    def _make_tables(self) -> None:
        """Make our tables beforehand: that costs once and not by the line."""
        for name in ("raw", "ingest", "delta"):
            root = self._settings(name).warehouse_root
            for table in (*BRONZE_TABLES, *SILVER, *GOLD_TABLES):
                tables.ensure(self._spark, root, table)

    def _cost(self, nth: int, arm: str, run: Callable[[], object]) -> Cost:
        with Measured() as took:
            run()
        return Cost(
            round=nth,
            arm=arm,
            cpu_s_per_million=round(took.cpu_s / self._n * 1e6, 2),
            wall_s=round(took.wall_s, 2),
        )

    def _settings(self, name: str, *, committer: str = "delta-rs") -> Settings:
        settings = Settings.load(self._conf)
        folder = self._folder / name
        warehouse = dataclasses.replace(
            settings.warehouse,
            root=str(folder / "warehouse"),
            checkpoints=str(folder / "checkpoints"),
            committer=committer,
        )
        return dataclasses.replace(settings, warehouse=warehouse)

    def _ingest(self, name: str, *, committer: str = "delta-rs") -> None:
        settings = self._settings(name, committer=committer)
        writer = ingest.writer_of(self._spark, settings, REQUEST_LOG, Uncounted(), Gate())
        query = ingest.start(writer, settings, once=True)
        query.awaitTermination()

    def _copy(self) -> None:
        """Write what the ingest writes first, and nothing else."""
        settings = self._settings("raw")

        def copy(raw: DataFrame, batch_id: int) -> None:
            tables.append(
                raw.withColumn("ingested_at", now()).select(*RAW.names),
                settings.warehouse_root,
                REQUEST_LOG.bronze,
                txn_app_id="bench",
                txn_version=batch_id,
                committer=settings.warehouse.committer,
            )

        stream = raw_of(ingest.records_of(self._spark, settings, REQUEST_LOG)).writeStream
        writer = stream.foreachBatch(copy)
        writer = writer.option("checkpointLocation", str(checkpoint_of(settings, REQUEST_LOG)))
        ingest.start(writer, settings, once=True).awaitTermination()

    def _gold(self) -> None:
        settings = self._settings("ingest")
        root, committer = settings.warehouse_root, settings.warehouse.committer
        writer = GoldWriter(self._spark, root, Progress(), committer=committer)
        batches = Batches(writer, Progress(), follow=None)
        stream = stream_writer(inputs(self._spark, settings), settings, batches)
        stream.trigger(availableNow=True).start().awaitTermination()
        rebuild_data_quality(self._spark, root, committer=committer)
        for setting in CODEGEN:  # a job of its own sets them for itself alone
            self._spark.conf.unset(setting)

    def _book(self) -> Textbook:
        settings = Settings.load(self._conf)
        return Textbook(
            self._spark,
            self._folder / "textbook",
            bootstrap_servers=settings.telemetry.bootstrap_servers,
            topic=self._topics.request_log,
            batch=settings.ingest.max_offsets_per_trigger,
        )

    def _consume(self) -> None:
        settings = Settings.load(self._conf)
        subprocess.run(
            jvm.tool(
                "org.apache.kafka.tools.ConsumerPerformance",
                *("--bootstrap-server", settings.telemetry.bootstrap_servers),
                *("--topic", self._topics.request_log, "--num-records", str(self._n)),
            ),
            check=True,
            stdout=subprocess.DEVNULL,
        )


class Uncounted(Meters):
    """Meters that count nothing and listen nowhere."""

    def __init__(self) -> None:
        """Open no port."""

    def count(self, kind: str, counts: Sequence[dict[str, Any]]) -> None:
        """Take what ingest tells."""


def _rows_apart(ours: DataFrame, theirs: DataFrame) -> int:
    return ours.exceptAll(theirs).count() + theirs.exceptAll(ours).count()
