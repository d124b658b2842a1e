"""The lane of events under a figure over time: a row of markers for each kind of event."""

import re
from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from answers.events.found import (
    BROKER_RESTART,
    LEADER_MOVE,
    LOG_OFF,
    LOG_ON,
    MORE,
    PARTITIONS_OFFLINE,
    REASSIGNMENT,
    THROTTLE_REMOVED,
    THROTTLE_SET,
)
from answers.formats import instant
from schemas.rows import Row

ALARM, CHANGE, QUIET = "#c8102e", "#4c78a8", "#8a94a3"
KINDS = {
    PARTITIONS_OFFLINE: ("offline", "x", ALARM),
    BROKER_RESTART: ("restarts", "star", ALARM),
    LEADER_MOVE: ("leader moves", "triangle-right", CHANGE),
    REASSIGNMENT: ("reassignments", "square", CHANGE),
    THROTTLE_SET: ("throttle set", "triangle-down", CHANGE),
    THROTTLE_REMOVED: ("throttle removed", "triangle-up", CHANGE),
    LOG_ON: ("log on", "circle", QUIET),
    LOG_OFF: ("log off", "circle-open", QUIET),
    MORE: ("more", "asterisk-open", QUIET),
}
"""The rows of the lane from top to bottom: label, marker and colour of each kind."""

LASTING = (REASSIGNMENT, THROTTLE_SET)
"""Kinds that last until they have an end."""

END = "line-ns-open"
ROW_PX, GAP_PX = 22, 12
HEIGHT_PX, TOP_PX, BOTTOM_PX = 450, 100, 80
"""plotly's defaults of a figure's height and of its margins."""

ODD, LONGEST = re.compile(r"[^\w .,:;()+/-]+"), 200


def plain_sentence(text: str) -> str:
    """
    Return a text that plotly shows as it is: plotly reads some HTML in texts.

    >>> plain_sentence("1 partition of <a href='x'>orders</a> moved its leader")
    '1 partition of ·a href·x·orders·/a· moved its leader'
    """
    return ODD.sub("·", text)[:LONGEST]


def with_lane(figure: go.Figure, events: Sequence[Row]) -> go.Figure:
    """
    Return the figure with a lane of events (`events.events`) under its data; without events, unchanged.

    The figure grows by the lane, so the data keep their height. Its x axis has UTC instants as texts
    (`formats.instant`), and is shared. An event that lasts has a line, which is cut at the ends of the data.
    """
    shown = [kind for kind in KINDS if any(event["kind"] == kind for event in events)]
    if not shown:
        return figure
    axis = f"y{len(list(figure.select_yaxes())) + 1}"
    first, last = _ends(figure)
    lane_top = _grow(figure, ROW_PX * len(shown))
    for kind in shown:
        points = [point for event in events if event["kind"] == kind for point in _points(event, first, last)]
        figure.add_trace(_markers(kind, points, axis))
    labels = [KINDS[kind][0] for kind in reversed(shown)]
    figure.update_xaxes(anchor=axis)
    lane = {"domain": [0, lane_top], "range": [-0.5, len(labels) - 0.5], "fixedrange": True}
    look = {"showgrid": False, "zeroline": False, "automargin": True, "tickfont": {"size": 10}}
    rows = {"type": "category", "categoryorder": "array", "categoryarray": labels}
    return figure.update_layout({axis.replace("y", "yaxis"): lane | look | rows})


def _ends(figure: go.Figure) -> tuple[str, str] | tuple[None, None]:
    """Return the first and the last instant of the data."""
    instants = [x for trace in figure.data for x in (trace.x if trace.x is not None else ()) if x is not None]
    return (min(instants), max(instants)) if instants else (None, None)


def _grow(figure: go.Figure, lane_px: int) -> float:
    """Make room under the data; return the top of the lane as a share of the plot's height."""
    layout = figure.layout
    height = HEIGHT_PX if layout.height is None else layout.height
    top = TOP_PX if layout.margin.t is None else layout.margin.t
    bottom = BOTTOM_PX if layout.margin.b is None else layout.margin.b
    room, data_px = lane_px + GAP_PX, height - top - bottom
    plot_px = data_px + room
    for axis in figure.select_yaxes():
        low, high = axis.domain or (0, 1)
        axis.domain = [(low * data_px + room) / plot_px, (high * data_px + room) / plot_px]
    if layout.legend.y is not None and layout.legend.y < 0:  # as far below the plot as before
        layout.legend.y *= data_px / plot_px
    layout.height = height + room
    share: float = lane_px / plot_px
    return share


_Point = tuple[str | None, str, str | None]


def _points(event: Row, first: str | None, last: str | None) -> Iterator[_Point]:
    """Yield the instants of an event with markers and texts, and one without an instant to end the line."""
    kind, begin = event["kind"], instant(event["at"])
    end = instant(event["ended_at"]) if event["ended_at"] else None
    text = plain_sentence(f"{begin}{f' to {end}' if end else ''}: {event['what']}")
    if kind in LASTING:
        begin, end = max(begin, first or begin), end or last
    yield begin, KINDS[kind][1], text
    if end and (cut := min(end, last or end)) > begin:
        yield cut, END, text
    yield None, KINDS[kind][1], None


def _markers(kind: str, points: Sequence[_Point], axis: str) -> go.Scatter:
    label, _, color = KINDS[kind]
    instants, symbols, texts = zip(*points, strict=True)
    return go.Scatter(
        x=instants,
        y=[label] * len(points),
        yaxis=axis,
        name=label,
        mode="lines+markers",
        marker={"symbol": symbols, "size": 11, "color": color},
        line={"width": 2, "color": color},
        hovertext=texts,
        hoverinfo="text",
        showlegend=False,
    )
