"""The reasons why runs cannot be compared, as sentences that name the run; and cautions if they can."""

import re
from collections.abc import Callable, Sequence

from verdicts.metrics import RunMetric
from verdicts.runs import BEHIND_WARM_UP, STEADY_STATE, RunFigures

OF_ONE_RUN = re.compile(
    r"^(--topic|--bootstrap-server|client\.id|bootstrap\.servers|transactional\.id|--transactional-id)(=|$)"
)
"""Words of a configuration that may differ between the runs of an arm: names, not settings."""

MOST_NAMED = 3


def of_runs(baseline: Sequence[RunFigures], contender: Sequence[RunFigures]) -> list[str]:
    """Return what is wrong with the runs, whatever the metric."""
    every = [*baseline, *contender]
    return [
        *_named(every, "the rate asked for was not reached", lambda run: run.is_rate_missed),
        *[line for arm in (baseline, contender) for line in of_arm(arm)],
        *[line for run in every for line in of_run(run)],
        *_mixed(every),
    ]


def of_run(run: RunFigures) -> list[str]:
    """Return what is wrong with one run: it failed, did not end, or did not send the requested records."""
    name, found = _name(run), []
    if run.exit_code:
        found.append(f"{name} ended with exit code {run.exit_code}")
    if run.started_at and not run.ended_at:
        found.append(f"{name} started but has no end")
    if run.starts > 1 or run.summaries > 1:
        found.append(f"{name} is {max(run.starts, run.summaries)} runs of one name: give each its own")
    if not run.summaries:
        found.append(f"{name} has no summary line")
    if run.asked_records is not None and run.sent_records not in (None, run.asked_records):
        found.append(
            f"{name} sent {run.sent_records:,} of the {run.asked_records:,} records it was asked for"
        )
    of_windows = sum(window.records for window in run.windows)
    if run.sent_records is not None and of_windows > run.sent_records:
        found.append(
            f"{name} has {of_windows:,} records in its windows and {run.sent_records:,} in its summary"
        )
    return found


def of_arm(runs: Sequence[RunFigures]) -> list[str]:
    """Return the settings in which the runs of one arm differ."""
    asked: dict[str, Sequence[object]] = {
        "client_version": [run.client_version for run in runs],
        "records": [run.asked_records for run in runs],
        "records/s": [run.asked_records_per_s for run in runs],
        "record size": [run.record_size_bytes for run in runs],
        "warm-up, s": [run.warm_up_s for run in runs],
    }
    found = [
        f"{what} {_either(values)}" for what, values in asked.items() if len({str(of) for of in values}) > 1
    ]
    settings: list[set[str]] = [set(settings_of(run.configuration)) for run in runs]
    if settings and any(of != settings[0] for of in settings):
        differing = sorted(set().union(*settings) - settings[0].intersection(*settings))
        found.append(f"configuration: {', '.join(differing[:MOST_NAMED])}")
    return [f"the runs of {runs[0].arm} are not of one configuration: {'; '.join(found)}"] if found else []


def of_metric(metric: RunMetric, runs: Sequence[RunFigures]) -> list[str]:
    """Return why runs have no value of a metric."""
    without = [run for run in runs if run.values.get(metric.name) is None]
    if not without:
        return []
    behind = [run for run in without if run.method == BEHIND_WARM_UP]
    if metric.is_percentile and behind:
        name, warm_up = _name(behind[0]), f"{behind[0].warm_up_s:g} s of warm-up"
        of_all = "over all records (the tool prints those of the steady state since Kafka 4.2)"
        return [f"warm-up included: {name} declares {warm_up}, and its percentiles are {of_all}"]
    return _named(without, f"there is no {metric.name}", lambda _run: True)


def cautions(baseline: Sequence[RunFigures], contender: Sequence[RunFigures]) -> list[str]:
    """Return what may mislead, but does not forbid a comparison."""
    every = [*baseline, *contender]
    found = []
    if every and all(run.is_with_warm_up for run in every):
        found.append("no run declares a warm-up: all figures include it")
    if len(baseline) > 1 and len(contender) > 1 and _is_one_before_the_other(baseline, contender):
        found.append("all runs of one arm were made before the other's: a drift in time looks like a change")
    by_name = {run.run: run for run in baseline}
    pairs = [(by_name[run.run], run) for run in contender if run.run in by_name]
    if len(pairs) > 1 and len({_is_first(*pair) for pair in pairs}) == 1 and _is_first(*pairs[0]) is not None:
        found.append("the same arm came first in every block: what a run leaves behind looks like a change")
    if pairs and len(pairs) < max(len(baseline), len(contender)):
        found.append("some blocks lack an arm, so runs are compared without blocks")
    for what, name in (
        ("rates", "asked_records_per_s"),
        ("record sizes", "record_size_bytes"),
        ("numbers of records", "asked_records"),
        ("warm-ups", "warm_up_s"),
    ):
        if len({getattr(run, name) for run in every}) > 1:
            found.append(f"the arms were asked for different {what}")
    if {STEADY_STATE, BEHIND_WARM_UP} <= {run.method for run in every}:
        found.append(
            "some figures are the tool's own of its steady state, others of windows after the warm-up"
        )
    return found


def settings_of(configuration: Sequence[str]) -> list[str]:
    """
    Return the settings in a run's arguments, without names; an option and its value are one text.

    >>> settings_of(["--topic", "t-17", "--throughput", "5", "--producer-props", "acks=1", "client.id=c-3"])
    ['--throughput 5', '--producer-props', 'acks=1']
    """
    words, found = list(configuration), []
    while words:
        word = words.pop(0)
        if word.startswith("--") and "=" not in word and words and not _is_setting(words[0]):
            word = f"{word} {words.pop(0)}"
        if not OF_ONE_RUN.match(word.replace(" ", "=", 1)):
            found.append(word)
    return found


def _is_setting(word: str) -> bool:
    return word.startswith("--") or "=" in word


def _mixed(runs: Sequence[RunFigures]) -> list[str]:
    whole = [run for run in runs if run.is_with_warm_up]
    is_mixed = 0 < len(whole) < len(runs)
    return _named(whole, "warm-up included, unlike in others", lambda _run: True) if is_mixed else []


def _is_one_before_the_other(baseline: Sequence[RunFigures], contender: Sequence[RunFigures]) -> bool:
    first, second = ([run.started_at for run in arm if run.started_at] for arm in (baseline, contender))
    return bool(first and second) and (max(first) < min(second) or max(second) < min(first))


def _is_first(first: RunFigures, second: RunFigures) -> bool | None:
    return first.started_at < second.started_at if first.started_at and second.started_at else None


def _named(runs: Sequence[RunFigures], what: str, is_so: Callable[[RunFigures], bool]) -> list[str]:
    names = [_name(run) for run in runs if is_so(run)]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [f"{what}: {', '.join(names[:MOST_NAMED])}{more}"] if names else []


def _name(run: RunFigures) -> str:
    return f"run {run.run} of {run.arm}"


def _either(values: Sequence[object]) -> str:
    return " or ".join(sorted({"none" if of is None else f"{of}" for of in values})[:MOST_NAMED])
