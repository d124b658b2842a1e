"""docs/sizing.md from what was measured."""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, median, stdev

from scipy.stats import t

from benchmarks.pages import render

CONFIDENCE = 0.95


def page(one: Sequence[float], two: Sequence[float], *, lines_a_run: float) -> str:
    """Write the page from lines per second, round by round."""
    ratio, low, high = speed_up(one, two)
    return render(
        "sizing",
        **_row("one", one),
        **_row("two", two),
        ratio=ratio,
        low=low,
        high=high,
        n=len(one),
        lines=int(lines_a_run),
    )


def speed_up(one: Sequence[float], two: Sequence[float]) -> tuple[float, float, float]:
    """
    Return the geometric mean of the rounds' ratios and its interval.

    >>> [round(value, 2) for value in speed_up([10, 20, 10], [15, 30, 15])]
    [1.5, 1.5, 1.5]
    """
    logs = [log(b / a) for a, b in zip(one, two, strict=True)]
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1)) * stdev(logs) / sqrt(len(logs))
    return exp(fmean(logs)), exp(fmean(logs) - half), exp(fmean(logs) + half)


def _row(name: str, values: Sequence[float]) -> dict[str, object]:
    figures = {name: median(values), f"{name}_low": min(values), f"{name}_high": max(values)}
    return {f"n_{name}": len(values), **{key: f"{value:,.0f}" for key, value in figures.items()}}
