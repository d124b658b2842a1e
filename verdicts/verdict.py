"""Five words that may be said of a contender, metric by metric, each with its reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp, inf, isfinite, log

import numpy as np
from scipy import stats

from verdicts.more_runs import Plan, more_runs
from verdicts.shift import Shift, between, within_blocks


class Verdict(StrEnum):
    """What is said; `Ways` tells what of it ends a build."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """
    One metric of both arms, a value a run; in blocks, the nth values of both are of one block.

    `doubts` are sentences why runs cannot be compared; with one of them nothing else is looked at.
    """

    metric: str
    baseline: Sequence[float]
    contender: Sequence[float]
    is_lower_better: bool
    is_blocked: bool
    doubts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`tolerance` is the share of the baseline that makes no difference; `alpha` the share of false alarms."""

    tolerance: float = 0.05
    alpha: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """
    A metric's verdict. Changes are shares of the baseline; an end that the runs cannot give is NULL.

    `shift` is in logarithms where all values are above zero, as latencies and rates are: what counts is the
    ratio. Elsewhere it is in shares of the baseline's median.
    """

    metric: str
    verdict: Verdict
    reason: str
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    cliffs_delta: float | None = None
    more_runs: int | None = None
    n_baseline: int = 0
    n_contender: int = 0
    values: Measured | None = field(default=None, repr=False)


def judged(every: Sequence[Measured], rule: Rule) -> list[Judged]:
    """Judge all metrics together: p is adjusted for their number by Benjamini and Hochberg's rule."""
    compared = [None if of.doubts else _compared(of, rule) for of in every]
    raw = [of.shift.p for of in compared if of]
    adjusted = iter(stats.false_discovery_control(raw) if raw else ())
    return [
        _judged(of, one, float(next(adjusted)), len(raw), rule) if one else _invalid(of)
        for of, one in zip(every, compared, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Compared:
    shift: Shift
    is_log: bool
    spread: float

    def change(self, shift: float) -> float | None:
        """Turn a shift into a share of the baseline."""
        if not isfinite(shift):
            return None
        return exp(shift) - 1 if self.is_log else shift


def _compared(of: Measured, rule: Rule) -> _Compared:
    is_log = min(*of.baseline, *of.contender, inf) > 0
    baseline, contender = np.asarray(of.baseline, float), np.asarray(of.contender, float)
    if is_log:
        baseline, contender = np.log(baseline), np.log(contender)
    else:
        unit = float(np.median(np.abs(baseline))) or 1.0
        baseline, contender = baseline / unit, contender / unit
    compare = within_blocks if of.is_blocked else between
    shift = compare(list(baseline), list(contender), level=1 - rule.alpha)
    return _Compared(shift, is_log, _spread(baseline, contender, is_blocked=of.is_blocked))


def _spread(baseline: np.ndarray, contender: np.ndarray, *, is_blocked: bool) -> float:
    """Give the standard deviation of a difference of two runs."""
    if is_blocked:
        return float(np.std(contender - baseline, ddof=1)) if len(baseline) > 1 else inf
    of_both = [float(np.var(arm, ddof=1)) for arm in (baseline, contender) if len(arm) > 1]
    return float(np.sqrt(2 * np.mean(of_both))) if of_both else inf


def _judged(of: Measured, one: _Compared, p: float, n_metrics: int, rule: Rule) -> Judged:
    shift = one.shift
    low, high = one.change(shift.low), one.change(shift.high)
    told = {
        "metric": of.metric,
        "change": one.change(shift.estimate),
        "low": low,
        "high": high,
        "p": shift.p,
        "p_adjusted": p,
        "cliffs_delta": shift.cliffs_delta,
        "n_baseline": shift.n_baseline,
        "n_contender": shift.n_contender,
        "values": of,
    }
    if low is not None and high is not None and -rule.tolerance < low and high < rule.tolerance:
        reason = f"the interval lies within {rule.tolerance:.0%} to either side"
        return Judged(verdict=Verdict.EQUIVALENT, reason=reason, **told)
    if p <= rule.alpha and not shift.low <= 0 <= shift.high:
        is_better = (shift.estimate < 0) is of.is_lower_better
        word = Verdict.IMPROVED if is_better else Verdict.REGRESSED
        return Judged(verdict=word, reason=f"p {p:.2g}; the interval leaves out no change", **told)
    plan = Plan(
        seen=min(shift.n_baseline, shift.n_contender),
        shift=shift.estimate,
        spread=one.spread,
        tolerance=log(1 + rule.tolerance) if one.is_log else rule.tolerance,
        alpha=rule.alpha / n_metrics,
        is_blocked=of.is_blocked,
    )
    more = more_runs(plan)
    return Judged(verdict=Verdict.INCONCLUSIVE, reason=_why(plan, more), more_runs=more, **told)


def _why(plan: Plan, more: int | None) -> str:
    runs = f"{plan.seen} runs of each"
    if plan.can_never_tell:
        begin = f"{runs} can never tell, whatever they come to"
    else:
        begin = f"{runs} scatter too much for the change that is seen"
    if more is None:
        return f"{begin}; more than {plan.most} would be needed: find what makes them scatter"
    return f"{begin}; about {more} more of each would decide"


def _invalid(of: Measured) -> Judged:
    return Judged(
        metric=of.metric,
        verdict=Verdict.INVALID,
        reason="; ".join(of.doubts),
        n_baseline=len(of.baseline),
        n_contender=len(of.contender),
        values=of,
    )
