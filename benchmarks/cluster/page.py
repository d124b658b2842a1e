"""docs/sizing.md from what was measured."""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, median, stdev

from scipy.stats import t

CONFIDENCE = 0.95

TEXT = """# Sizing: cores against request-log lines per second

Written by `python -m benchmarks.cluster`. A Spark standalone master and workers on one machine of 2 cores, executors of
one core and 1 GB each; driver, master, workers and the Kafka broker that holds the lines share these 2 cores, so two
executors have less than two cores. Each run takes the same real request-log lines, recorded from three brokers under
load, from a topic of 2 partitions into bronze and silver of a new warehouse, in batches of 40,000; the time is that
between commits, without the start of Spark and the first two batches. Both take turns, and the first round is left out.

| executors of 1 core | runs | lines/s, median | least | most |
| ---: | ---: | ---: | ---: | ---: |
| 1 | {n_one} | {one} | {one_low} | {one_high} |
| 2 | {n_two} | {two} | {two_low} | {two_high} |

**Two executors take in {ratio:.2f} times as many lines a second as one** (geometric mean of {n} rounds side by side,
95 % interval {low:.2f} to {high:.2f}; {lines:,} lines a run).{no_gain}

What follows for a site of its own size:

- A task reads a Kafka partition: executors beyond the partitions of `telemetry.request-log` have nothing to do. Lines of a
  node stay in one partition, so a cluster of few brokers spreads over few.
- Begin with the lines per second that the brokers write (`collect` tells them), divided by half of what one executor
  took in here, for what else comes: gold, and catching up after a stop. CPU by layer: [performance](performance.md).
- Commits are the driver's: they cost the same on any number of executors. Larger batches
  (`[ingest] max_offsets_per_trigger`, `trigger`) spread them over more lines, at the price of freshness.
- No more than two executors, no more than one machine and no network between them were measured.
"""

NO_GAIN = """
That is no gain: there is no third core here for the second executor, and two hold each other up. What a second machine
brings was not measured."""


def page(one: Sequence[float], two: Sequence[float], *, lines_a_run: float) -> str:
    """Write the page from lines per second, round by round."""
    ratio, low, high = speed_up(one, two)
    return TEXT.format(
        **_row("one", one),
        **_row("two", two),
        ratio=ratio,
        low=low,
        high=high,
        n=len(one),
        lines=int(lines_a_run),
        no_gain=NO_GAIN if low <= 1 else "",
    )


def speed_up(one: Sequence[float], two: Sequence[float]) -> tuple[float, float, float]:
    """
    Give the geometric mean of the rounds' ratios and its interval.

    >>> [round(value, 2) for value in speed_up([10, 20, 10], [15, 30, 15])]
    [1.5, 1.5, 1.5]
    """
    logs = [log(b / a) for a, b in zip(one, two, strict=True)]
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1)) * stdev(logs) / sqrt(len(logs))
    return exp(fmean(logs)), exp(fmean(logs) - half), exp(fmean(logs) + half)


def _row(name: str, values: Sequence[float]) -> dict[str, object]:
    told = {name: median(values), f"{name}_low": min(values), f"{name}_high": max(values)}
    return {f"n_{name}": len(values), **{key: f"{value:,.0f}" for key, value in told.items()}}
