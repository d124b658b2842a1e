"""What all figures share: colours, lines over time, and text that a figure may show."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from schemas.rows import Row

WINDOW = timedelta(seconds=10)
Trace = dict[str, Any]
"""The properties of a trace. Plotly checks them once as a dict, and copies a `Scatter` to add it."""

Colorscale = Sequence[Sequence[float | str]]
SLOWNESS: Colorscale = [[0.0, "#e8eff6"], [0.25, "#f7dfb4"], [0.6, "#ee8a4f"], [1.0, "#b0122b"]]
CHANGE: Colorscale = [[0.0, "#2166ac"], [0.5, "#f2f2f2"], [1.0, "#b0122b"]]
ALARM = "#c8102e"
CALM = ["#4c78a8", "#72a5a0", "#8a7fb5", "#b58f5f", "#7d9a5b", "#9c7c8c"]
MUTED = "#8a94a3"
MOST_LEGEND_ENTRIES = 24

LONGEST_NAME = 40
ODD = re.compile(r"[^\w .:+-]+")


def plain_name(text: str) -> str:
    """
    Return a user's text as a figure may show it: plotly interprets some HTML in names.

    >>> plain_name("<a href='x'>orders-app</a>")
    '·a href·x·orders-app·a·'
    """
    return ODD.sub("·", text)[:LONGEST_NAME]


@lru_cache(maxsize=10_000)  # the lines of a figure have the same instants
def instant_text(instant: datetime) -> str:
    """Return an instant as plotly expects it, in UTC."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def line(
    series: Sequence[Row],
    column: str,
    name: str,
    *,
    step: timedelta,
    opacity: float = 1.0,
    **style: Any,  # noqa: ANN401 (plotly's own words)
) -> Trace:
    """Return a line of steps as long as their windows, with gaps where windows are missing."""
    return curve(
        *_with_gaps(series, column, step),
        name=name,
        mode="lines",
        opacity=opacity,
        line={"shape": "hv", **style},
        hovertemplate="%{y:.2f} ms<extra>%{fullData.name}</extra>",
    )


def curve(instants: Iterable[datetime], values: Iterable[float | None], **style: Any) -> Trace:  # noqa: ANN401
    """Return a trace over time; a value that is None is a gap."""
    # Of a list, plotly checks element by element; arrays take a fifth of the time.
    x = np.array([instant_text(instant) for instant in instants], dtype=object)
    return {"type": "scatter", "x": x, "y": np.array(list(values), dtype=float), **style}


def _with_gaps(
    series: Sequence[Row], column: str, step: timedelta
) -> tuple[list[datetime], list[float | None]]:
    points: list[tuple[datetime, float | None]] = []
    ordered = sorted(series, key=lambda row: row["window_start"])
    for row, following in zip(ordered, [*ordered[1:], None], strict=True):
        start, end = row["window_start"], row["window_start"] + step
        points.append((start, row.get(column)))
        if following is None or following["window_start"] > end:
            points += [(end, row.get(column)), (end, None)]
    return [instant for instant, _ in points], [value for _, value in points]


def styled(figure: go.Figure) -> go.Figure:
    """Return the figure without own colours of paper and ink: the page knows light from dark."""
    return figure.update_layout(
        template={},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 60, "r": 20, "t": 30, "b": 80},
        legend={"orientation": "h", "y": -0.2, "yanchor": "top"},
        xaxis={"tickangle": 0},
        hovermode="closest",
        font={"family": "system-ui, sans-serif", "size": 13},
    )
