"""
Measure the pipeline and write docs/performance.md: `make bench`, or `python -m benchmarks.pipeline`.

A part that was measured stands in `STATE/PART.json`; the page is made of what is there. To try it out, give
a `--state` and a `--page` of its own.
"""

import json
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.pipeline import aged, costs, freshness, lateness, lines, page, scrapes
from conf.settings import PROJECT, Settings
from jobs.session import spark_session
from lab import cluster

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = ("costs", "freshness", "aged", "scrapes")
RATES = (2_000.0, 10_000.0)


def main(  # noqa: PLR0913, PLR0917 (the switches of a benchmark, each by name)
    n: Annotated[int, typer.Option(help="Lines of the costs' topic.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(min=2, help="Rounds that count; one more is thrown away.")] = 3,
    seconds: Annotated[float, typer.Option(help="How long each rate of the freshness is measured.")] = 360.0,
    appends: Annotated[int, typer.Option(max=aged.MOST_APPENDS, help="Timed appends on each table.")] = 30,
    pages: Annotated[int, typer.Option(min=1, help="Scrapes that are read.")] = 240,
    only: Annotated[list[str] | None, typer.Option(help=f"Parts to measure: {', '.join(PARTS)}.")] = None,
    seed: Annotated[int, typer.Option(help="Orders what is interleaved.")] = 1,
    state: Annotated[Path, typer.Option(help="Folder for all of it.")] = PROJECT / ".state" / "bench",
    write_to: Annotated[Path, typer.Option("--page", help="The page to write.")] = page.PAGE,
) -> None:
    """
    Measure and write the page; leave the machine alone meanwhile.

    Example: `python -m benchmarks.pipeline`

    Example: `python -m benchmarks.pipeline --only freshness --seconds 600`
    """
    wanted = only or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        message = f"{', '.join(unknown)}: the parts are {', '.join(PARTS)}"
        raise typer.BadParameter(message)
    state = state.resolve()
    state.mkdir(parents=True, exist_ok=True)
    runs: dict[str, Callable[[], object]] = {
        "costs": lambda: measure_costs(state, n, rounds),
        "freshness": lambda: measure_freshness(state, seconds),
        "aged": lambda: measure_aged(state, appends, seed),
        "scrapes": lambda: measure_scrapes(state, pages, rounds),
    }
    for part in wanted:
        (state / f"{part}.json").write_text(json.dumps(runs[part](), indent=1))
    page.write(state, write_to)


def measure_costs(state: Path, n: int, rounds: int) -> dict[str, object]:
    """Measure every arm, round by round, over one topic."""
    logs = lines.record(state)
    lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        topics = lines.Topics(lab, f"bench-{uuid.uuid4().hex[:8]}.")
        read, file = lines.in_order(logs), state / "lines.log"
        topics.publish(lines.repeated(read, n))
        file.write_bytes(b"\n".join(line for _, line in lines.repeated(read, n)) + b"\n")
        conf = _conf(lab.telemetry_bootstrap_servers, topics.prefix, state / "costs")
        settings, requests = Settings.load(conf), lines.requests_in(read, n)
        spark = spark_session(settings, "bench")
        bench = costs.Costs(spark, state / "costs" / "runs", conf, topics, n=n, requests=requests)
        measured = list[costs.Cost]()
        for nth in range(rounds + 1):
            for cost in bench.round(nth, file):
                print(json.dumps(asdict(cost)), flush=True)
                measured.append(cost)
        told = {
            "n": n,
            "bytes": file.stat().st_size,
            "rounds": rounds,
            "batch": settings.ingest.max_offsets_per_trigger,
            "compared": bench.compared(),
        }
        spark.stop()
    finally:
        cluster.stop(state / "lab")
    return told | {"costs": [asdict(cost) for cost in measured]}


def measure_freshness(state: Path, seconds: float) -> list[dict[str, object]]:
    """Measure each rate on tables of its own."""
    logs, told = lines.record(state), []
    for per_s in RATES:
        lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
        try:
            topics = lines.Topics(lab, f"bench-{uuid.uuid4().hex[:8]}.")
            conf = _conf(lab.telemetry_bootstrap_servers, topics.prefix, state / "fresh" / topics.prefix)
            seen = freshness.watch(topics, conf, logs, per_s=per_s, duration_s=seconds)
        finally:
            cluster.stop(state / "lab")
        told.append(lateness.told(seen))
        print(json.dumps(told[-1]), flush=True)
    return told


def measure_aged(state: Path, appends: int, seed: int) -> dict[str, object]:
    """Age a table of each age, then time the real writer on all of them, interleaved."""
    root = state / "aged" / uuid.uuid4().hex[:8]
    spark = spark_session(Settings.load(), "bench")
    for commits in aged.AGES:
        print(f"ageing: {commits} commits", flush=True)
        aged.age(spark, root / str(commits), commits)
    rows = aged.sample_rows(spark, lines.in_order(lines.record(state)))
    roots = {commits: root / str(commits) for commits in aged.AGES}
    measured = aged.timed(rows, roots, appends + 1, seed)
    checkpoints = aged.timed_checkpoints(rows, roots, aged.CHECKPOINTS + 1, seed)
    spark.stop()
    return {
        "appends": appends,
        "checkpoints": aged.CHECKPOINTS,
        "rows": aged.ROWS,
        "measured": [asdict(one) for one in measured],
        "measured_checkpoints": [asdict(one) for one in checkpoints],
    }


def measure_scrapes(state: Path, pages: int, rounds: int) -> dict[str, object]:
    """Measure every arm, round by round, over the same pages."""
    told = scrapes.pages_of(state, pages)
    settings = scrapes.settings()
    spark = spark_session(settings, "bench")
    bench = scrapes.Scrapes(spark, settings, state / "scrapes-read", told)
    measured = list[scrapes.Cost]()
    bench.warm_up()
    for nth in range(rounds + 1):
        for cost in bench.round(nth):
            print(json.dumps(asdict(cost)), flush=True)
            measured.append(cost)
    spark.stop()
    return {
        "pages": len(told),
        "bytes": sum(len(page.text) for page in told),
        "samples": bench.samples,
        "batch": settings.ingest.max_scrapes_per_trigger,
        "rounds": rounds,
        "costs": [asdict(cost) for cost in measured],
    }


def _conf(bootstrap_servers: str, prefix: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    conf = folder / "bench.toml"
    conf.write_text(
        f'telemetry = {{ bootstrap_servers = "{bootstrap_servers}", topic_prefix = "{prefix}" }}\n'
        f'[warehouse]\nroot = "{folder / "warehouse"}"\ncheckpoints = "{folder / "checkpoints"}"\n'
    )
    return conf


if __name__ == "__main__":
    typer.run(main)
