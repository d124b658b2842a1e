"""
Measure the ingest on one executor and on two, of one core each, and write docs/sizing.md.

`python -m benchmarks.cluster [--rounds N]`: real lines, recorded once, are ingested again each time.
"""

import argparse
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks import pages
from benchmarks.cluster.page import page
from benchmarks.cluster.standalone import Standalone, standalone
from benchmarks.pipeline.arms import lines
from conf.settings import PROJECT
from lab import cluster

STATE = PROJECT / ".state" / "bench-cluster"
PAGE = PROJECT / "docs" / "sizing.md"
BATCH, BATCHES = 40_000, 6
WARM_UP = 2
"""Batches at the start of each run that do not count: code is compiled in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRun:
    """One ingest: its lines, less the warm-up's, and the time between the commits around them."""

    executors: int
    lines: float
    wall_s: float

    @property
    def lines_per_s(self) -> float:
        """Throughput."""
        return self.lines / self.wall_s


def main() -> None:
    """Record, publish, take turns, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6, help="of both; the first is thrown away")
    rounds = parser.parse_args().rounds
    recorded = lines.in_order(lines.record(STATE))
    lab = cluster.start(STATE / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        topics = lines.Topics(lab, "sizing.")
        topics.publish(lines.repeated(recorded, BATCH * BATCHES))
        shutil.rmtree(STATE / "spark", ignore_errors=True)
        with standalone(STATE / "spark") as running:
            runs = []
            for nth in range(rounds):
                for executors in (1, 2) if nth % 2 else (2, 1):
                    runs.append((nth, ingested(running, lab.telemetry_bootstrap_servers, executors)))
                    print(nth, runs[-1][1], f"{runs[-1][1].lines_per_s:,.0f} lines/s", flush=True)
    finally:
        cluster.stop(STATE / "lab")
    kept = [run for nth, run in runs if nth]
    one, two = ([run.lines_per_s for run in kept if run.executors == n] for n in (1, 2))
    pages.write(PAGE, {}, head=page(one, two, lines_a_run=kept[0].lines))


def ingested(running: Standalone, bootstrap_servers: str, executors: int) -> IngestRun:
    """Ingest the whole topic into a new warehouse."""
    folder = STATE / "site"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    conf = folder / "site.toml"
    conf.write_text(
        f'[telemetry]\nbootstrap_servers = "{bootstrap_servers}"\ntopic_prefix = "sizing."\n'
        f'[warehouse]\nroot = "{folder / "tables"}"\ncheckpoints = "{folder / "checkpoints"}"\n'
        f"[ingest]\nmax_offsets_per_trigger = {BATCH}\n"
    )
    running.submit("ingest", "--conf", str(conf), "--once", executors=executors)
    lines, wall_s = _between_commits(folder / "tables" / "silver" / "requests")
    return IngestRun(executors=executors, lines=lines, wall_s=wall_s)


def _between_commits(table: Path) -> tuple[int, float]:
    commits = []
    for entry in sorted((table / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        added = sum(json.loads(a["add"]["stats"])["numRecords"] for a in actions if "add" in a)
        if added:
            at_ms = next(a["commitInfo"]["timestamp"] for a in actions if "commitInfo" in a)
            commits.append((at_ms, added))
    began_ms, _ = commits[WARM_UP - 1]
    return sum(n for _, n in commits[WARM_UP:]), (commits[-1][0] - began_ms) / 1_000


if __name__ == "__main__":
    main()
