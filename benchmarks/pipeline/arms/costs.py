"""CPU seconds per million request-log lines, of this ingest and of its alternatives."""

import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pipeline.arms import consumer, duck, product
from benchmarks.pipeline.arms.lines import Topics
from benchmarks.pipeline.arms.textbook import Textbook
from benchmarks.pipeline.counts import Counts, check, column, rows_of
from benchmarks.pipeline.measure import Timed, timed
from conf.settings import Settings
from engine.delta import tables
from schemas.bronze import REQUEST_LOG
from schemas.fields import Table
from schemas.gold import GOLD as GOLD_TABLES
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS
from transforms.gold.fetch_latency import pairing
from transforms.sql import connect

START, CONSUMER = "consumer perf test, one record", "consumer perf test"
INGEST, GOLD = "ingest", "gold"
JOBS = {INGEST: ("ingest", product.ingest_lines), GOLD: ("build_gold", product.build_gold)}
"""The arms of the product: each runs in a process of its own, with the JVM options of this application."""

TEXTBOOK, TEXTBOOK_GOLD, DUCKDB = "textbook: bronze and silver", "textbook: gold", "DuckDB, from a file"

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
"""Columns of `silver.requests`, and the textbook's columns with the same content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCost:
    """One arm in one round."""

    round: int
    arm: str
    cpu_s_per_million: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class TimedArm:
    """A function that returns its cost, and counts that show that it did all its work."""

    run: Callable[[], Timed]
    counts: Callable[[Any], Counts]


class Costs:
    """All arms over one topic of `n` lines; the textbook in `spark`, the product in `processes` by arm."""

    def __init__(  # noqa: PLR0913 (inputs, their size, and the output folder)
        self,
        spark: SparkSession,
        processes: Mapping[str, Executor],
        folder: Path,
        conf: Path,
        topics: Topics,
        *,
        n: int,
        requests: int,
    ) -> None:
        """Write inside `folder`; the topic has `n` lines, of which `requests` are whole requests."""
        self._spark, self._conf, self._topics, self._n, self._requests = spark, conf, topics, n, requests
        self._processes, self._all, self._folder = processes, folder, folder

    def round(self, number: int, lines: Path) -> Iterator[LineCost]:
        """Run every arm once; an arm that reads another arm's tables runs after it."""
        shutil.rmtree(self._all, ignore_errors=True)
        self._folder = self._all / str(number)  # Delta caches tables by path.
        book, duckdb, n = self._book(), self._folder / "duckdb", self._n
        arms = {
            START: TimedArm(partial(timed, self._consume, 1), lambda _: {}),
            CONSUMER: TimedArm(partial(timed, self._consume, n), lambda read: {"its summary": (read, n)}),
            INGEST: TimedArm(partial(self._product, INGEST), lambda _: self._ingested()),
            GOLD: TimedArm(partial(self._product, GOLD), lambda _: self._accounted()),
            TEXTBOOK: TimedArm(partial(timed, book.bronze_and_silver), lambda _: self._both(*book.counts())),
            TEXTBOOK_GOLD: TimedArm(
                partial(timed, book.gold), lambda _: {"fetches in closed windows": book.fetches()}
            ),
            DUCKDB: TimedArm(
                partial(timed, duck.parse_and_write, lines, duckdb), lambda rows: self._both(*rows)
            ),
        }
        product.make_tables(self._spark, self._settings().warehouse_root)
        for name, arm in arms.items():
            yield self._cost(number, name, arm)

    def compared(self) -> dict[str, int]:
        """Return the silver rows of both pipelines in the last round, and the number of different rows."""
        ours = tables.read(self._spark, self._settings().warehouse_root, REQUESTS)
        ours = ours.select(*SHARED)
        theirs = self._book().rows("silver").select(*(F.col(b).alias(a) for a, b in SHARED.items()))
        return {"ours": ours.count(), "textbook": theirs.count(), "apart": _rows_apart(ours, theirs)}

    def gold(self) -> dict[str, object]:
        """Return how the last round built gold: the batches, and whether each table has rows."""
        return {
            "batches": product.gold_batches(self._settings()),
            "tables": {table.name: bool(rows_of(self._where(table))) for table in GOLD_TABLES},
        }

    def _cost(self, number: int, name: str, arm: TimedArm) -> LineCost:
        took = arm.run()
        check(name, arm.counts(took.result))
        return LineCost(
            round=number,
            arm=name,
            cpu_s_per_million=round(took.cpu_s / self._n * 1e6, 2),
            wall_s=round(took.wall_s, 2),
        )

    def _settings(self) -> Settings:
        settings, folder = Settings.load(self._conf), self._folder / "ingest"
        warehouse = dataclasses.replace(
            settings.warehouse,
            root=str(folder / "warehouse"),
            checkpoints=str(folder / "checkpoints"),
        )
        return dataclasses.replace(settings, warehouse=warehouse)

    def _product(self, arm: str) -> Timed:
        return self._processes[arm].submit(product.timed_job, *JOBS[arm], self._settings()).result()

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

    def _where(self, table: Table) -> Path:
        return Path(tables.path(self._settings().warehouse_root, table))

    def _ingested(self) -> Counts:
        kept, quarantined = (rows_of(self._where(table)) for table in (REQUESTS, QUARANTINE))
        skipped = sum(column(self._where(SKIPPED), "lines"))
        return self._both(rows_of(self._where(REQUEST_LOG)), kept) | {
            "silver with quarantined and skipped": (kept + quarantined + skipped, self._n)
        }

    def _accounted(self) -> Counts:
        quality = self._where(DATA_QUALITY)
        outcomes = {name: sum(column(quality, name)) for name in ("kept", "quarantined", "skipped")}
        requests = tables.read(self._spark, self._settings().warehouse_root, REQUESTS)
        with connect({"requests": requests.select(*pairing.REQUESTS_COLUMNS).toArrow()}) as db:
            served = len(db.sql(pairing.SERVED))
        fetches = sum(column(self._where(FETCH_LATENCY), "n"))
        return {
            "data quality": (sum(outcomes.values()), self._n),
            "fetches in windows": (fetches, served),
        }

    def _both(self, bronze: int, silver: int) -> Counts:
        return {"bronze": (bronze, self._n), "silver": (silver, self._requests)}


def _rows_apart(ours: DataFrame, theirs: DataFrame) -> int:
    return ours.exceptAll(theirs).count() + theirs.exceptAll(ours).count()
