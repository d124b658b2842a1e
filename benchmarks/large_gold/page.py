"""The section of docs/performance.md about gold of a large cluster."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks import pages
from benchmarks.large_gold.programs import StepCost
from benchmarks.pipeline.page import PAGE
from benchmarks.pipeline.targets import MET, MISSED, NO_TARGET

MOST_GB = 2.0
TARGETS_S = {
    "first page": 2.0,
    "report of an hour": 6.0,
    "report of the day": 60.0,
    "scrape without a new commit": 1.0,
    "scrape after a commit to broker_rtt": 1.0,
    "scrape after commits to all tables": 1.0,
}


def section(meta: Mapping[str, Any], made: Mapping[str, Any], costs: Mapping[str, Sequence[StepCost]]) -> str:
    """Return the figures as Markdown."""
    rows = [_row(name, of) for name, of in costs.items()]
    return pages.render("large-gold", meta=meta, made=made, rows=rows, MOST_GB=MOST_GB)


def write(text: str) -> None:
    """Replace the section."""
    pages.write(PAGE, {"large-gold": text})


def _row(name: str, costs: Sequence[StepCost]) -> str:
    wall_s, cpu_s = ([getattr(cost, column) for cost in costs] for column in ("wall_s", "cpu_s"))
    peak_gb, most_s = max(cost.peak_gb for cost in costs), TARGETS_S.get(name)
    cells = (
        name,
        len(costs),
        f"{median(wall_s):.2f} ({min(wall_s):.2f} to {max(wall_s):.2f})",
        f"{median(cpu_s):.2f}",
        f"{peak_gb:.2f}",
        "" if most_s is None else f"≤ {most_s:.0f} s",
        NO_TARGET if most_s is None else MET if median(wall_s) <= most_s else MISSED,
        MET if peak_gb < MOST_GB else MISSED,
    )
    return f"| {' | '.join(map(str, cells))} |"
