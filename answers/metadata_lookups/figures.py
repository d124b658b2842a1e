"""The figure of metadata lookups."""

from collections.abc import Sequence

import plotly.graph_objects as go

from answers.clients import by_client
from answers.drawing import CALM, MOST_LEGEND_ENTRIES, WINDOW, curve, plain_name, styled
from schemas.rows import Row


def lookups_over_time(windows: Sequence[Row]) -> go.Figure:
    """Return the number of topics per lookup over time, one line per client."""
    figure = go.Figure()
    groups = sorted(by_client(windows).items(), key=lambda group: -sum(r["topics_asked"] for r in group[1]))
    for nth, (name, rows) in enumerate(groups[:MOST_LEGEND_ENTRIES]):
        ordered = sorted(rows, key=lambda row: row["window_start"])
        figure.add_trace(
            curve(
                [row["window_start"] + WINDOW / 2 for row in ordered],
                map(_per_lookup, ordered),
                name=plain_name(name),
                mode="lines+markers",
                line={"color": CALM[nth % len(CALM)], "width": 1.8},
                hovertemplate="%{y:.1f} topics a lookup<extra>%{fullData.name}</extra>",
            )
        )
    figure.update_yaxes(title="topics a lookup", rangemode="tozero")
    return styled(figure).update_layout(height=340, showlegend=True)


def _per_lookup(row: Row) -> float | None:
    named = row["lookups"] - row["all_topics_lookups"]
    per_lookup: float | None = row["topics_asked"] / named if named else None
    return per_lookup
