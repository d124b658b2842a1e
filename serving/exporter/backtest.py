"""When alert rules would have fired: a real Prometheus evaluates them over the history of gold."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from answers.exported.gold import ExportedGold, ExportedSample, SecondsSpan
from serving.exporter.engine import STEP_S, Engine, QueriedSeries, engine
from serving.exporter.rules import AlertRule, selectors

_AT_ONCE = 360  # instants per query: an hour


@dataclass(frozen=True, slots=True)
class Firing:
    """One alert, from when it fired until it no longer did."""

    rule: str
    labels: dict[str, str]
    since: float
    until: float
    peak: float


@dataclass(frozen=True, slots=True)
class BacktestOutcome:
    """The firings of a rule; without any, the series of its expression that are missing or only NaN."""

    rule: AlertRule
    firings: list[Firing]
    missing: list[str]
    is_without_data: bool


def history(gold: ExportedGold, span: SecondsSpan) -> Iterable[ExportedSample]:
    """Yield what the exporter would have served at the end of each window, without any delay of gold."""
    first = math.ceil(span.since / STEP_S) * STEP_S
    instants = [float(at) for at in range(first, math.floor(span.until) + 1, STEP_S)]
    gold.load(span)
    for start in range(0, len(instants), _AT_ONCE):
        yield from gold.samples(instants[start : start + _AT_ONCE])


def backtest(gold: ExportedGold, rules: Sequence[AlertRule], span: SecondsSpan) -> list[BacktestOutcome]:
    """Return the outcome of each rule over a span."""
    grid = SecondsSpan(math.ceil(span.since / STEP_S) * STEP_S, math.floor(span.until / STEP_S) * STEP_S)
    with engine(history(gold, span)) as served:
        return [_outcome(served, rule, grid) for rule in rules]


def _outcome(served: Engine, rule: AlertRule, span: SecondsSpan) -> BacktestOutcome:
    firings = [one for series in served.over(rule.expr, span) for one in fired(rule, series)]
    selected = {selector: served.over(selector, span) for selector in selectors(rule.expr)}
    # An alert that fired had its series, and `absent` fires because there are none.
    missing = [] if firings else [selector for selector, series in selected.items() if not series]
    numbers = (value for found in selected.values() for series in found for _, value in series.points)
    is_without_data = not missing and bool(selected) and all(math.isnan(value) for value in numbers)
    return BacktestOutcome(rule, sorted(firings, key=lambda one: one.since), missing, is_without_data)


def fired(rule: AlertRule, series: QueriedSeries) -> list[Firing]:
    """
    Return the firings of a series: the expression held for `for` at every evaluation.

    >>> [(f.since, f.until, f.peak) for f in fired(
    ...     AlertRule("r", "x", for_s=20), QueriedSeries({}, [(0, 1.0), (10, 3.0), (20, 2.0), (40, 9.0)]))]
    [(20, 20, 3.0)]
    """
    stretches: list[list[tuple[float, float]]] = []
    for at, value in series.points:
        if not stretches or at - stretches[-1][-1][0] > STEP_S:
            stretches.append([])
        stretches[-1].append((at, value))
    labels = {name: value for name, value in series.labels.items() if name != "__name__"} | rule.labels
    return [
        Firing(rule.name, labels, held[0][0] + rule.for_s, held[-1][0], max(value for _, value in held))
        for held in stretches
        if held[-1][0] - held[0][0] >= rule.for_s
    ]
