"""Samples per core-second: our reading of scrapes, with and without writing, beside prometheus_client."""

import dataclasses
import gzip
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import DataFrame, SparkSession

from benchmarks.metrics.record import record, recorded
from benchmarks.pipeline.counts import check, rows_of
from benchmarks.pipeline.measure import Measured
from conf.names import Kind
from conf.settings import ScrapedEndpoint, Settings
from engine.ingest.arrow_rows import TABLES, record_batch
from jobs import ingest_batch, tables
from jobs.sources import SCRAPES, SOURCES
from lab import cluster, load
from schemas.bronze import RAW
from schemas.metrics import METRIC_SAMPLES
from transforms.parse.record import Kept, Record
from transforms.parse.scrapes.parser import ScrapeParser

CLIENT = "prometheus_client"
NEW, PARSE = "parse, every series new", "parse, every series known"
INGEST = "ingest: bronze and silver, every series new at first"

METRICS = next(source for source in SOURCES if source.kind is Kind.METRICS)
TURN_NS = 10_000_000_000
HEAP, BATCH = "4g", 120
RECORD_S, EVERY_S, LOAD_PER_S = 60.0, 10.0, 50.0


@dataclass(frozen=True, slots=True)
class Page:
    """One scrape."""

    node: str
    at_ns: int
    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One arm in one round."""

    round: int
    arm: str
    samples_per_cpu_s: float
    wall_s: float


def pages_of(state: Path, n: int) -> list[Page]:
    """Give `n` pages of three real brokers under load: a minute is recorded once, and repeated later."""
    folder = state / "scrapes"
    if not folder.exists():
        _record(state, folder)
    told = [
        Page(node, at_ns, gzip.decompress(path.read_bytes()))
        for node, of in recorded(folder).items()
        for at_ns, path in of
    ]
    told.sort(key=lambda page: page.at_ns)
    shift_ns = told[-1].at_ns - told[0].at_ns + TURN_NS
    return [
        dataclasses.replace(page, at_ns=page.at_ns + nth // len(told) * shift_ns)
        for nth, page in ((nth, told[nth % len(told)]) for nth in range(n))
    ]


def _record(state: Path, folder: Path) -> None:
    lab = cluster.start(state / "lab", request_log=False, client_log=False, fresh=True)
    try:
        load.begin(lab, load.Load(records_per_s=LOAD_PER_S))
        endpoints = [ScrapedEndpoint(url=one.exporter_url, node=f"broker-{one.id}") for one in lab.brokers]
        record(endpoints, folder, seconds=RECORD_S, every_s=EVERY_S)
    finally:
        cluster.stop(state / "lab")


def settings() -> Settings:
    """Give the settings of an ingest of many brokers, as `docs/metrics.md` has them."""
    told = Settings.load()
    return dataclasses.replace(
        told,
        spark=dataclasses.replace(told.spark, driver_memory=HEAP),
        ingest=dataclasses.replace(told.ingest, max_scrapes_per_trigger=BATCH),
    )


class Scrapes:
    """All arms over the same pages, in one Spark session; batches are as large as the ingest's."""

    def __init__(self, spark: SparkSession, settings: Settings, folder: Path, pages: Sequence[Page]) -> None:
        """Lay the pages out as bronze rows, a folder a batch."""
        self._spark, self._all, self._pages = spark, folder, pages
        self._settings = settings
        self._parser = ScrapeParser(ingest_batch.parser_options(settings).limits)
        self._samples = sum(_samples_in(page.text) for page in pages)
        each = self._settings.ingest.max_scrapes_per_trigger
        self._batches = [
            self._written(nth, pages[first : first + each])
            for nth, first in enumerate(range(0, len(pages), each))
        ]

    @property
    def samples(self) -> int:
        """Give the samples of all pages: their lines that are neither empty nor a comment."""
        return self._samples

    def warm_up(self) -> None:
        """Read every page once, so that all series are known."""
        self._parse(self._parser)

    def round(self, nth: int) -> Iterator[Cost]:
        """Run every arm once, in this order."""
        root = self._all / f"round-{nth}"
        shutil.rmtree(root, ignore_errors=True)
        warehouse = dataclasses.replace(self._settings.warehouse, root=str(root))
        settings = dataclasses.replace(self._settings, warehouse=warehouse)
        for table in METRICS.tables:
            tables.ensure(self._spark, root, table)
        arms: dict[str, Callable[[], int]] = {
            CLIENT: self._client,
            NEW: lambda: self._parse(ScrapeParser(ingest_batch.parser_options(settings).limits)),
            PARSE: lambda: self._parse(self._parser),
            INGEST: lambda: self._ingest(settings),
        }
        for name, run in arms.items():
            with Measured() as took:
                done = run()
            found = rows_of(Path(tables.path(root, METRIC_SAMPLES))) if name == INGEST else done
            check(name, {"samples": (found, self._samples)})
            yield Cost(
                round=nth,
                arm=name,
                samples_per_cpu_s=round(self._samples / took.cpu_s),
                wall_s=round(took.wall_s, 2),
            )
        shutil.rmtree(root)

    def _client(self) -> int:
        return sum(
            len(family.samples)
            for page in self._pages
            for family in text_string_to_metric_families(page.text.decode())
        )

    def _parse(self, parser: ScrapeParser) -> int:
        """Read as a task of the ingest does, and make the Arrow rows of every table; write none."""
        found = 0
        for page in self._pages:
            outcome = parser.parse(_record_of(page))
            if not isinstance(outcome, Kept):
                message = f"{page.node}: a recorded page cannot be parsed: {outcome}"
                raise TypeError(message)
            for name, rows in outcome.rows.items():
                if rows:
                    made = record_batch(TABLES[name], rows).num_rows
                    found += made if name == METRIC_SAMPLES.name else 0
        return found

    def _ingest(self, settings: Settings) -> int:
        for nth, batch in enumerate(self._batches):
            ingest_batch.write_batch(batch, nth, SCRAPES, settings=settings, app_id="bench", is_new=True)
        return 0

    def _written(self, nth: int, pages: Sequence[Page]) -> DataFrame:
        rows = [_raw(offset, page) for offset, page in enumerate(pages)]
        where = str(self._all / f"batch-{nth}")
        self._spark.createDataFrame(rows, RAW).repartition(2).write.mode("overwrite").parquet(where)
        return self._spark.read.schema(RAW).parquet(where)


def _record_of(page: Page) -> Record:
    return Record(
        page.text,
        cluster="bench",
        node=page.node,
        kind=Kind.METRICS.value,
        position=f"{page.node}/scrape/{page.at_ns}",
        timestamp=page.at_ns // 1_000,
    )


def _raw(offset: int, page: Page) -> dict[str, Any]:
    at = datetime.fromtimestamp(page.at_ns / 1e9, UTC)
    return dict.fromkeys(RAW.names) | {
        "value": page.text,
        "topic": "plumbline.metrics",
        "partition": 0,
        "offset": offset,
        "timestamp": at,
        "cluster": "bench",
        "node": page.node,
        "kind": Kind.METRICS.value,
        "source": "http://127.0.0.1/metrics",
        "position": f"{page.node}/scrape/{page.at_ns}",
        "ingest_date": at.date(),
    }


def _samples_in(text: bytes) -> int:
    return sum(1 for line in text.split(b"\n") if line.strip() and not line.startswith(b"#"))
