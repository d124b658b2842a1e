"""The figure of leader redirects."""

from collections.abc import Sequence

import plotly.graph_objects as go

from answers.clients import version_of
from answers.drawing import CALM, plain_name, styled
from schemas.gold.leader_redirect import DISCONNECT
from schemas.rows import Row


def redirect_times(events: Sequence[Row]) -> go.Figure:
    """Return every redirect as a point, one line per client version: all of it, and the client's part."""
    figure = go.Figure()
    ended = [row for row in events if row["redirect_ms"] is not None and row["kind"] != DISCONNECT]
    for column, name, color in (
        ("redirect_ms", "first error to first success", CALM[0]),
        ("client_part_ms", "the client's part", CALM[3]),
    ):
        shown = [row for row in ended if row[column] is not None]
        figure.add_trace(
            go.Box(
                x=[max(row[column], 0.1) for row in shown],
                y=[plain_name(f"{version_of(row)} {row['api']}") for row in shown],
                name=name,
                orientation="h",
                boxpoints="all",
                jitter=0.6,
                pointpos=0,
                marker={"size": 4, "opacity": 0.5, "color": color},
                line={"width": 1.4},
                fillcolor="rgba(0,0,0,0)",
            )
        )
    versions = {f"{version_of(row)} {row['api']}" for row in ended}
    figure.update_xaxes(title="ms", type="log", dtick=1)
    figure.update_yaxes(type="category", categoryorder="category descending", automargin=True)
    figure.update_layout(boxmode="group")
    return styled(figure).update_layout(height=140 + 80 * max(1, len(versions)))
