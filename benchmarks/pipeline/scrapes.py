"""Samples per core-second of scrapes: from text to committed silver, parsing alone, and prometheus_client."""

import dataclasses
import gc
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import DataFrame, SparkSession

from benchmarks.pipeline import product
from benchmarks.pipeline.counts import check, rows_of
from benchmarks.pipeline.measure import Measured
from benchmarks.pipeline.quiet_lines import EVERY_S, Page
from conf.names import Kind
from conf.settings import Settings
from engine.ingest.arrow_rows import TABLES
from jobs import tables
from jobs.ingest_batch import parser_options
from schemas.bronze import RAW
from schemas.metrics import METRIC_SAMPLES, METRIC_SERIES
from transforms.parse.record import Kept, Record
from transforms.parse.scrapes.parser import ScrapeParser

CLIENT, PARSE, INGEST = "prometheus_client", "parse alone", "ingest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One arm in one round."""

    round: int
    arm: str
    samples_per_cpu_s: float
    wall_s: float


def repeated(pages: Sequence[Page], n: int) -> list[Page]:
    """Return `n` pages: the recording again and again, each time moved on by its own length."""
    shift_ns = pages[-1].at_ns - pages[0].at_ns + int(EVERY_S * 1e9)
    return [
        page._replace(at_ns=page.at_ns + nth // len(pages) * shift_ns)
        for nth, page in ((nth, pages[nth % len(pages)]) for nth in range(n))
    ]


class Scrapes:
    """All arms over the same pages, in one Spark session; batches are as large as the ingest's."""

    def __init__(
        self, spark: SparkSession, settings: Settings, folder: Path, recorded: Sequence[Page], n: int
    ) -> None:
        """Write `n` pages as bronze rows, one folder per batch, and one batch before them that warms up."""
        self._spark, self._all, self._settings = spark, folder, settings
        self._parser = ScrapeParser(parser_options(settings).limits)
        self.batch = min(settings.ingest.max_scrapes_per_trigger, n)
        pages = repeated(recorded, self.batch + n)
        self._before, self._pages = pages[: self.batch], pages[self.batch :]
        self.samples, self._warm_samples = (
            sum(_samples_in(page.text) for page in of) for of in (self._pages, self._before)
        )
        self._batches = [
            self._written(nth, pages[first : first + self.batch])
            for nth, first in enumerate(range(0, len(pages), self.batch))
        ]
        self._parse(self._before)

    def round(self, nth: int) -> Iterator[Cost]:
        """Run every arm once, in this order; every series is known to each."""
        root = self._all / f"round-{nth}"
        shutil.rmtree(root, ignore_errors=True)
        warehouse = dataclasses.replace(self._settings.warehouse, root=str(root))
        settings = dataclasses.replace(self._settings, warehouse=warehouse)
        product.make_tables(self._spark, root)
        product.write_scrapes(self._batches[0], 0, settings)
        samples, series = (Path(tables.path(root, table)) for table in (METRIC_SAMPLES, METRIC_SERIES))
        known = rows_of(series)
        arms: dict[str, Callable[[], int]] = {
            CLIENT: self._client,
            PARSE: lambda: self._parse(self._pages),
            INGEST: lambda: self._ingest(settings, samples),
        }
        for name, run in arms.items():
            with Measured() as took:
                done = run()
            check(name, {"samples": (done, self.samples), "series": (rows_of(series), known)})
            yield Cost(
                round=nth,
                arm=name,
                samples_per_cpu_s=round(self.samples / took.cpu_s),
                wall_s=round(took.wall_s, 2),
            )
        shutil.rmtree(root)

    def _client(self) -> int:
        with _without_gc():
            return sum(
                len(family.samples)
                for page in self._pages
                for family in text_string_to_metric_families(page.text.decode())
            )

    def _parse(self, pages: Sequence[Page]) -> int:
        """Parse as a task of the ingest does, and make the Arrow rows of every table; write none."""
        found = 0
        with _without_gc():
            for page in pages:
                outcome = self._parser.parse(_record_of(page))
                if not isinstance(outcome, Kept):
                    message = f"{page.node}: a recorded page cannot be parsed: {outcome}"
                    raise TypeError(message)
                for name, rows in outcome.rows.items():
                    if rows:
                        made = product.rows_of_parser(TABLES[name], rows).num_rows
                        found += made if name == METRIC_SAMPLES.name else 0
        return found

    def _ingest(self, settings: Settings, samples: Path) -> int:
        for nth, batch in enumerate(self._batches[1:], start=1):
            product.write_scrapes(batch, nth, settings)
        return rows_of(samples) - self._warm_samples

    def _written(self, nth: int, pages: Sequence[Page]) -> DataFrame:
        rows = [_raw(nth * self.batch + at, page) for at, page in enumerate(pages)]
        where = str(self._all / f"batch-{nth}")
        self._spark.createDataFrame(rows, RAW).repartition(2).write.mode("overwrite").parquet(where)
        return self._spark.read.schema(RAW).parquet(where)


@contextmanager
def _without_gc() -> Iterator[None]:
    """Switch the cyclic garbage collector off, as a task of the ingest does: it takes half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


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
