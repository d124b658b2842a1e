"""Would it have fired? Alert rules over gold's own history, asked of a real Prometheus."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from conf.export import Export
from serving.exporter.engine import STEP_S, Engine, QueriedSeries, engine
from serving.exporter.rules import AlertRule, selectors
from serving.exporter.samples import ExportedSample, samples
from serving.exporter.tables import GoldTables, SecondsSpan

_AT_ONCE = 360  # instants whose values are worked out together: an hour


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
    """What became of a rule: firings; else series it asks for that are not there, or hold nothing but NaN."""

    rule: AlertRule
    firings: list[Firing]
    missing: list[str]
    is_without_data: bool


def history(gold: GoldTables, span: SecondsSpan, limits: Export) -> Iterable[ExportedSample]:
    """Give what the exporter would have served at the end of every window, had gold been kept up."""
    first = math.ceil(span.since / STEP_S) * STEP_S
    instants = [float(at) for at in range(first, math.floor(span.until) + 1, STEP_S)]
    early = SecondsSpan(span.since - limits.remember_s - limits.events_span_s, span.until)
    gold.load(early)
    for start in range(0, len(instants), _AT_ONCE):
        yield from samples(gold, instants[start : start + _AT_ONCE], limits)


def backtest(
    gold: GoldTables, rules: Sequence[AlertRule], span: SecondsSpan, limits: Export
) -> list[BacktestOutcome]:
    """Replay the rules over a span."""
    grid = SecondsSpan(math.ceil(span.since / STEP_S) * STEP_S, math.floor(span.until / STEP_S) * STEP_S)
    with engine(history(gold, span, limits)) as served:
        return [_outcome(served, rule, grid) for rule in rules]


def _outcome(served: Engine, rule: AlertRule, span: SecondsSpan) -> BacktestOutcome:
    firings = [one for series in served.over(rule.expr, span) for one in fired(rule, series)]
    asked = {selector: served.over(selector, span) for selector in selectors(rule.expr)}
    # Of an alert that fired all was there; `absent` fires because something is not.
    missing = [] if firings else [selector for selector, series in asked.items() if not series]
    numbers = (value for told in asked.values() for series in told for _, value in series.points)
    is_without_data = not missing and bool(asked) and all(math.isnan(value) for value in numbers)
    return BacktestOutcome(rule, sorted(firings, key=lambda one: one.since), missing, is_without_data)


def fired(rule: AlertRule, series: QueriedSeries) -> list[Firing]:
    """
    Apply `for`: an alert fires once its expression has held so long at every evaluation.

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
