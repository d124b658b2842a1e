"""
`python -m benchmarks.faults.power.cost`: the cost of a batch of ingest and gold, with and without its syncs.

Both arms read the same lines from the same broker, in turns. The start of a job is not counted: only the time
from its first finished batch to its last.
"""

import random
import shutil
import time
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from benchmarks.faults.campaign import broker
from benchmarks.faults.job import GOLD, INGEST, Job
from benchmarks.faults.lines import all_lines
from benchmarks.faults.power.disk import library
from benchmarks.faults.site import JobsWarehouse, Site
from benchmarks.pipeline.intervals import Estimate, mean, ratio, rounds_by_arm
from benchmarks.pipeline.measure import cpu_s_of, tree
from conf.settings import PROJECT

SYNCED, NOT_SYNCED = "synced", "not synced"
FIGURES = ("wall_s", "cpu_s")
LOOK_EVERY_S = 0.02


def main(
    *,
    rounds: Annotated[int, typer.Option(help="Rounds after the first, which is not counted.")] = 3,
    lines: Annotated[int, typer.Option(help="Lines of each run.")] = 20_000,
    batch: Annotated[int, typer.Option(help="Lines of a batch of the ingest.")] = 1_000,
    state: Annotated[Path, typer.Option(help="The lab and the warehouses.")] = PROJECT / ".state" / "power",
) -> None:
    """Print wall and CPU seconds of a batch in each arm, and their ratio."""
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    arms: dict[str, Mapping[str, str]] = {
        SYNCED: {},
        NOT_SYNCED: {"LD_PRELOAD": str(library(state)), "SYNC_OFF": "1"},
    }
    with broker(state) as bootstrap_servers:
        site = Site(bootstrap_servers, state)
        site.publish(islice(all_lines.steady(state / "logs", random.Random(1)), lines))
        rows = [
            {"arm": arm, "round": number, "job": word} | took
            for number in range(rounds + 1)
            for arm in (list(arms) if number % 2 else reversed(arms))
            for word, took in _run(site, f"{arm}-{number}".replace(" ", "-"), batch, arms[arm]).items()
        ]
    for word in (INGEST, GOLD):
        for figure in FIGURES:
            of = rounds_by_arm((row for row in rows if row["job"] == word), figure)
            cost = f"{mean(of[SYNCED]).value:.3f} and {mean(of[NOT_SYNCED]).value:.3f}"
            print(f"{word} {figure} of a batch: {cost}, ratio {_shown(ratio(of[SYNCED], of[NOT_SYNCED]))}")


def _run(site: Site, name: str, batch: int, variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    more = "[build_gold]\nmax_files_per_trigger = 2\n"
    written = site.warehouse(name, batch=batch, more=more)
    took = {
        word: cost_of_batch(written, word, *options, variables=variables)
        for word, options in ((INGEST, ("--once",)), (GOLD, ()))
    }
    shutil.rmtree(written.conf.parent)
    return took


def cost_of_batch(
    written: JobsWarehouse, word: str, *options: str, variables: Mapping[str, str]
) -> dict[str, Any]:
    """
    Run a job over what is there; return the wall and CPU seconds of a batch, and how many were measured.

    Raises:
        AssertionError: the job failed, or had less than two batches.

    """
    job, seen = Job(written.conf, word, *options, variables=variables), list[tuple[int, float, float]]()
    process = psutil.Process(job.pid)
    while job.code is None:
        done = job.batches
        if done > (seen[-1][0] if seen else 0):
            seen.append((done, time.monotonic(), sum(map(cpu_s_of, tree(process)))))
        time.sleep(LOOK_EVERY_S)
    assert job.code == 0, job.output
    (first, began, used), (last, ended, used_at_end) = seen[0], seen[-1]
    assert last > first, f"{word} had {last} batches"
    n = last - first
    return {"wall_s": (ended - began) / n, "cpu_s": (used_at_end - used) / n, "n": n}


def _shown(found: Estimate) -> str:
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f}, n = {found.n})"


if __name__ == "__main__":
    typer.run(main)
