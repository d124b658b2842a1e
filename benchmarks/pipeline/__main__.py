"""
Measure the pipeline and write docs/performance.md: `make bench`, or `python -m benchmarks.pipeline`.

Each part writes `STATE/PART.json`, and the page is made from these files. `--short` tries the code in a
minute per part, with a separate state folder and page.
"""

import dataclasses
import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.pipeline import machine, page, programs, targets
from benchmarks.pipeline.arms import (
    aged,
    costs,
    freshness,
    hour,
    lateness,
    lines,
    quiet,
    quiet_lines,
    scrapes,
)
from benchmarks.pipeline.arms.scale import FULL, SHORT, Scale
from conf.names import Kind
from conf.settings import PROJECT, Settings
from engine.process.session import JVM_OPTIONS_BY_APP, spark_session
from lab import cluster

PARTS = ("costs", "freshness", "quiet", "aged", "scrapes", "hour")
STATE, SHORT_STATE = PROJECT / ".state" / "bench", PROJECT / ".state" / "bench-short"

Measurements = dict[str, Any]


def main(  # noqa: PLR0913 (the switches of a benchmark, each by name)
    only: Annotated[list[str] | None, typer.Option(help=f"Part to measure: {', '.join(PARTS)}.")] = None,
    *,
    short: Annotated[
        bool, typer.Option("--short", help="Smoke run: tries the code; its figures mean nothing.")
    ] = False,
    with_gold: Annotated[
        bool, typer.Option("--with-gold", help="Measure freshness with build-gold; writes a separate file.")
    ] = False,
    n: Annotated[int | None, typer.Option(help="Lines for the part costs; default 1,000,000.")] = None,
    rounds: Annotated[
        int | None, typer.Option(min=2, help="Measured rounds, after one warm-up round.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds to measure each rate of freshness.")] = None,
    quiet_seconds: Annotated[float | None, typer.Option(help="Seconds to measure the quiet cluster.")] = None,
    appends: Annotated[
        int | None, typer.Option(max=aged.MOST_APPENDS, help="Timed appends on each aged table.")
    ] = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Scrapes to read; default 240.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random order of appends.")] = 1,
    state: Annotated[Path | None, typer.Option(help=f"State folder; default {STATE.name}.")] = None,
    write_to: Annotated[Path | None, typer.Option("--page", help="Page to write.")] = None,
) -> None:
    """
    Measure the parts and write the page; do not use the machine during that time.

    Example: `python -m benchmarks.pipeline`

    Example: `python -m benchmarks.pipeline --only quiet --short`
    """
    wanted = only or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        message = f"{', '.join(sorted(unknown))}: no such part. The parts are {', '.join(PARTS)}."
        raise typer.BadParameter(message)
    folder = (state or (SHORT_STATE if short else STATE)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    scale = _scale(
        short=short,
        lines=n,
        rounds=rounds,
        seconds=seconds,
        quiet_s=quiet_seconds,
        appends=appends,
        pages=pages,
    )
    runs: dict[str, Callable[[], Measurements]] = {
        "costs": lambda: measure_costs(folder, scale),
        "freshness": lambda: measure_freshness(folder, scale, with_gold=with_gold),
        "quiet": lambda: measure_quiet(folder, scale),
        "aged": lambda: measure_aged(folder, scale, seed),
        "scrapes": lambda: measure_scrapes(folder, scale),
        "hour": lambda: measure_hour(folder, scale),
    }
    for part in wanted:
        meta = machine.described(is_short=scale.is_short)
        name = targets.FRESH_GOLD if part == "freshness" and with_gold else part
        figures = {"meta": meta, **runs[part]()}
        (folder / f"{name}.json").write_text(json.dumps(figures, indent=1))
    page.write(folder, write_to or (folder / "page.md" if short else page.PAGE))


def _scale(*, short: bool, seconds: float | None, **others: float | None) -> Scale:
    scale = SHORT if short else FULL
    changes: dict[str, Any] = {name: value for name, value in others.items() if value is not None}
    if seconds is not None:
        changes["rate_seconds"] = dict.fromkeys(scale.rate_seconds, seconds)
    return dataclasses.replace(scale, **changes)


def measure_costs(state: Path, scale: Scale) -> Measurements:
    """Measure every arm, round by round, over one topic."""
    n, rounds, logs = scale.lines, scale.rounds, lines.record(state)
    lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        topics = lines.Topics(lab, _prefix())
        read, file = lines.in_order(logs), state / "lines.log"
        topics.publish(lines.repeated(read, n))
        file.write_bytes(b"\n".join(line for _, line in lines.repeated(read, n)) + b"\n")
        conf = programs.settings_file(lab, topics.prefix, state / "costs")
        settings, requests = Settings.load(conf), lines.requests_in(read, n)
        with ExitStack() as stack:
            spark = spark_session(settings, "bench")
            stack.callback(spark.stop)
            processes = {arm: stack.enter_context(programs.worker(os.setsid))[0] for arm in costs.JOBS}
            folder = state / "costs" / "runs"
            bench = costs.Costs(spark, processes, folder, conf, topics, n=n, requests=requests)
            measured = _all_rounds(partial(bench.round, lines=file), rounds)
            figures = {
                "n": n,
                "bytes": file.stat().st_size,
                "rounds": rounds,
                "batch": settings.ingest.max_offsets_per_trigger,
                "gold": bench.gold(),
                "jvm_options": {arm: JVM_OPTIONS_BY_APP[app] for arm, (app, _) in costs.JOBS.items()},
                "compared": bench.compared(),
            }
    finally:
        cluster.stop(state / "lab")
    return figures | {"costs": measured}


def measure_freshness(state: Path, scale: Scale, *, with_gold: bool) -> Measurements:
    """Measure each rate on separate tables."""
    logs, runs = lines.record(state), []
    for per_s in scale.rate_seconds:
        lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
        try:
            topics = lines.Topics(lab, _prefix())
            conf = programs.settings_file(lab, topics.prefix, state / "fresh" / topics.prefix)
            seen = freshness.watch(lab, topics, conf, logs, scale, per_s=per_s, with_gold=with_gold)
        finally:
            cluster.stop(state / "lab")
        runs.append(lateness.figures(seen))
        print(json.dumps(runs[-1]), flush=True)
    return {"slow_s": scale.slow_s, "settle_s": scale.settle_s, "runs": runs}


def measure_quiet(state: Path, scale: Scale) -> Measurements:
    """Measure the ingest alone, then with build-gold, each on separate tables."""
    folder, runs = quiet_lines.record(state, scale), []
    for with_gold in (False, True):
        lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
        try:
            topics = lines.Topics(lab, _prefix(), tuple(Kind))
            conf = programs.settings_file(lab, topics.prefix, state / "quiet" / topics.prefix)
            runs.append(quiet.watch(lab, conf, scale, folder, with_gold=with_gold))
        finally:
            cluster.stop(state / "lab")
        print(json.dumps(runs[-1]), flush=True)
    return {"settle_s": scale.quiet_settle_s, "lines_s": scale.lines_s, "moves": scale.moves, "runs": runs}


def measure_aged(state: Path, scale: Scale, seed: int) -> Measurements:
    """Age a table to each age, then time the ingest's append on all of them, interleaved."""
    root, rows = state / "aged" / uuid.uuid4().hex[:8], aged.sample_rows(lines.in_order(lines.record(state)))
    spark = spark_session(Settings.load(), "bench")
    for commits in scale.ages:
        print(f"ageing: {commits} commits", flush=True)
        aged.age(spark, root / str(commits), commits)
    spark.stop()
    roots = {commits: root / str(commits) for commits in scale.ages}
    measured = aged.timed(rows, roots, scale.appends + 1, seed)
    checkpoints = aged.timed_checkpoints(rows, roots, scale.checkpoints + 1, seed)
    return {
        "appends": scale.appends,
        "checkpoints": scale.checkpoints,
        "rows": aged.ROWS,
        "measured": [asdict(one) for one in measured],
        "measured_checkpoints": [asdict(one) for one in checkpoints],
    }


def measure_scrapes(state: Path, scale: Scale) -> Measurements:
    """Measure every arm, round by round, over the same pages."""
    recorded = quiet_lines.pages_in(quiet_lines.record(state, scale))
    lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        topics = lines.Topics(lab, _prefix())
        conf = programs.settings_file(lab, topics.prefix, state / "scrapes")
        spark = spark_session(Settings.load(conf), "ingest")  # The other arms have no JVM.
        folder = state / "scrapes" / "runs"
        bench = scrapes.Scrapes(spark, conf, folder, topics, recorded=recorded, n=scale.pages)
        measured = _all_rounds(bench.round, scale.rounds)
        spark.stop()
    finally:
        cluster.stop(state / "lab")
    return {
        "pages": scale.pages,
        "bytes_a_page": sum(len(page.text) for page in recorded) / len(recorded),
        "samples": bench.samples,
        "batch": bench.batch,
        "rounds": scale.rounds,
        "costs": measured,
    }


def _all_rounds(one_round: Callable[[int], Iterator[Any]], rounds: int) -> list[Measurements]:
    """Run the warm-up round 0 and the measured rounds; print and return every cost."""
    measured = []
    for nth in range(rounds + 1):
        for cost in one_round(nth):
            measured.append(asdict(cost))
            print(json.dumps(measured[-1]), flush=True)
    return measured


def measure_hour(state: Path, scale: Scale) -> Measurements:
    """Measure the memory of build-gold when it takes in an hour of silver at once."""
    read, n = lines.in_order(lines.record(state)), round(hour.PER_S * scale.hour_s)
    since = datetime.now(UTC) - timedelta(seconds=scale.hour_s)
    lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        topics = lines.Topics(lab, _prefix())
        conf = programs.settings_file(lab, topics.prefix, state / "hour" / topics.prefix)
        hour.make_silver(conf, topics, read, n, since)
    finally:
        cluster.stop(state / "lab")
    builds = hour.builds(conf, n, since)
    return {"n": n, "per_s": hour.PER_S, "heap": Settings.load(conf).spark.driver_memory, "builds": builds}


def _prefix() -> str:
    return f"bench-{uuid.uuid4().hex[:8]}."


if __name__ == "__main__":
    typer.run(main)
