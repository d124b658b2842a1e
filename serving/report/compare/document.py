"""A comparison as rows and sentences, for JSON, Markdown and the terminal."""

from statistics import median

from rich.table import Table

from answers import formats
from answers.listing import Listed
from answers.runs.comparisons import LISTING
from schemas.gold.run_comparison import RUN_COMPARISON
from schemas.rows import Row, plain
from serving.report import terminal
from verdicts.comparison import Comparison
from verdicts.metrics import METRICS
from verdicts.overall import counted, exit_code
from verdicts.runs import ChangePoint, RunFigures
from verdicts.verdict import WITHIN_RUN, JudgedMetric


def sentence_of(comparison: Comparison) -> str:
    """Return the result in one sentence, the deciding metric first."""
    of, asked = comparison.deciding, comparison.request
    label = f" ({WITHIN_RUN})" if of.is_within_run_only else ""
    change = f", {_change(of)}" if of.change is not None else ""
    return (
        f"{of.verdict.upper()}{label}: {asked.contender} against {asked.baseline}, "
        f"{of.metric}{change}: {of.reason}"
    )


def rows(comparison: Comparison, cluster: str | None) -> list[Row]:
    """Return the rows of `gold.run_comparison`."""
    return [_row(of, comparison, cluster) for of in comparison.judged]


def document(comparison: Comparison, cluster: str | None, inputs: Row) -> Row:
    """Return the JSON document; every key is always there."""
    of, asked = comparison.deciding, comparison.request
    return {
        "verdict": counted(of).value,
        "exit_code": exit_code(of),
        "sentence": sentence_of(comparison),
        "deciding_metric": of.metric,
        "is_primary_named": bool(asked.metrics),
        "is_blocked": comparison.is_blocked,
        "tolerance": asked.rule.tolerance,
        "alpha": asked.rule.alpha,
        "cautions": list(comparison.cautions),
        "change_points": [
            {name: plain(getattr(of, name)) for name in ChangePoint.__dataclass_fields__}
            for of in comparison.change_points
        ],
        "run_comparison": [
            {name: plain(row.get(name)) for name in RUN_COMPARISON.schema.names}
            for row in rows(comparison, cluster)
        ],
        "runs": [_run(run) for run in (*comparison.baseline, *comparison.contender)],
        "inputs": plain(inputs),
    }


def metrics(comparison: Comparison) -> Listed:
    """Return the table of the metrics."""
    return LISTING.listed(rows(comparison, None))


def table(comparison: Comparison) -> Table:
    """Return the metrics for a terminal; `reasons` have the rest."""
    return terminal.table(metrics(comparison))


def reasons(comparison: Comparison) -> list[str]:
    """Return the reason of each verdict except the deciding one; equal reasons are one line."""
    by_reason: dict[str, list[str]] = {}
    for of in comparison.judged:
        if of is not comparison.deciding:
            by_reason.setdefault(of.reason, []).append(of.metric)
    return [f"{', '.join(metrics)}: {reason}" for reason, metrics in by_reason.items()]


def markdown(comparison: Comparison) -> str:
    """Return the comparison for a pull request."""
    listed = metrics(comparison)
    columns = listed.listing.columns
    cautions = [f"- Caution: {_escaped(caution)}" for caution in comparison.cautions]
    lines = [
        f"**{_escaped(sentence_of(comparison))}**",
        "",
        f"{_escaped(title(comparison))}.",
        "",
        f"| {' | '.join(column.head for column in columns)} |",
        f"| {' | '.join('---' for _ in columns)} |",
        *(f"| {' | '.join(_escaped(column.cell(row)) for column in columns)} |" for row in listed.rows),
        *(["", *cautions] if cautions else []),
    ]
    return "\n".join(lines) + "\n"


def title(comparison: Comparison) -> str:
    """Return the title: arms, runs and tolerance."""
    asked, n = comparison.request, (len(comparison.baseline), len(comparison.contender))
    how = f"{n[0]} blocks" if comparison.is_blocked else f"{n[1]} runs against {n[0]}"
    return f"{asked.contender} against {asked.baseline}, {how}, tolerance {asked.rule.tolerance:.3g}"


def _row(of: JudgedMetric, comparison: Comparison, cluster: str | None) -> Row:
    metric = METRICS[of.metric]
    return {
        "cluster": cluster,
        "baseline": comparison.request.baseline,
        "contender": comparison.request.contender,
        "metric": of.metric,
        "unit": metric.unit,
        "is_lower_better": metric.is_lower_better,
        "is_deciding": of is comparison.deciding,
        "verdict": of.verdict.value,
        "reason": of.reason,
        "is_within_run_only": of.is_within_run_only,
        "method": of.method,
        "change": of.change,
        "change_low": of.low,
        "change_high": of.high,
        "change_of_means": of.change_of_means,
        "p": of.p,
        "p_adjusted": of.p_adjusted,
        "cliffs_delta": of.cliffs_delta,
        "more_runs": of.more_runs,
        "n_baseline": of.n_baseline,
        "n_contender": of.n_contender,
        "baseline_median": _median(of, is_contender=False),
        "contender_median": _median(of, is_contender=True),
        "tolerance": comparison.request.rule.tolerance,
        "cautions": list(comparison.cautions),
    }


def _run(run: RunFigures) -> Row:
    """Return the result of a run without its windows, which are on the page."""
    facts = {name: getattr(run, name) for name in RunFigures.__dataclass_fields__ if name != "windows"}
    return {name: plain(value) for name, value in facts.items()} | {"values": plain(dict(run.values))}


def _median(of: JudgedMetric, *, is_contender: bool) -> float | None:
    if of.values is None:
        return None
    values = of.values.contender if is_contender else of.values.baseline
    return median(values) if values else None


def _change(of: JudgedMetric) -> str:
    interval = (
        f" ({formats.change(of.low)} to {formats.change(of.high)})"
        if of.low is not None and of.high is not None
        else ""
    )
    return f"{formats.change(of.change)}{interval}"


def _escaped(text: str) -> str:
    """Escape a text so that a Markdown table shows it unchanged."""
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]<>|#!~" else sign for sign in text).replace("\n", " ")
