"""Whether a change helped: comparisons of runs that `plumbline compare --save` has kept."""

from collections.abc import Sequence

import plotly.graph_objects as go

from answers.answer import (
    Answer,
    DrawnFigure,
    FigureRow,
    Headline,
    Question,
    Section,
    empty_section,
    section_of,
)
from answers.drawing import ALARM, CALM, MUTED, plain_name, styled
from answers.gold.selection import GoldSelection
from answers.next_steps.steps import SETTINGS
from answers.runs import comparisons
from answers.runs.comparisons import deciding, name_of
from schemas.rows import Row
from verdicts.verdict import Verdict

FILL = f"plumbline compare BASELINE CONTENDER {SETTINGS} --save"
MARKS = {
    Verdict.IMPROVED.value: ("#1f6b45", "circle"),
    Verdict.REGRESSED.value: (ALARM, "diamond"),
    Verdict.EQUIVALENT.value: (CALM[1], "square"),
}
"""The colour and the shape of each verdict."""


def answer(selection: GoldSelection) -> Answer:
    """Return the chosen comparison, else the first."""
    rows = comparisons.newest(selection.gold, selection.cluster)
    named = list(dict.fromkeys(name_of(row) for row in rows))
    if not named:
        headline = Headline(sentence="No two arms have been compared.", mood="unsure")
        section = empty_section("comparison", "Comparisons", "gold has no comparison of runs.", FILL)
        return Answer(headline=headline, make_sections=lambda: [section])
    chosen = selection.run if selection.run in named else named[0]
    shown = rows.replaced(row for row in rows if name_of(row) == chosen)
    sentence, evidence = comparisons.headline(shown)
    mood = mood_of(deciding(shown)["verdict"])

    def sections() -> list[Section]:
        figure = DrawnFigure(
            name="changes",
            figure=changes(shown),
            words="Change of each metric with its interval; the table has the same figures.",
        )
        drawn = Section(
            name="comparison",
            title="What changed",
            lead="Change of each metric with its 95 % interval; the band is the tolerance.",
            blocks=[FigureRow([figure])],
        )
        return [drawn, section_of(comparisons.LISTING.listed(shown), "comparison-list")]

    return Answer(headline=Headline(sentence=sentence, mood=mood, evidence=evidence), make_sections=sections)


def mood_of(verdict: str) -> str:
    """Return the mood of a verdict."""
    moods = {Verdict.IMPROVED: "calm", Verdict.EQUIVALENT: "calm", Verdict.REGRESSED: "alarm"}
    return moods.get(Verdict(verdict), "unsure")


def changes(rows: Sequence[Row]) -> go.Figure:
    """Return each metric's change with its interval; an unknown end is outside of the figure."""
    figure = go.Figure()
    shown = [row for row in rows if row["change"] is not None]
    for row in shown:
        color, symbol = MARKS.get(row["verdict"], (MUTED, "x"))
        ends = {
            "type": "data",
            "symmetric": False,
            "array": [_reach(row["change_high"], row["change"])],
            "arrayminus": [_reach(row["change"], row["change_low"])],
        }
        figure.add_trace(
            go.Scatter(
                x=[row["change"]],
                y=[plain_name(row["metric"])],
                mode="markers",
                marker={"color": color, "symbol": symbol, "size": 11},
                error_x=ends,
                showlegend=False,
                hovertemplate=f"%{{y}}: {row['verdict']}<br>%{{x:+.1%}}<extra></extra>",
            )
        )
    band = max((row["tolerance"] or 0.0 for row in rows), default=0.0)
    figure.add_vrect(x0=-band, x1=band, fillcolor=CALM[1], opacity=0.15, line_width=0, layer="below")
    figure.add_vline(x=0, line={"width": 1, "color": MUTED})
    figure.update_xaxes(title="contender against baseline", tickformat="+.0%")
    figure.update_yaxes(autorange="reversed", type="category", automargin=True)
    return styled(figure).update_layout(height=120 + 34 * max(len(shown), 1))


def _reach(high: float | None, low: float | None) -> float:
    return 1.0 if high is None or low is None else high - low


QUESTION = Question(
    name="comparison",
    word="Comparison",
    title="Run comparison",
    filters=("run",),
    answer=answer,
    is_in_report=False,
)
