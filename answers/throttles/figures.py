"""The figure of throttles: throttled rates over time with their limits."""

from collections.abc import Sequence
from itertools import groupby

import plotly.graph_objects as go

from answers.drawing import CALM, MUTED, Trace, curve, styled
from answers.throttles.sentences import DIRECTIONS
from schemas.rows import Row


def rates_over_time(rows: Sequence[Row]) -> go.Figure:
    """Return the throttled rate of each broker and direction; a dotted line is the limit."""
    figure = go.Figure()
    ordered = sorted(rows, key=lambda row: (row["broker_id"], row["direction"], row["step_at"]))
    for nth, (key, group) in enumerate(
        groupby(ordered, key=lambda row: (row["broker_id"], row["direction"]))
    ):
        series, name = list(group), f"broker {key[0]} {DIRECTIONS[key[1]]}"
        rate = _line(series, "throttled_bytes_per_s", name, color=CALM[nth % len(CALM)])
        limit = _line(series, "limit_bytes_per_s", f"limit of {name}", color=MUTED, dash="dot")
        rate |= {"hovertemplate": "%{y:.2f} MB/s<extra>%{fullData.name}</extra>"}
        limit |= {"hovertemplate": "limit %{y:.2f} MB/s<extra></extra>", "showlegend": False}
        figure.add_traces([rate, limit])
    figure.update_yaxes(title="MB/s", rangemode="tozero")
    return styled(figure).update_layout(height=340, showlegend=True)


def _line(series: Sequence[Row], column: str, name: str, **style: str) -> Trace:
    return curve(
        [row["step_at"] for row in series],
        [None if row[column] is None else row[column] / 1e6 for row in series],
        name=name,
        mode="lines",
        line={"shape": "hv", **style},
    )
