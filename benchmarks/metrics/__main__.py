"""`python -m benchmarks.metrics`: what a metric sample weighs in Delta and in a real Prometheus."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession

from benchmarks.metrics.blocks import in_blocks
from benchmarks.metrics.delta import in_delta
from benchmarks.metrics.page import AIM, PAGE, StorePair, Weighed, save, section, write
from benchmarks.metrics.record import record as record_pages
from benchmarks.metrics.record import recorded
from benchmarks.metrics.samples import Samples, read
from conf.settings import PROJECT, ScrapedEndpoint, Settings
from engine.process.session import spark_session
from engine.process.signals import interrupt_on_signals
from lab import cluster, load
from lab.errors import LabError
from lab.layout import Lab

STATE = PROJECT / ".state" / "metrics"
TWO_HOURS_S = 2 * 3_600.0

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.callback()
def metrics() -> None:
    """Record scrapes, and weigh them."""


@app.command()
def record(
    seconds: Annotated[float, typer.Option(min=1, help="How long.")] = TWO_HOURS_S,
    every_s: Annotated[float, typer.Option(min=1, help="Seconds between two scrapes of a broker.")] = 10.0,
    records_per_s: Annotated[float, typer.Option(min=0, help="Produce load on a lab of its own.")] = 50.0,
    lab: Annotated[
        Path | None, typer.Option(help="Folder of a lab that runs; else one is started and stopped.")
    ] = None,
    into: Annotated[Path, typer.Option(help="Folder of the pages.")] = STATE / "pages",
) -> None:
    """
    Scrape three brokers every ten seconds for two hours and keep the pages.

    Example: `python -m benchmarks.metrics record --seconds 7200`
    """
    interrupt_on_signals()  # a lab is not left behind by SIGTERM either
    try:
        with _brokers(lab, into.resolve().parent / f"{into.name}-lab", records_per_s) as running:
            endpoints = [
                ScrapedEndpoint(url=broker.exporter_url, node=f"broker-{broker.id}")
                for broker in running.brokers
            ]
            number = record_pages(endpoints, into, seconds=seconds, every_s=every_s)
    except LabError as error:
        typer.echo(f"record: {error}", err=True)
        raise typer.Exit(1) from error
    raise typer.Exit(0 if number else 1)


@app.command()
def weigh(
    pages: Annotated[Path, typer.Option(help="Folder of recorded pages.")] = STATE / "pages",
    state: Annotated[Path, typer.Option(help="Folder for the tables and blocks.")] = STATE,
    page: Annotated[Path, typer.Option(help="The page to write.")] = PAGE,
    every_s: Annotated[float, typer.Option(min=1, help="Seconds between two scrapes of a broker.")] = 10.0,
) -> None:
    """
    Weigh recorded samples in Delta and in Prometheus's blocks, compare every one, write docs/performance.md.

    Exit code 0 when all were read back bit for bit and the aim is met, 1 otherwise; the page is written in
    both cases. Wants promtool on the path: Debian's package `prometheus` has it.

    Example: `python -m benchmarks.metrics weigh --pages .state/metrics/pages`
    """
    try:
        held = read(pages)
    except FileNotFoundError as error:
        typer.echo(f"weigh: {error}", err=True)
        raise typer.Exit(1) from error
    print(f"{len(held):,} samples of {len(held.heads):,} series on {len(held.pages):,} pages", flush=True)
    spark = spark_session(Settings.load(), "weigh")
    scraped = _arm(held, state / "scraped", spark)
    on_time = _arm(held.on_time(every_s), state / "on-time", spark)
    series, _, values = held.in_order(1)
    weighed = Weighed(
        samples=len(held),
        series=len(held.heads),
        pages=len(held.pages),
        nodes=len({node for node, _ in held.heads}),
        seconds=(held.pages[-1].at_ns - held.pages[0].at_ns) / 1e9 + every_s,
        page_bytes=sum(path.stat().st_size for of in recorded(pages).values() for _, path in of),
        changing=float(((series[1:] == series[:-1]) & (values[1:] != values[:-1])).sum()) / len(held),
        scraped=scraped,
        on_time=on_time,
    )
    save(weighed, state / "weighed.json")
    write(weighed, page)
    print(section(weighed))
    raise typer.Exit(0 if weighed.is_lossless and weighed.ratio <= AIM else 1)


def _arm(held: Samples, state: Path, spark: SparkSession) -> StorePair:
    delta = in_delta(held, state / "warehouse", spark)
    print(delta, flush=True)
    of_two_hours = in_blocks(held, state / "blocks-2h", longest="2h")
    print(of_two_hours, flush=True)
    of_a_day = in_blocks(held, state / "blocks-24h", longest="24h")
    print(of_a_day, flush=True)
    return StorePair(delta=delta, blocks=of_two_hours, merged=of_a_day)


@contextmanager
def _brokers(running: Path | None, state: Path, records_per_s: float) -> Iterator[Lab]:
    if running:
        yield Lab.load(running)
        return
    # The logs are not wanted here, and cost the brokers a core.
    lab = cluster.start(state, request_log=False, client_log=False)
    try:
        if records_per_s:
            load.begin(lab, load.Load(records_per_s=records_per_s))
        yield lab
    finally:
        cluster.stop(state)


if __name__ == "__main__":
    app()
