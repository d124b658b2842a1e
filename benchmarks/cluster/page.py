"""docs/sizing.md from what was measured."""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, median, stdev

from scipy.stats import t

CONFIDENCE = 0.95

TEXT = """# Sizing: cores against request-log lines per second

Written by `python -m benchmarks.cluster`. A Spark standalone master and workers run on one machine with 2 cores;
executors have one core and 1 GB each. The driver, master, workers and the Kafka broker with the lines share these 2 cores,
so two executors have less than two cores. Each run ingests the same real request-log lines, recorded from three brokers
under load, from a topic with 2 partitions into bronze and silver of a new warehouse, in batches of 40,000. The time is
between commits, without the start of Spark and the first two batches. One and two executors alternate, and the first round
is left out.

| executors of 1 core | runs | lines/s, median | least | most |
| ---: | ---: | ---: | ---: | ---: |
| 1 | {n_one} | {one} | {one_low} | {one_high} |
| 2 | {n_two} | {two} | {two_low} | {two_high} |

**Two executors ingest {ratio:.2f} times as many lines per second as one** (geometric mean of the ratios of {n} rounds,
95 % interval {low:.2f} to {high:.2f}; {lines:,} lines per run).{no_gain}

To size your own site:

- The offsets of a batch are divided evenly, at least 4,000 records per task, independent of their partitions.
- Start with the lines per second that the brokers write (`collect` reports them). Divide by half of what one executor
  ingests here, to leave room for gold and for catching up after a stop. CPU by layer: [performance](performance.md).
- The driver commits, so commits cost the same with any number of executors. Larger batches
  (`[ingest] min_offsets_per_trigger`, `max_trigger_delay_s`) spread this cost over more lines, but data is less fresh.
- More than two executors, more than one machine, and a network between them were not measured.
"""

NO_GAIN = """
This is no gain: the second executor has no core of its own here, and the two slow each other down. The gain from a second
machine was not measured."""


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
    figures = {name: median(values), f"{name}_low": min(values), f"{name}_high": max(values)}
    return {f"n_{name}": len(values), **{key: f"{value:,.0f}" for key, value in figures.items()}}
