"""The figures of fetches: latency with and without the wait in purgatory, over time."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import plotly.graph_objects as go

from answers.drawing import ALARM, CALM, MUTED, WINDOW, line, styled
from answers.slow_links.culprits import Finding, is_accused
from schemas.rows import Row

LEAD = (
    "Medians; the axis is logarithmic. Wide grey is what stock metrics show, solid is the true latency, "
    "dotted is the leader's own work."
)
PLOT_PX, ENTRY_PX = 230, 20
"""The height of a figure without its legend, and that of an entry, which has a line in a narrow column."""


def latency_over_time(
    rows: Sequence[Row], leader: int, chief: Finding | None, step: timedelta = WINDOW
) -> go.Figure:
    """Return stock metrics of a leader's followers (grey), and the true latency of their fetches."""
    figure = go.Figure()
    served = [row for row in rows if row["kind"] == "follower" and row["leader_id"] == leader]
    for nth, follower in enumerate(sorted({row["follower_id"] for row in served})):
        series = [row for row in served if row["follower_id"] == follower]
        accused = chief is not None and is_accused(chief.row, follower, leader)
        color = ALARM if accused else CALM[nth % len(CALM)]
        # One entry in the legend stands for the lines of all followers.
        once = {"showlegend": nth == 0}
        plain = line(series, "total_p50_ms", "plain total", step=step, color=MUTED, width=3) | once
        work: dict[str, Any] = {"color": color, "width": 1.2, "dash": "dot"}
        local = line(series, "leader_local_p50_ms", "leader's own work", step=step, **work) | once
        true = line(series, "true_p50_ms", f"true, follower {follower}", step=step, color=color, width=2.4)
        figure.add_traces([plain, true, local])
    figure.update_yaxes(title="p50, ms", type="log", dtick=1)
    figure.update_xaxes(nticks=5)
    figure.update_layout(height=PLOT_PX + ENTRY_PX * len({trace.name for trace in figure.data}))
    return styled(figure)
