"""Racks in a figure of broker pairs: lines between the racks, and a bracket with the name of each rack."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from answers.drawing import plain_name

COLOR = "#8a94a3"
NEAR_PX, FAR_PX = 3, 9
"""The distances of a bracket's ends and of its line from the cells."""

CELLS_PX, CHAR_PX, LABEL_PX = 560, 7, 16
"""The least expected width of all cells together, of a character, and the height of a label."""

LONGEST_LABEL = 16
UNKNOWN = "rack unknown"

Run = tuple[int, int, str]
"""The places of the first and the last of neighbours in one rack, and the name of the rack."""


def with_racks(figure: go.Figure, brokers: Sequence[int], racks: Mapping[int, str]) -> go.Figure:
    """
    Return a heat map with brackets of its racks: below the leaders, and to the right of the followers.

    `brokers` are the categories of both axes, in the order of `racks.by_rack`. The figure itself is changed;
    without racks it stays as it is.
    """
    if not racks:
        return figure
    runs = _runs(brokers, racks)
    labels = [_label(name) for _, _, name in runs]
    is_along = all(
        CHAR_PX * len(label) <= CELLS_PX / len(brokers) * (last - first + 1)
        for (first, last, _), label in zip(runs, labels, strict=True)
    )
    depth_px = FAR_PX + (LABEL_PX if is_along else CHAR_PX * max(map(len, labels)))
    shapes = [shape for run in runs for shape in _brackets(run)]
    shapes += [shape for _, last, _ in runs[:-1] for shape in _borders(last + 0.5)]
    annotations = [one for run in runs for one in _annotations(run, is_along=is_along)]
    layout, ends = figure.layout, [-0.5, len(brokers) - 0.5]
    figure.update_xaxes(range=ends)  # Plotly would widen the axes for the labels.
    figure.update_yaxes(range=ends[::-1], autorange=False)
    figure.update_traces(colorbar={"xpad": depth_px + 8}, selector={"type": "heatmap"})
    figure.update_layout(
        height=layout.height and layout.height + depth_px, margin={"b": (layout.margin.b or 0) + depth_px}
    )
    # Without `overwrite`, Plotly merges each of them with the one in its place, which takes most of the time.
    return figure.update_layout(
        shapes=[*layout.shapes, *shapes], annotations=[*layout.annotations, *annotations], overwrite=True
    )


def _runs(brokers: Sequence[int], racks: Mapping[int, str]) -> list[Run]:
    runs, first = list[Run](), 0
    for rack, members in groupby(brokers, key=racks.get):
        end = first + len(list(members))
        runs.append((first, end - 1, UNKNOWN if rack is None else plain_name(rack)))
        first = end
    return runs


def _label(name: str) -> str:
    return name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"


def _brackets(run: Run) -> list[dict[str, Any]]:
    """Return the brackets of a rack; their ends point to the cells."""
    low, high, line = run[0] - 0.42, run[1] + 0.42, {"color": COLOR, "width": 1}
    below = f"M{low},{-NEAR_PX} V{-FAR_PX} H{high} V{-NEAR_PX}"
    right = f"M{NEAR_PX},{low} H{FAR_PX} V{high} H{NEAR_PX}"
    return [
        {"type": "path", "path": below, "yref": "paper", "ysizemode": "pixel", "yanchor": 0, "line": line},
        {"type": "path", "path": right, "xref": "paper", "xsizemode": "pixel", "xanchor": 1, "line": line},
    ]


def _borders(place: float) -> list[dict[str, Any]]:
    """Return the lines between two racks, which fill the gap between the cells."""
    line = {"color": COLOR, "width": 4}
    return [
        {"type": "line", "x0": place, "x1": place, "yref": "paper", "y0": 0, "y1": 1, "line": line},
        {"type": "line", "y0": place, "y1": place, "xref": "paper", "x0": 0, "x1": 1, "line": line},
    ]


def _annotations(run: Run, *, is_along: bool) -> list[dict[str, Any]]:
    first, last, name = run
    middle, shift_px = (first + last) / 2, FAR_PX + 2
    label = {"text": _label(name), "hovertext": name, "showarrow": False, "font": {"size": 11}}
    below = {"x": middle, "yref": "paper", "y": 0, "yanchor": "top", "yshift": -shift_px}
    right = {"y": middle, "xref": "paper", "x": 1, "xanchor": "left", "xshift": shift_px}
    return [
        {**label, **below, "textangle": 0 if is_along else -90},
        {**label, **right, "textangle": 90 if is_along else 0},
    ]
