"""Verdicts of comparisons that `plumbline compare --save` has kept."""

import plotly.graph_objects as go
from dash.development.base_component import Component

from answers.runs import comparisons as run_comparisons
from answers.runs.comparisons import deciding, headline, name_of
from schemas.rows import Row
from serving.dashboard.parts import graph, listed_section, nothing, section, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.client_figures import plain_name
from serving.report.compare.figures import COLORS
from serving.report.figures import CALM, MUTED, styled
from verdicts.verdict import Verdict

FILL = "plumbline compare BASELINE CONTENDER --conf my.toml --save"
MOODS = {"improved": "calm", "equivalent": "calm", "regressed": "alarm"}


def page(request: DashboardRequest) -> list[Component]:
    """Return the page of the chosen comparison, else of the first."""
    rows = run_comparisons.newest(request.gold, request.cluster)
    named = list(dict.fromkeys(name_of(row) for row in rows))
    if not named:
        empty = verdict("No two arms have been compared.", "unsure")
        missing = nothing("gold has no comparison of runs.", fill=FILL)
        return [empty, section("Comparisons", "", missing, name="comparison")]
    chosen = request.filters.run if request.filters.run in named else named[0]
    shown = [row for row in rows if name_of(row) == chosen]
    return [_verdict(shown), _changes(shown), listed_section(run_comparisons.LISTING.listed(shown), "list")]


def _verdict(rows: list[Row]) -> Component:
    sentence, small = headline(rows)
    return verdict(sentence, MOODS.get(deciding(rows)["verdict"], "unsure"), small)


def _changes(rows: list[Row]) -> Component:
    lead = "Change of each metric with its 95 % interval; the band is what makes no difference."
    words = "Change of each metric with its interval; the table below has the same figures."
    return section("What changed", lead, graph("changes", changes(rows), words), name="comparison")


def changes(rows: list[Row]) -> go.Figure:
    """Draw each metric's change; an end that is not known is outside of the figure."""
    figure = go.Figure()
    shown = [row for row in rows if row["change"] is not None]
    for row in shown:
        low, high = row["change_low"], row["change_high"]
        ends = {
            "type": "data",
            "symmetric": False,
            "array": [1.0 if high is None else high - row["change"]],
            "arrayminus": [1.0 if low is None else row["change"] - low],
        }
        figure.add_trace(
            go.Scatter(
                x=[row["change"]],
                y=[plain_name(row["metric"])],
                mode="markers",
                marker={"color": COLORS.get(Verdict(row["verdict"]), MUTED), "size": 11},
                error_x=ends,
                showlegend=False,
                hovertemplate="%{y}: %{x:+.1%}<extra></extra>",
            )
        )
    tolerance = max((row["tolerance"] or 0.0 for row in rows), default=0.0)
    figure.add_vrect(
        x0=-tolerance, x1=tolerance, fillcolor=CALM[1], opacity=0.15, line_width=0, layer="below"
    )
    figure.update_xaxes(title="contender against baseline", tickformat="+.0%")
    figure.update_yaxes(autorange="reversed", type="category", automargin=True)
    return styled(figure).update_layout(height=140 + 34 * max(len(shown), 1))
