"""
What DEBUG logging costs a broker: `python -m benchmarks.logging_cost` writes docs/cost-of-logging.md.

One real cluster, the loggers switched while it runs, arms interleaved in random order within each round, the
first round thrown away. A figure is the mean over rounds of on / off within the same round, with Student's
95 % interval of the ratios' logarithms. Load and brokers share one machine: read ratios, not seconds.
"""

import json
import random
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import psutil
import typer
from scipy import stats

from benchmarks import pages
from conf.settings import PROJECT
from lab import cluster, jvm, load
from lab.layout import Lab

REQUEST_LOGGER, CLIENT_LOGGER = "kafka.request.logger", "org.apache.kafka.clients.NetworkClient"
ARMS = {
    "off": (),
    "request log": (REQUEST_LOGGER,),
    "request and client log": (REQUEST_LOGGER, CLIENT_LOGGER),
}
RATE, RATE_S = 2_000.0, 20.0
BURST_RECORDS = 400_000
TOTAL = re.compile(
    r"^(?P<n>\d+) records sent, (?P<rps>[\d.]+) records/sec .*?, (?P<avg>[\d.]+) ms avg latency, .*?"
    r"(?P<p50>\d+) ms 50th, (?P<p95>\d+) ms 95th, (?P<p99>\d+) ms 99th",
    re.MULTILINE,
)
PAGE = PROJECT / "docs" / "cost-of-logging.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundCost:
    """One arm in one round."""

    round: int
    arm: str
    broker_cpu_s: float  # of all brokers, at 2,000 records/s for 20 s
    produce_avg_ms: float
    produce_p99_ms: float
    full_speed_records_per_s: float


def main(
    rounds: Annotated[int, typer.Option(min=3, help="Rounds that count; one more is thrown away.")] = 8,
    state: Annotated[Path, typer.Option(help="Folder for the cluster.")] = PROJECT / ".state" / "cost",
    seed: Annotated[int, typer.Option(help="Orders the arms within a round.")] = 1,
) -> None:
    """
    Measure and write the page.

    Example: `python -m benchmarks.logging_cost --rounds 8`
    """
    lab = cluster.start(state, request_log=False, client_log=False)
    dice = random.Random(seed)  # noqa: S311 (a repeatable order, no secret)
    measured = []
    try:
        for nth in range(rounds + 1):
            for arm in dice.sample(list(ARMS), len(ARMS)):
                measured.append(_measure(lab, nth, arm))
                print(json.dumps(asdict(measured[-1])), flush=True)
    finally:
        cluster.stop(state)
    counted = [m for m in measured if m.round > 0]
    pages.write(PAGE, {}, head=page(counted, rounds, seed))


def _measure(lab: Lab, nth: int, arm: str) -> RoundCost:
    for broker in lab.brokers:
        for logger in (REQUEST_LOGGER, CLIENT_LOGGER):
            level = "DEBUG" if logger in ARMS[arm] else "WARN"
            jvm.set_logger(lab.bootstrap_servers, broker.id, logger, level)
    time.sleep(1)
    before = _broker_cpu_s(lab)
    steady = _produced(lab, load.Load(records_per_s=RATE, duration_s=RATE_S))
    cpu_s = _broker_cpu_s(lab) - before
    burst = _produced(lab, load.Load(records_per_s=1e7, duration_s=BURST_RECORDS / 1e7))
    return RoundCost(
        round=nth,
        arm=arm,
        broker_cpu_s=round(cpu_s, 3),
        produce_avg_ms=steady["avg"],
        produce_p99_ms=steady["p99"],
        full_speed_records_per_s=burst["rps"],
    )


def _broker_cpu_s(lab: Lab) -> float:
    pids = [int(record["pid"]) for name, record in lab.processes.items() if name.startswith("broker-")]
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def _produced(lab: Lab, asked: load.Load) -> dict[str, float]:
    running = load.begin(lab, asked)
    running.wait()
    total = TOTAL.search(running.output.read_text())
    if total is None:
        message = f"no summary line in {running.output}"
        raise ValueError(message)
    return {name: float(value) for name, value in total.groupdict().items()}


def page(measured: list[RoundCost], rounds: int, seed: int) -> str:
    """Write the figures as Markdown."""
    rows = []
    for arm in list(ARMS)[1:]:
        for field, what in (
            ("broker_cpu_s", f"brokers' CPU at {RATE:,.0f} records/s"),
            ("produce_avg_ms", f"mean produce latency at {RATE:,.0f} records/s"),
            ("produce_p99_ms", f"p99 produce latency at {RATE:,.0f} records/s"),
            ("full_speed_records_per_s", "records/s at full speed"),
        ):
            rows.append(_row(measured, arm, field, what))
    raw = "\n".join(json.dumps(asdict(m)) for m in measured)
    figures = {"rows": "\n".join(rows), "raw": raw, "rounds": rounds, "seed": seed}
    return pages.render("cost-of-logging", cores=psutil.cpu_count(), **figures)


def _row(measured: list[RoundCost], arm: str, field: str, what: str) -> str:
    values = {(m.round, m.arm): float(getattr(m, field)) for m in measured}
    numbers = sorted({m.round for m in measured})
    off = np.array([values[nth, "off"] for nth in numbers])
    on = np.array([values[nth, arm] for nth in numbers])
    logs = np.log(on / off)
    half = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)
    middle, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    return (
        f"| {arm} | {what} | {np.median(off):,.2f} | {np.median(on):,.2f} | "
        f"**{middle:.2f}** ({low:.2f} to {high:.2f}) |"
    )


if __name__ == "__main__":
    typer.run(main)
