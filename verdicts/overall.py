"""One word for all metrics, and the exit code that goes with it."""

from collections.abc import Sequence

from verdicts.verdict import JudgedMetric, Verdict

EXIT_CODES = {
    Verdict.IMPROVED: 0,
    Verdict.EQUIVALENT: 0,
    Verdict.REGRESSED: 1,
    Verdict.INCONCLUSIVE: 2,
    Verdict.INVALID: 3,
}

WORST_FIRST = (
    Verdict.REGRESSED,
    Verdict.INVALID,
    Verdict.INCONCLUSIVE,
    Verdict.IMPROVED,
    Verdict.EQUIVALENT,
)


def deciding(every: Sequence[JudgedMetric], primary: str | None) -> JudgedMetric:
    """
    Give the metric that decides: the primary one if one was named, else the first of the worst.

    Raises:
        ValueError: the primary metric is not among them, or there are none.

    """
    named = [of for of in every if primary in (None, of.metric)]
    if not named:
        message = f"no metric {primary!r} among {', '.join(of.metric for of in every) or 'none'}"
        raise ValueError(message)
    return min(named, key=lambda of: WORST_FIRST.index(counted(of)))


def counted(of: JudgedMetric) -> Verdict:
    """Give what a verdict counts for: one run of each decides nothing, whatever its windows say."""
    return Verdict.INCONCLUSIVE if of.is_within_run_only else of.verdict


def exit_code(of: JudgedMetric) -> int:
    """Give the exit code of a deciding metric."""
    return EXIT_CODES[counted(of)]
