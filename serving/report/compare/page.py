"""A comparison as one HTML file that asks for nothing: verdict, differences, distributions."""

from markupsafe import Markup
from plotly.io import to_json
from plotly.offline import get_plotlyjs

from serving.report.compare.document import HEAD, cells, said, title
from serving.report.compare.figures import (
    has_percentiles,
    has_series,
    intervals,
    over_time,
    quantiles,
    series,
    strip,
)
from serving.report.page import Stamp, environment, inline
from verdicts.comparison import Comparison
from verdicts.doubts import settings_of
from verdicts.overall import counted
from verdicts.verdict import Verdict

MOODS = {
    Verdict.IMPROVED: "calm",
    Verdict.EQUIVALENT: "calm",
    Verdict.REGRESSED: "alarm",
    Verdict.INCONCLUSIVE: "unsure",
    Verdict.INVALID: "unsure",
}
MOST_STRIPS = 12
MOST_RUNS_LISTED = 200


def page(comparison: Comparison, stamp: Stamp) -> str:
    """Render the comparison; everything a user wrote is escaped."""
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            sentence=said(comparison),
            title=title(comparison),
            mood=MOODS[counted(comparison.deciding)],
            cautions=comparison.cautions,
            head=HEAD,
            metrics=list(zip(comparison.judged, cells(comparison), strict=True)),
            deciding=comparison.deciding,
            runs=[*comparison.baseline, *comparison.contender],
            most_listed=MOST_RUNS_LISTED,
            settings=differing(comparison),
            figures=figures(comparison),
            stamp=stamp,
            style=inline("style.css"),
            script=inline("page.js"),
            plotly=Markup(get_plotlyjs()),  # noqa: S704 (plotly's own script, no user's text)
        )
    )


def figures(comparison: Comparison) -> dict[str, Markup]:
    """Make every figure as JSON that is safe inside a script element."""
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
    """Tell in which settings the arms differ: what each has and the other has not."""
    ours, theirs = (
        {word for run in arm for word in settings_of(run.configuration)}
        for arm in (comparison.contender, comparison.baseline)
    )
    return [
        *((comparison.asked.baseline, word) for word in sorted(theirs - ours)),
        *((comparison.asked.contender, word) for word in sorted(ours - theirs)),
    ]
