"""Samples of scrapes per core-second: text to committed silver, only parsing, and prometheus_client."""

import dataclasses
import gc
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from benchmarks.pipeline.arms import product
from benchmarks.pipeline.arms.lines import PARTITIONS, Topics
from benchmarks.pipeline.arms.quiet_lines import EVERY_S, QuietPage
from benchmarks.pipeline.counts import check, rows_of
from benchmarks.pipeline.measure import Measured
from conf.names import Kind
from conf.settings import Settings
from engine.delta import tables
from engine.ingest.batches import parser_options
from engine.ingest.task.arrow_rows import TABLES
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from transforms.parse.record import Kept, Record
from transforms.parse.scrapes.parser import ScrapeParser

CLIENT, PARSE, INGEST = "prometheus_client", "parse alone", "ingest"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCost:
    """One arm in one round."""

    round: int
    arm: str
    samples_per_cpu_s: float
    wall_s: float


def repeated(pages: Sequence[QuietPage], n: int) -> list[QuietPage]:
    """Return `n` pages: the recording repeatedly, each time later by its own length."""
    shift_ns = pages[-1].at_ns - pages[0].at_ns + int(EVERY_S * 1e9)
    return [
        page._replace(at_ns=page.at_ns + nth // len(pages) * shift_ns)
        for nth, page in ((nth, pages[nth % len(pages)]) for nth in range(n))
    ]


class Scrapes:
    """All arms over the same pages, in one Spark session; batches are as large as the ingest's."""

    def __init__(  # noqa: PLR0913 (inputs, rounds, and outputs)
        self,
        spark: SparkSession,
        conf: Path,
        folder: Path,
        topics: Topics,
        *,
        recorded: Sequence[QuietPage],
        n: int,
    ) -> None:
        """Publish one batch with every series, and then `n` pages."""
        self._spark, self._settings, self._all, self._topics = spark, Settings.load(conf), folder, topics
        self._parser = ScrapeParser(parser_options(self._settings).limits)
        self.batch = min(self._settings.ingest.max_scrapes_per_trigger, n)
        pages = repeated(recorded, self.batch + n)
        topics.publish_pages(pages)
        self._before, self._pages = pages[: self.batch], pages[self.batch :]
        self.samples, self._warm_samples = (
            sum(_samples_in(page.text) for page in of) for of in (self._pages, self._before)
        )
        self._parse(self._before)

    def round(self, number: int) -> Iterator[SampleCost]:
        """Run every arm once, in this order; every arm already knows all series."""
        root = self._all / f"round-{number}"
        shutil.rmtree(root, ignore_errors=True)
        warehouse = dataclasses.replace(self._settings.warehouse, root=str(root))
        settings = dataclasses.replace(self._settings, warehouse=warehouse)
        product.make_tables(self._spark, root)
        self._write(0, settings)
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
            yield SampleCost(
                round=number,
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

    def _parse(self, pages: Sequence[QuietPage]) -> int:
        """Parse as a task of the ingest does, and build the Arrow rows of every table; write none."""
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
        for nth in range(1, 1 + -(-len(self._pages) // self.batch)):
            self._write(nth, settings)
        return rows_of(samples) - self._warm_samples

    def _write(self, nth: int, settings: Settings) -> None:
        first = nth * self.batch
        end = min(first + self.batch, len(self._before) + len(self._pages))
        offsets = offsets_between(self._topics.metrics, first, end)
        product.write_scrapes(self._spark, offsets, nth, settings)


def offsets_between(topic: str, first: int, end: int) -> dict[tuple[str, int], tuple[int, int]]:
    """
    Return the offsets of pages `first` to `end` (exclusive), published round-robin to all partitions.

    >>> offsets_between("metrics", 3, 8)
    {('metrics', 0): (2, 4), ('metrics', 1): (1, 4)}
    """
    return {
        (topic, n): ((first + PARTITIONS - 1 - n) // PARTITIONS, (end + PARTITIONS - 1 - n) // PARTITIONS)
        for n in range(PARTITIONS)
    }


@contextmanager
def _without_gc() -> Iterator[None]:
    """Disable the cyclic garbage collector, as a task of the ingest does; it would take half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _record_of(page: QuietPage) -> Record:
    return Record(
        page.text,
        cluster="bench",
        node=page.node,
        kind=Kind.METRICS.value,
        position=f"{page.node}/scrape/{page.at_ns}",
        timestamp=page.at_ns // 1_000,
    )


def _samples_in(text: bytes) -> int:
    return sum(1 for line in text.split(b"\n") if line.strip() and not line.startswith(b"#"))
