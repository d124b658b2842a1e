"""Two arms compared by all their metrics: which runs go together, what is measured, what decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from verdicts import doubts
from verdicts.metrics import METRICS, OF_GOLD, OF_PERF_TEST, RunMetric
from verdicts.overall import deciding
from verdicts.runs import ChangePoint, RunFigures
from verdicts.verdict import JudgedMetric, MeasuredMetric, VerdictRule, judged
from verdicts.within_run import WeightedWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked: which metrics (the first one decides; none named: all, and the worst), by which rule."""

    baseline: str
    contender: str
    metrics: Sequence[str] = ()
    rule: VerdictRule = field(default_factory=VerdictRule)
    is_unpaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All that is said of two arms; `deciding` is one of `judged`."""

    asked: Asked
    is_blocked: bool
    baseline: Sequence[RunFigures]
    contender: Sequence[RunFigures]
    judged: Sequence[JudgedMetric]
    deciding: JudgedMetric
    cautions: Sequence[str]
    change_points: Sequence[ChangePoint] = ()


class NothingToCompareError(Exception):
    """An arm has no run, or a metric has no meaning; the message names what there is."""


def compared(runs: Sequence[RunFigures], asked: Asked) -> Comparison:
    """
    Compare two arms.

    Raises:
        NothingToCompareError: an arm has no run, or there is no such metric.

    """
    arms = {
        name: sorted(_of(runs, name), key=lambda run: run.run) for name in (asked.baseline, asked.contender)
    }
    baseline, contender = arms[asked.baseline], arms[asked.contender]
    for name, of in arms.items():
        if not of:
            there = ", ".join(sorted({run.arm for run in runs})) or "none"
            message = f"no run of arm {name!r}; there are: {there}"
            raise NothingToCompareError(message)
    names = [run.run for run in baseline]
    is_blocked = not asked.is_unpaired and names == [run.run for run in contender] and len(names) > 1
    general = doubts.of_runs(baseline, contender)
    measured = [
        _measured(metric, baseline, contender, is_blocked=is_blocked, general=general)
        for metric in _metrics(asked.metrics, [*baseline, *contender])
    ]
    every = judged(measured, asked.rule)
    lacking = {name for name in METRICS if doubts.of_metric(METRICS[name], [*baseline, *contender])}
    # What runs do not have is shown with its reason; it decides where it was asked for.
    had = [of for of in every if of.metric not in lacking]
    return Comparison(
        asked=asked,
        is_blocked=is_blocked,
        baseline=baseline,
        contender=contender,
        judged=every,
        deciding=deciding(every, asked.metrics[0]) if asked.metrics else deciding(had or every, None),
        cautions=doubts.cautions(baseline, contender),
    )


def _of(runs: Sequence[RunFigures], arm: str) -> list[RunFigures]:
    return [run for run in runs if run.arm == arm]


def _metrics(named: Sequence[str], runs: Sequence[RunFigures]) -> list[RunMetric]:
    unknown = [name for name in named if name not in METRICS]
    if unknown:
        message = f"no metric {unknown[0]!r}; there are: {', '.join(METRICS)}"
        raise NothingToCompareError(message)
    if named:
        return [METRICS[name] for name in dict.fromkeys(named)]
    told = [metric for metric in OF_GOLD if all(run.values.get(metric.name) is not None for run in runs)]
    return [*OF_PERF_TEST, *told]


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
    """Give a run's windows behind the warm-up, each with what it counts by."""
    told = [
        (getattr(window, metric.weight or "records"), getattr(window, metric.name))
        for window in run.windows
        if window.is_measured
    ]
    return [(float(weight), float(value)) for weight, value in told if weight and value is not None]
