"""A comparison as rows and sentences: what is written as JSON, as Markdown, and at the terminal."""

from statistics import median

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from schemas.gold.run_comparison import RUN_COMPARISON
from schemas.rows import Row, plain
from serving.report.answers import NONE
from serving.report.page_text import ms
from verdicts.comparison import Comparison
from verdicts.metrics import METRICS
from verdicts.overall import counted, exit_code
from verdicts.runs import ChangePoint, RunFigures
from verdicts.verdict import WITHIN_RUN, JudgedMetric, Verdict

STYLES = {
    Verdict.IMPROVED: "bold green",
    Verdict.REGRESSED: "bold red",
    Verdict.EQUIVALENT: "green",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.INVALID: "magenta",
}
HEAD = ("metric", "verdict", "change", "95 % interval", "of averages", "baseline", "contender", "p", "why")


def said(comparison: Comparison) -> str:
    """Say in one sentence what came out, the deciding metric first."""
    of, asked = comparison.deciding, comparison.asked
    label = f" ({WITHIN_RUN})" if of.is_within_run_only else ""
    change = f", {_change(of)}" if of.change is not None else ""
    return (
        f"{of.verdict.upper()}{label}: {asked.contender} against {asked.baseline}, "
        f"{of.metric}{change}: {of.reason}"
    )


def rows(comparison: Comparison, cluster: str | None) -> list[Row]:
    """Give the rows of `gold.run_comparison`."""
    return [_row(of, comparison, cluster) for of in comparison.judged]


def document(comparison: Comparison, cluster: str | None, inputs: Row) -> Row:
    """Lay the comparison out as JSON; every key is always there."""
    of, asked = comparison.deciding, comparison.asked
    return {
        "verdict": counted(of).value,
        "exit_code": exit_code(of),
        "sentence": said(comparison),
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


def table(comparison: Comparison) -> Table:
    """Lay the metrics out for a terminal, the deciding one in bold; `reasons` go below it."""
    shown = Table(title=title(comparison), box=SIMPLE, title_justify="left", pad_edge=False)
    for name in HEAD[:-1]:
        is_text = name in {"metric", "verdict"}
        shown.add_column(name, justify="left" if is_text else "right", no_wrap=name == "verdict")
    for of, told in zip(comparison.judged, cells(comparison), strict=True):
        metric, verdict, *others = (Text(cell) for cell in told[:-1])
        verdict.stylize(STYLES[of.verdict])
        if of is comparison.deciding:
            metric.stylize("bold")
        shown.add_row(metric, verdict, *others)
    return shown


def reasons(comparison: Comparison) -> list[str]:
    """Say why each verdict is what it is, those with one reason together; the deciding one has been told."""
    by_reason: dict[str, list[str]] = {}
    for of in comparison.judged:
        if of is not comparison.deciding:
            by_reason.setdefault(of.reason, []).append(of.metric)
    return [f"{', '.join(metrics)}: {reason}" for reason, metrics in by_reason.items()]


def markdown(comparison: Comparison) -> str:
    """Write the comparison for a pull request."""
    lines = [
        f"**{_escaped(said(comparison))}**",
        "",
        f"{_escaped(title(comparison))}.",
        "",
        f"| {' | '.join(HEAD)} |",
        f"| {' | '.join('---' for _ in HEAD)} |",
        *(f"| {' | '.join(map(_escaped, told))} |" for told in cells(comparison)),
        *(
            ["", *(f"- Caution: {_escaped(told)}" for told in comparison.cautions)]
            if comparison.cautions
            else []
        ),
    ]
    return "\n".join(lines) + "\n"


def title(comparison: Comparison) -> str:
    """Say what is compared."""
    asked, n = comparison.asked, (len(comparison.baseline), len(comparison.contender))
    how = f"{n[0]} blocks" if comparison.is_blocked else f"{n[1]} runs against {n[0]}"
    return f"{asked.contender} against {asked.baseline}, {how}, tolerance {asked.rule.tolerance:.3g}"


def cells(comparison: Comparison) -> list[tuple[str, ...]]:
    """Write each metric as a row of texts, under `HEAD`."""
    return [
        (
            of.metric,
            f"{of.verdict.value} ({WITHIN_RUN})" if of.is_within_run_only else of.verdict.value,
            _share(of.change),
            f"{_share(of.low)} to {_share(of.high)}" if of.low is not None and of.high is not None else NONE,
            _share(of.change_of_means),
            ms(_median(of, is_contender=False)),
            ms(_median(of, is_contender=True)),
            NONE if of.p_adjusted is None else f"{of.p_adjusted:.2g}",
            of.reason,
        )
        for of in comparison.judged
    ]


def _row(of: JudgedMetric, comparison: Comparison, cluster: str | None) -> Row:
    metric = METRICS[of.metric]
    return {
        "cluster": cluster,
        "baseline": comparison.asked.baseline,
        "contender": comparison.asked.contender,
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
        "tolerance": comparison.asked.rule.tolerance,
        "cautions": list(comparison.cautions),
    }


def _run(run: RunFigures) -> Row:
    """Give what a run came to; its windows are on the page."""
    told = {name: getattr(run, name) for name in RunFigures.__dataclass_fields__ if name != "windows"}
    return {name: plain(value) for name, value in told.items()} | {"values": plain(dict(run.values))}


def _median(of: JudgedMetric, *, is_contender: bool) -> float | None:
    if of.values is None:
        return None
    values = of.values.contender if is_contender else of.values.baseline
    return median(values) if values else None


def _change(of: JudgedMetric) -> str:
    interval = (
        f" ({_share(of.low)} to {_share(of.high)})" if of.low is not None and of.high is not None else ""
    )
    return f"{_share(of.change)}{interval}"


def _share(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:+.1f} %"


def _escaped(text: str) -> str:
    """Make a user's text one that a Markdown table shows as it is."""
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]<>|#!~" else sign for sign in text).replace("\n", " ")
