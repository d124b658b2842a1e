"""The verdict that decides over all metrics, and its exit code."""

from collections.abc import Sequence

from verdicts.verdict import JudgedMetric, Verdict

EXIT_CODES = {
    Verdict.IMPROVED: 0,
    Verdict.EQUIVALENT: 0,
    Verdict.REGRESSED: 1,
    Verdict.INCONCLUSIVE: 2,
    Verdict.INVALID: 3,
}
"""A contract with CI; `conf.exit_codes` has the codes of everything else."""

WORST_FIRST = (
    Verdict.REGRESSED,
    Verdict.INVALID,
    Verdict.INCONCLUSIVE,
    Verdict.IMPROVED,
    Verdict.EQUIVALENT,
)


def deciding(every: Sequence[JudgedMetric], primary: str | None) -> JudgedMetric:
    """
    Return the metric that decides: the primary one if it was named, else the first of the worst.

    Raises:
        ValueError: the primary metric is not among them, or there are none.

    """
    named = [each for each in every if primary in (None, each.metric)]
    if not named:
        message = f"no metric {primary!r} among {', '.join(each.metric for each in every) or 'none'}"
        raise ValueError(message)
    return min(named, key=lambda metric: WORST_FIRST.index(counted(metric)))


def counted(metric: JudgedMetric) -> Verdict:
    """Return the verdict that counts: one run of each arm is inconclusive, whatever its windows show."""
    return Verdict.INCONCLUSIVE if metric.is_within_run_only else metric.verdict


def exit_code(metric: JudgedMetric) -> int:
    """Return the exit code of a deciding metric."""
    return EXIT_CODES[counted(metric)]
