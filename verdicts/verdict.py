"""The five verdicts on a contender, by metric, each with its reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import exp, inf, isfinite, log

import numpy as np
import scipy
from numpy.typing import NDArray

from verdicts.more_runs import ObservedEffect, more_runs
from verdicts.shift import Shift, between, least_p, within_blocks
from verdicts.within_run import LEAST_WINDOWS, WeightedWindow, of_windows

WITHIN_RUN = "within-run only"
"""The label of a verdict on one run of each arm: how runs scatter is not known."""

LEAST_RUNS = 4
"""The minimum number of runs of each arm for a verdict by ranks; fewer do not show how an arm scatters."""


class Verdict(StrEnum):
    """A verdict; `verdicts.overall` has its exit code."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredMetric:
    """
    One metric of both arms, a value per run; in blocks, the values at the same index are of one block.

    `doubts` are the reasons why runs cannot be compared; with one of them the metric is invalid.
    `step` is the rounding of the values, in their own unit: 1 for whole milliseconds.
    `windows` of both arms are used if each has one run.
    """

    metric: str
    baseline: Sequence[float]
    contender: Sequence[float]
    is_lower_better: bool
    is_blocked: bool
    doubts: Sequence[str] = ()
    step: float = 0.0
    windows: tuple[Sequence[WeightedWindow], Sequence[WeightedWindow]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRule:
    """`tolerance`: the share of the baseline that makes no difference; `alpha`: of false alarms."""

    tolerance: float = 0.05
    alpha: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMetric:
    """
    A metric's verdict. Changes are shares of the baseline; an end is NULL if the runs are too few for it.

    They are ratios less 1 if all values are above zero, as latencies and rates are; otherwise shares of the
    baseline's median. `low` and `high` are wider than those of the ranks by a step of rounding.
    `change_of_means` is that of a table of averages; no verdict uses it.
    """

    metric: str
    verdict: Verdict
    reason: str
    is_within_run_only: bool = False
    method: str | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    change_of_means: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    cliffs_delta: float | None = None
    more_runs: int | None = None
    n_baseline: int = 0
    n_contender: int = 0
    values: MeasuredMetric | None = field(default=None, repr=False)


def judged(every: Sequence[MeasuredMetric], rule: VerdictRule) -> list[JudgedMetric]:
    """Judge all metrics together: p is adjusted for their number by Benjamini and Hochberg's rule."""
    whole = [replace(of, doubts=[*of.doubts, *_without_a_share(of)]) for of in every]
    compared = [None if of.doubts else _compared(of, rule) for of in whole]
    raw = [of.shift.p for of in compared if of]
    adjusted = iter(scipy.stats.false_discovery_control(raw) if raw else ())
    return [
        _judged(of, one, float(next(adjusted)), len(raw), rule) if one else _invalid(of)
        for of, one in zip(whole, compared, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Compared:
    shift: Shift
    method: str
    is_log: bool
    spread: float  # standard deviation of a difference of two runs
    step: float  # of rounding, as a share of the baseline

    def change(self, shift: float, steps: int = 0) -> float | None:
        """Return a shift as a share of the baseline, moved by some steps of rounding."""
        if not isfinite(shift):
            return None
        return (exp(shift) - 1 if self.is_log else shift) + steps * self.step


def _without_a_share(of: MeasuredMetric) -> list[str]:
    """Return the doubt that a change is no share of a baseline of 0."""
    is_of_zero = len(of.baseline) > 0 and not np.median(np.abs(np.asarray(of.baseline, float)))
    has_more = any(of.contender) or any(of.baseline)
    return ["the baseline's median is 0: a change is no share of it"] if is_of_zero and has_more else []


def _compared(of: MeasuredMetric, rule: VerdictRule) -> _Compared:
    baseline, contender = np.asarray(of.baseline, float), np.asarray(of.contender, float)
    unit, level = float(np.median(np.abs(baseline))) or 1.0, 1 - rule.alpha
    is_log, step = min(*of.baseline, *of.contender, inf) > 0, of.step / unit
    if len(baseline) == len(contender) == 1 and of.windows:
        shift = of_windows(*of.windows, level=level)
        if shift:
            return _Compared(shift, "block-bootstrap", is_log=True, spread=inf, step=step)
    baseline, contender = (np.log(arm) if is_log else arm / unit for arm in (baseline, contender))
    compare = within_blocks if of.is_blocked else between
    shift = compare(list(baseline), list(contender), level=level)
    spread = _spread(baseline, contender, is_blocked=of.is_blocked)
    return _Compared(shift, "signed-rank" if of.is_blocked else "mann-whitney", is_log, spread, step)


def _spread(baseline: NDArray[np.float64], contender: NDArray[np.float64], *, is_blocked: bool) -> float:
    if is_blocked:
        return float(np.std(contender - baseline, ddof=1)) if len(baseline) > 1 else inf
    of_both = [float(np.var(arm, ddof=1)) for arm in (baseline, contender) if len(arm) > 1]
    return float(np.sqrt(2 * np.mean(of_both))) if of_both else inf


def _judged(of: MeasuredMetric, one: _Compared, p: float, n_metrics: int, rule: VerdictRule) -> JudgedMetric:
    shift = one.shift
    low, high = one.change(shift.low, -1), one.change(shift.high, 1)
    is_within = one.method == "block-bootstrap"
    metric = JudgedMetric(
        metric=of.metric,
        verdict=Verdict.INCONCLUSIVE,
        reason="",
        is_within_run_only=is_within,
        method=one.method,
        change=one.change(shift.estimate),
        low=low,
        high=high,
        change_of_means=_change_of_means(of),
        p=shift.p,
        p_adjusted=p,
        cliffs_delta=shift.cliffs_delta,
        n_baseline=shift.n_baseline,
        n_contender=shift.n_contender,
        values=of,
    )
    label = f"{WITHIN_RUN}: " if is_within else ""
    is_few = not is_within and min(shift.n_baseline, shift.n_contender) < LEAST_RUNS
    if (
        not is_few
        and low is not None
        and high is not None
        and -rule.tolerance < low
        and high < rule.tolerance
    ):
        reason = f"{label}the interval lies within {_percent(rule.tolerance)} to either side"
        return replace(metric, verdict=Verdict.EQUIVALENT, reason=reason)
    if not is_few and p <= rule.alpha and not shift.low <= 0 <= shift.high:
        is_better = (shift.estimate < 0) is of.is_lower_better
        word = Verdict.IMPROVED if is_better else Verdict.REGRESSED
        return replace(metric, verdict=word, reason=f"{label}{_found(metric, one, rule)}")
    if 1 in (shift.n_baseline, shift.n_contender) and not isfinite(one.spread):
        return replace(metric, reason=f"{label}{_of_one_run(of, is_within=is_within)}")
    effect = _effect(of, one, n_metrics, rule)
    more = more_runs(effect)
    return replace(metric, reason=_why(effect, more, one.step, rule), more_runs=more)


def _change_of_means(of: MeasuredMetric) -> float | None:
    mean = float(np.mean(of.baseline))
    return float(np.mean(of.contender)) / mean - 1 if mean else None


def _found(metric: JudgedMetric, one: _Compared, rule: VerdictRule) -> str:
    reason = f"p {metric.p_adjusted:.2g} among all metrics; ranks leave out no change"
    nearer = max(metric.low or 0.0, -(metric.high or 0.0))  # below 0 where rounding alone may be the change
    if nearer < rule.tolerance:
        reason += f", but not one of {_percent(rule.tolerance)}"
    return f"{reason}; a step of rounding is {_percent(one.step)}" if one.step > rule.tolerance else reason


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _of_one_run(of: MeasuredMetric, *, is_within: bool) -> str:
    few = f"fewer than {LEAST_WINDOWS} windows" if of.windows else "windows do not tell it"
    how = "its windows differ no more than by chance" if is_within else few
    return f"{how}; one run of each tells nothing of how runs scatter: make at least 4, or 6 blocks"


def _effect(of: MeasuredMetric, one: _Compared, n_metrics: int, rule: VerdictRule) -> ObservedEffect:
    return ObservedEffect(
        runs=min(one.shift.n_baseline, one.shift.n_contender),
        shift=one.shift.estimate,
        spread=one.spread,
        tolerance=max(0.0, (log(1 + rule.tolerance) if one.is_log else rule.tolerance) - one.step),
        alpha=rule.alpha / n_metrics,
        level=1 - rule.alpha,
        is_blocked=of.is_blocked,
    )


def _why(effect: ObservedEffect, more: int | None, step: float, rule: VerdictRule) -> str:
    runs = f"{effect.runs} {'pairs of runs' if effect.is_blocked else 'runs of each arm'}"
    if least_p(effect.runs, is_blocked=effect.is_blocked) > rule.alpha:
        begin = f"{runs} are too few for any verdict"
    elif step >= rule.tolerance:
        begin = f"a step of rounding is {_percent(step)}, so nothing within {_percent(rule.tolerance)} shows"
    else:
        begin = f"{runs} scatter too much for the change that is seen"
    if more is None:
        return f"{begin}; more than {effect.most} would be needed: find what makes them scatter"
    return f"{begin}; about {more} more of each would decide"


def _invalid(of: MeasuredMetric) -> JudgedMetric:
    return JudgedMetric(
        metric=of.metric,
        verdict=Verdict.INVALID,
        reason="; ".join(of.doubts),
        n_baseline=len(of.baseline),
        n_contender=len(of.contender),
        values=of,
    )
