"""CPU-seconds per million request-log lines, of ours and of what users would run instead."""

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pipeline import consumer, duck
from benchmarks.pipeline.counts import Counts, check, column, rows_of
from benchmarks.pipeline.lines import Topics
from benchmarks.pipeline.measure import Measured
from benchmarks.pipeline.textbook import Textbook
from conf.settings import Settings
from engine.ingest.records import IN_ORDER
from jobs import ingest, tables
from jobs.gate import Gate
from jobs.gold_quality import rebuild_data_quality
from jobs.gold_stream import STREAM, Batches, inputs
from jobs.gold_writer import GoldWriter
from jobs.ingest_meters import Meters
from jobs.ingest_state import checkpoint_of
from jobs.progress import Progress
from jobs.sources import LINES, SOURCES
from schemas.bronze import BRONZE as BRONZE_TABLES
from schemas.bronze import RAW
from schemas.fields import Table
from schemas.gold import DATA_QUALITY, FETCH_LATENCY
from schemas.gold import GOLD as GOLD_TABLES
from schemas.silver import QUARANTINE, REQUESTS, SILVER, SKIPPED
from transforms.gold import pairing

START, CONSUMER = "consumer perf test, one record", "consumer perf test"
BRONZE, INGEST, GOLD = "raw copy to bronze", "ingest: bronze and silver", "gold"
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


@dataclass(frozen=True, slots=True)
class Arm:
    """What is timed, and, asked behind it, the counts that tell whether all was done."""

    run: Callable[[], Any]
    counts: Callable[[Any], Counts]


class Costs:
    """All arms over one topic of `n` lines, in one Spark session."""

    def __init__(  # noqa: PLR0913 (what is read, how much it is, and where everything is written)
        self, spark: SparkSession, folder: Path, conf: Path, topics: Topics, *, n: int, requests: int
    ) -> None:
        """Say what is read, how many of its lines are whole requests, and where everything is written."""
        self._spark, self._conf, self._topics, self._n, self._requests = spark, conf, topics, n, requests
        self._all, self._folder = folder, folder

    def round(self, nth: int, lines: Path) -> Iterator[Cost]:
        """Run every arm once. An arm that reads what another wrote comes behind it."""
        shutil.rmtree(self._all, ignore_errors=True)
        self._folder = self._all / str(nth)  # Delta remembers the tables of a path
        book, duckdb, n = self._book(), self._folder / "duckdb", self._n
        arms = {
            START: Arm(lambda: self._consume(1), lambda _: {}),
            CONSUMER: Arm(lambda: self._consume(n), lambda read: {"its summary": (read, n)}),
            INGEST: Arm(lambda: self._ingest("ingest"), lambda _: self._taken_in("ingest")),
            GOLD: Arm(self._gold, lambda _: self._accounted()),
            TEXTBOOK: Arm(book.bronze_and_silver, lambda _: self._both(*book.counts())),
            TEXTBOOK_GOLD: Arm(book.gold, lambda _: {"fetches in windows that are over": book.fetches()}),
            DUCKDB: Arm(lambda: duck.parse_and_write(lines, duckdb), lambda told: self._both(*told)),
        }
        self._make_tables()
        for name, arm in arms.items():
            yield self._cost(nth, name, arm)

    def compared(self) -> dict[str, int]:
        """Count the rows of silver of the two pipelines in the last round, and those they do not share."""
        ours = tables.read(self._spark, self._settings("ingest").warehouse_root, REQUESTS)
        ours = ours.select(*SHARED)
        theirs = self._book().rows("silver").select(*(F.col(b).alias(a) for a, b in SHARED.items()))
        return {"ours": ours.count(), "textbook": theirs.count(), "apart": _rows_apart(ours, theirs)}

    def _make_tables(self) -> None:
        """Make our tables beforehand: that costs once and not by the line."""
        for name in ("raw", "ingest"):
            root = self._settings(name).warehouse_root
            for table in (*BRONZE_TABLES, *SILVER, *GOLD_TABLES):
                tables.ensure(self._spark, root, table)

    def _cost(self, nth: int, name: str, arm: Arm) -> Cost:
        with Measured() as took:
            done = arm.run()
        check(name, arm.counts(done))
        return Cost(
            round=nth,
            arm=name,
            cpu_s_per_million=round(took.cpu_s / self._n * 1e6, 2),
            wall_s=round(took.wall_s, 2),
        )

    def _settings(self, name: str) -> Settings:
        settings = Settings.load(self._conf)
        folder = self._folder / name
        warehouse = dataclasses.replace(
            settings.warehouse,
            root=str(folder / "warehouse"),
            checkpoints=str(folder / "checkpoints"),
        )
        return dataclasses.replace(settings, warehouse=warehouse)

    def _ingest(self, name: str) -> None:
        settings = self._settings(name)
        writer = ingest.writer_of(self._spark, settings, LINES, Uncounted(), Gate(), once=True)
        query = ingest.start(writer, settings, once=True)
        query.awaitTermination()

    def _copy(self) -> None:
        """Write what the ingest writes first, and nothing else."""
        settings = self._settings("raw")

        def copy(records: DataFrame, batch_id: int) -> None:
            tables.append(
                raw_of(records),
                settings.warehouse_root,
                REQUEST_LOG.bronze,
                txn_app_id="bench",
                txn_version=batch_id,
            )

        stream = ingest.offsets_stream(self._spark, settings, LINES, once=True).writeStream
        writer = stream.foreachBatch(copy)
        writer = writer.option("checkpointLocation", str(checkpoint_of(settings, LINES)))
        ingest.start(writer, settings, once=True).awaitTermination()

    def _gold(self) -> None:
        settings = self._settings("ingest")
        root = settings.warehouse_root
        writer = GoldWriter(self._spark, root, Progress())
        batches = Batches(writer, Progress(), follow=None)
        stream = STREAM.writer(inputs(self._spark, settings), settings, batches)
        stream.trigger(availableNow=True).start().awaitTermination()
        rebuild_data_quality(self._spark, root)
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

    def _consume(self, n: int) -> int:
        settings = Settings.load(self._conf)
        return consumer.consume(settings.telemetry.bootstrap_servers, self._topics.request_log, n)

    def _where(self, name: str, table: Table) -> Path:
        return Path(tables.path(self._settings(name).warehouse_root, table))

    def _bronze(self, name: str) -> int:
        return rows_of(self._where(name, REQUEST_LOG.bronze))

    def _taken_in(self, name: str) -> Counts:
        kept, quarantined = (rows_of(self._where(name, table)) for table in (REQUESTS, QUARANTINE))
        skipped = sum(column(self._where(name, SKIPPED), "lines"))
        return self._both(self._bronze(name), kept) | {
            "silver with quarantined and skipped": (kept + quarantined + skipped, self._n)
        }

    def _accounted(self) -> Counts:
        quality = self._where("ingest", DATA_QUALITY)
        told = {name: sum(column(quality, name)) for name in ("kept", "quarantined", "skipped")}
        served = pairing.served(tables.read(self._spark, self._settings("ingest").warehouse_root, REQUESTS))
        fetches = sum(column(self._where("ingest", FETCH_LATENCY), "n"))
        return {
            "data quality": (sum(told.values()), self._n),
            "fetches in windows": (fetches, served.count()),
        }

    def _both(self, bronze: int, silver: int) -> Counts:
        return {"bronze": (bronze, self._n), "silver": (silver, self._requests)}


class Uncounted(Meters):
    """Meters that count nothing and listen nowhere."""

    def __init__(self) -> None:
        """Open no port."""

    def count(self, counts: Sequence[dict[str, Any]]) -> None:
        """Take what ingest tells."""


def raw_of(records: DataFrame) -> DataFrame:
    """Return Kafka's records as rows of bronze, made by Spark alone: the headers become columns."""
    named = F.map_from_entries(F.transform("headers", lambda h: F.struct(h.key, h.value.cast("string"))))
    columns = {name.name.lower(): named[name.value] for name in IN_ORDER} | {
        "headers": F.lit(None).cast(RAW["headers"].dataType),
        "timestamp_type": F.col("timestampType"),
        "ingested_at": F.current_timestamp(),
        "ingest_date": F.to_date("timestamp"),
    }
    return records.select(*(columns.get(name, F.col(name)).alias(name) for name in RAW.names))


def _rows_apart(ours: DataFrame, theirs: DataFrame) -> int:
    return ours.exceptAll(theirs).count() + theirs.exceptAll(ours).count()
