"""
Serve gold of a large cluster: `python -m benchmarks.large_gold` writes a part of docs/performance.md.

A generator writes the gold of a day. Then dashboard, report and exporter run on it, each in its own process.
Before a page or a scrape, the newest windows are added as `plumbline build-gold` adds them.
"""

import resource
import shutil
import time
import urllib.request
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from deltalake import DeltaTable
from playwright.sync_api import sync_playwright

from benchmarks.dashboard.__main__ import FIGURES, FLAGS, VERDICT, first_page
from benchmarks.large_gold import page, programs
from benchmarks.large_gold.cluster import LargeCluster
from benchmarks.large_gold.programs import GB, Service, StepCost
from benchmarks.large_gold.warehouse import LargeGold
from benchmarks.pipeline import machine
from conf.settings import PROJECT
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from transforms.windows import HOUR_S, WINDOW_S

SLOW_S, MOVING_S = 1_200, 7_200
"""The link is slow, and replicas are being moved, until the end."""

WARM_SCRAPES = 5
StepCosts = dict[str, list[StepCost]]


def main(
    *,
    hours: Annotated[int, typer.Option(min=1, help="Hours of gold.")] = 24,
    brokers: Annotated[
        int, typer.Option(min=3, help="Brokers of the cluster; each pair has round trips.")
    ] = 30,
    rounds: Annotated[int, typer.Option(min=1, help="Number of measurements of each step.")] = 3,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the warehouse, to look at it.")] = False,
    state: Annotated[Path, typer.Option(help="Folder for all files.")] = PROJECT / ".state" / "large-gold",
) -> None:
    """
    Make gold of a large cluster; measure dashboard, report and exporter on it.

    The full size (30 brokers, 24 hours: 3.4 GB of files) takes about half an hour and replaces a section of
    docs/performance.md. Another size only prints it.

    Example: `python -m benchmarks.large_gold`

    Example: `python -m benchmarks.large_gold --brokers 10 --hours 2 --rounds 1 --keep`
    """
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    is_short = (hours, brokers) != (24, 30)
    meta = machine.described(is_short=is_short)
    gold, made = make(state / "warehouse", brokers, hours)
    costs: StepCosts = defaultdict(list)
    for _ in range(rounds):
        scrape(gold, state, costs)
        report(gold, state, hours, costs)
    open_pages(gold, rounds, costs)
    section = page.section(meta, made, costs)
    if is_short:
        print(section)
    else:
        page.write(section)
    if keep:
        print(f"kept: {gold.root}")
    else:
        shutil.rmtree(state)


def make(root: Path, brokers: int, hours: int) -> tuple[LargeGold, dict[str, Any]]:
    """Return gold that ends now, and its size."""
    end = int(time.time()) // WINDOW_S * WINDOW_S
    cluster = LargeCluster(brokers=brokers, moved_from=end - MOVING_S, slow_from=end - SLOW_S)
    gold = LargeGold(root, cluster, end - hours * HOUR_S)
    for hour in range(hours):
        began = time.monotonic()
        gold.add_hour()
        print(f"hour {hour + 1} of {hours}: {time.monotonic() - began:.0f} s", flush=True)
    files = pa.concat_tables(
        pa.table(DeltaTable(root / table.layer / table.name).get_add_actions()).select(
            ["size_bytes", "num_records"]
        )
        for table in GOLD
    )
    return gold, {
        "brokers": brokers,
        "pairs": brokers * (brokers - 1),
        "hours": hours,
        "rows": sum(files["num_records"].to_pylist()),
        "gb": sum(files["size_bytes"].to_pylist()) / GB,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GB,
    }


def scrape(gold: LargeGold, state: Path, costs: StepCosts) -> None:
    """Scrape a new exporter: cold, without news, after a commit to one table, after commits to all."""
    conf = _settings(gold, state)
    with programs.serving("export", "--conf", str(conf), "--port", "0") as exporter:
        costs["start of the exporter"].append(exporter.start)
        gold.extend(_now())
        costs["first scrape"].append(_scrape(exporter))
        costs["scrape without a new commit"] += [_scrape(exporter) for _ in range(WARM_SCRAPES)]
        gold.extend(gold.end, only=(BROKER_RTT,))
        costs["scrape after a commit to broker_rtt"].append(_scrape(exporter))
        gold.extend(_now())
        costs["scrape after commits to all tables"].append(_scrape(exporter))


def _scrape(exporter: Service) -> StepCost:
    def ask() -> None:
        with urllib.request.urlopen(exporter.address, timeout=600) as answer:  # noqa: S310 (loopback)
            assert b"plumbline_pair_round_trip_seconds{" in answer.read()  # noqa: S101 (gold is fresh)

    return exporter.cost(ask)


def report(gold: LargeGold, state: Path, hours: int, costs: StepCosts) -> None:
    """Write the page of the last hour, its page and JSON, and the page of all hours."""
    conf, until = _settings(gold, state), datetime.fromtimestamp(gold.end, UTC).isoformat()
    for name, length_h, has_json in (
        ("report of an hour", 1, False),
        ("report of an hour, page and JSON", 1, True),
        ("report of the day", hours, False),
    ):
        since = datetime.fromtimestamp(gold.end - length_h * HOUR_S, UTC).isoformat()
        span = ("--since", since, "--until", until)
        files = [f"--html={state / f'{length_h}.html'}", *[f"--json={state / '1.json'}"] * has_json]
        costs[name].append(programs.run("report", "--conf", str(conf), *files, *span))


def open_pages(gold: LargeGold, rounds: int, costs: StepCosts) -> None:
    """Open the first page of the dashboard, the last hour, in a new browser after new commits."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        with programs.serving("dashboard", "--warehouse", str(gold.root), "--port", "0") as dashboard:
            costs["start of the dashboard"].append(dashboard.start)
            for _ in range(rounds):
                for name, until in (("first page", VERDICT), ("first page with its figures", FIGURES)):
                    gold.extend(_now())
                    opened = partial(first_page, browser, dashboard.address, until)
                    costs[name].append(dashboard.cost(opened))
        browser.close()


def _settings(gold: LargeGold, state: Path) -> Path:
    conf = state / "large.toml"
    conf.write_text(f'[warehouse]\nroot = "{gold.root}"\n')
    return conf


def _now() -> int:
    return int(time.time()) // WINDOW_S * WINDOW_S


if __name__ == "__main__":
    typer.run(main)
