"""The figure of throttles: throttled rates over time with their limits."""

from collections.abc import Sequence
from itertools import groupby

import plotly.graph_objects as go

from answers.drawing import CALM, MUTED, curve, styled
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
        rate = _line(series, "throttled_bytes_per_s", color=CALM[nth % len(CALM)])
        limit = _line(series, "limit_bytes_per_s", color=MUTED, dash="dot")
        figure.add_trace(rate.update(name=name, hovertemplate="%{y:.2f} MB/s<extra>%{fullData.name}</extra>"))
        figure.add_trace(
            limit.update(
                name=f"limit of {name}", showlegend=False, hovertemplate="limit %{y:.2f} MB/s<extra></extra>"
            )
        )
    figure.update_yaxes(title="MB/s", rangemode="tozero")
    return styled(figure).update_layout(height=340, showlegend=True)


def _line(series: Sequence[Row], column: str, **style: str) -> go.Scatter:
    return curve(
        [row["step_at"] for row in series],
        [None if row[column] is None else row[column] / 1e6 for row in series],
        mode="lines",
        line={"shape": "hv", **style},
    )
