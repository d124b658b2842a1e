"""A comparison as one HTML file without requests: verdict, differences, distributions."""

from markupsafe import Markup
from plotly.io import to_json

from answers.runs.summaries import COMPARED
from schemas.gold.perf_runs import PERF_RUNS
from schemas.rows import Row
from serving.report.compare.document import metrics, sentence_of, title
from serving.report.compare.figures import (
    has_percentiles,
    has_series,
    intervals,
    over_time,
    quantiles,
    series,
    strip,
)
from serving.report.page import Stamp, environment
from verdicts.comparison import Comparison
from verdicts.doubts import settings_of
from verdicts.overall import counted
from verdicts.runs import RunFigures
from verdicts.verdict import Verdict

MOODS = {
    Verdict.IMPROVED: "calm",
    Verdict.EQUIVALENT: "calm",
    Verdict.REGRESSED: "alarm",
    Verdict.INCONCLUSIVE: "unsure",
    Verdict.INVALID: "unsure",
}
MOST_STRIPS = 12


def page(comparison: Comparison, stamp: Stamp) -> str:
    """Return the page; user input is escaped."""
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            sentence=sentence_of(comparison),
            title=title(comparison),
            mood=MOODS[counted(comparison.deciding)],
            cautions=comparison.cautions,
            metrics=metrics(comparison),
            runs=COMPARED.listed([_row(run) for run in (*comparison.baseline, *comparison.contender)]),
            settings=differing(comparison),
            figures=figures(comparison),
            stamp=stamp,
        )
    )


def _row(run: RunFigures) -> Row:
    """Return a run with its figures as a row; figures that it lacks are NULL."""
    facts = {name: getattr(run, name) for name in ("arm", "run", "client_version", "started_at", "method")}
    return dict.fromkeys(PERF_RUNS.schema.names) | dict(run.values) | facts


def figures(comparison: Comparison) -> dict[str, Markup]:
    """Return the figures as JSON that is safe inside a script element."""
    drawn = {"intervals": intervals(comparison)}
    shown = [of for of in comparison.judged if of.values and of.n_baseline and of.n_contender]
    first = sorted(shown, key=lambda of: of is not comparison.deciding)[:MOST_STRIPS]
    drawn |= {f"strip-{nth}": strip(comparison, of) for nth, of in enumerate(first)}
    if has_series(comparison):
        drawn["series"] = series(comparison)
    if any(run.windows for run in (*comparison.baseline, *comparison.contender)):
        drawn["avg"] = over_time(comparison, "avg_ms", "mean of a window, ms")
        drawn["max"] = over_time(comparison, "max_ms", "highest of a window, ms")
    if has_percentiles(comparison):
        drawn["quantiles"] = quantiles(comparison)
    # plotly's JSON engine writes <, > and / as \u escapes, so no text can end the script element.
    return {name: Markup(to_json(figure, engine="json")) for name, figure in drawn.items()}  # noqa: S704


def differing(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the settings that only one arm has, with its name."""
    ours, theirs = (
        {word for run in arm for word in settings_of(run.configuration)}
        for arm in (comparison.contender, comparison.baseline)
    )
    return [
        *((comparison.asked.baseline, word) for word in sorted(theirs - ours)),
        *((comparison.asked.contender, word) for word in sorted(ours - theirs)),
    ]
