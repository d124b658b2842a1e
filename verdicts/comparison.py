"""Compare two arms by all their metrics: which runs form a block, what is measured, what decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from verdicts import doubts
from verdicts.metrics import METRICS, OF_GOLD, OF_PERF_TEST, RunMetric
from verdicts.overall import deciding
from verdicts.runs import ChangePoint, RunFigures
from verdicts.verdict import JudgedMetric, MeasuredMetric, VerdictRule, judged
from verdicts.within_run import WeightedWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest:
    """What to compare: arms, metrics (the first decides; default: all, and the worst decides) and rule."""

    baseline: str
    contender: str
    metrics: Sequence[str] = ()
    rule: VerdictRule = field(default_factory=VerdictRule)
    is_unpaired: bool = False
    since: datetime | None = None  # only runs that began in this range; None: no limit
    until: datetime | None = None

    def runs_of(self, arm: str, runs: Sequence[RunFigures]) -> list[RunFigures]:
        """Return the runs of an arm, by name; with a limit, a run without a known start is left out."""
        found = [run for run in runs if run.arm == arm and self._includes(run)]
        return sorted(found, key=lambda run: run.run)

    def _includes(self, run: RunFigures) -> bool:
        if self.since is None and self.until is None:
            return True
        return run.started_at is not None and (
            (self.since is None or run.started_at >= self.since)
            and (self.until is None or run.started_at < self.until)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The verdicts on two arms; `deciding` is one of `judged`."""

    request: ComparisonRequest
    is_blocked: bool
    baseline: Sequence[RunFigures]
    contender: Sequence[RunFigures]
    judged: Sequence[JudgedMetric]
    deciding: JudgedMetric
    cautions: Sequence[str]
    change_points: Sequence[ChangePoint] = ()


class NothingToCompareError(Exception):
    """An arm has no run, or there is no such metric; the message lists those that exist."""


def compared(runs: Sequence[RunFigures], request: ComparisonRequest) -> Comparison:
    """
    Compare two arms.

    Raises:
        NothingToCompareError: an arm has no run, or there is no such metric.

    """
    baseline, contender = (request.runs_of(arm, runs) for arm in (request.baseline, request.contender))
    for arm, found in ((request.baseline, baseline), (request.contender, contender)):
        if not found:
            raise NothingToCompareError(_no_run(arm, runs))
    names = [run.run for run in baseline]
    is_blocked = not request.is_unpaired and names == [run.run for run in contender] and len(names) > 1
    general = doubts.of_runs(baseline, contender)
    measured = [
        _measured(metric, baseline, contender, is_blocked=is_blocked, general=general)
        for metric in _metrics(request.metrics, [*baseline, *contender])
    ]
    every = judged(measured, request.rule)
    lacking = {name for name in METRICS if doubts.of_metric(METRICS[name], [*baseline, *contender])}
    # A metric that runs lack is shown with the reason, but decides only if it was named.
    present = [of for of in every if of.metric not in lacking]
    return Comparison(
        request=request,
        is_blocked=is_blocked,
        baseline=baseline,
        contender=contender,
        judged=every,
        deciding=deciding(every, request.metrics[0]) if request.metrics else deciding(present or every, None),
        cautions=doubts.cautions(baseline, contender),
    )


def _no_run(arm: str, runs: Sequence[RunFigures]) -> str:
    """Return the message for an arm without runs: its runs outside the limits, or the arms that have some."""
    starts = [f"{run.started_at:%Y-%m-%dT%H:%MZ}" for run in runs if run.arm == arm and run.started_at]
    if starts:
        return (
            f"no run of arm {arm!r} began in this time range; its runs began {min(starts)} to {max(starts)}"
        )
    if any(run.arm == arm for run in runs):
        return f"no run of arm {arm!r} has a known start, so --since and --until leave all of them out"
    return f"no run of arm {arm!r}; there are: {', '.join(sorted({run.arm for run in runs})) or 'none'}"


def _metrics(named: Sequence[str], runs: Sequence[RunFigures]) -> list[RunMetric]:
    unknown = [name for name in named if name not in METRICS]
    if unknown:
        message = f"no metric {unknown[0]!r}; there are: {', '.join(METRICS)}"
        raise NothingToCompareError(message)
    if named:
        return [METRICS[name] for name in dict.fromkeys(named)]
    complete = [metric for metric in OF_GOLD if all(run.values.get(metric.name) is not None for run in runs)]
    return [*OF_PERF_TEST, *complete]


def _measured(
    metric: RunMetric,
    baseline: Sequence[RunFigures],
    contender: Sequence[RunFigures],
    *,
    is_blocked: bool,
    general: Sequence[str],
) -> MeasuredMetric:
    values = [
        [of for run in arm if (of := run.values.get(metric.name)) is not None]
        for arm in (baseline, contender)
    ]
    windows = None
    if metric.weight and len(baseline) == len(contender) == 1:
        windows = (windows_of(baseline[0], metric), windows_of(contender[0], metric))
    return MeasuredMetric(
        metric=metric.name,
        baseline=values[0],
        contender=values[1],
        is_lower_better=metric.is_lower_better,
        is_blocked=is_blocked,
        doubts=[*general, *doubts.of_metric(metric, [*baseline, *contender])],
        step=metric.step,
        windows=windows,
    )


def windows_of(run: RunFigures, metric: RunMetric) -> list[WeightedWindow]:
    """Return the windows of a run after the warm-up, each with its weight."""
    weighted = [
        (getattr(window, metric.weight or "records"), getattr(window, metric.name))
        for window in run.windows
        if window.is_measured
    ]
    return [(float(weight), float(value)) for weight, value in weighted if weight and value is not None]
