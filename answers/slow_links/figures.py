"""The figures of round trips: the matrix of pairs, and lines over time."""

from collections.abc import Sequence
from datetime import timedelta
from operator import itemgetter
from typing import Any

import plotly.graph_objects as go

from answers.drawing import (
    ALARM,
    CALM,
    MOST_LEGEND_ENTRIES,
    MUTED,
    SLOWNESS,
    WINDOW,
    Colorscale,
    instant_text,
    line,
    styled,
)
from answers.formats import NONE
from answers.gold.selection import BrokerPair
from answers.slow_links.culprits import Finding, is_accused
from answers.slow_links.matrix import Matrix
from schemas.rows import Row

CELL_PX, MARGIN_PX, MOST_PX = 84, 76, 780
MOST_NAMED_BROKERS, MOST_LABELLED_BROKERS = 6, 12
NUMBERS = {"tickfont": {"size": 10}}
"""The axes of many brokers. Without `tickvals`, plotly leaves out some of the numbers on a phone."""

WIDE_ID = 100
"""Ids from here on are wider than a column of a phone, so they stand upright."""


def heat_map(matrix: Matrix, scale_ms: tuple[float, float], colors: Colorscale = SLOWNESS) -> go.Figure:
    """Return the heat map of one cell per ordered pair; cells without a figure are visibly empty."""
    sign = "" if matrix.column == "rtt_ms" else "+"
    figure = broker_matrix(
        matrix.brokers,
        ("leader (serves)", "follower (fetches)"),
        z=matrix.values,
        zmin=scale_ms[0],
        zmax=scale_ms[1],
        colorscale=colors,
        hovertext=_hovers(matrix),
        text=[["" if ms is None else f"{ms:{sign}.2f}" for ms in row] for row in matrix.values],
        textfont={"size": 17 if len(matrix.brokers) <= MOST_NAMED_BROKERS else 11},
        colorbar={"title": {"text": "ms"}, "thickness": 10, "outlinewidth": 0},
    )
    return figure.update_layout(annotations=_empty_cells(matrix), shapes=_empty_shapes(matrix))


def broker_matrix(brokers: Sequence[int], axes: tuple[str, str], **cells: Any) -> go.Figure:  # noqa: ANN401
    """Return a matrix of broker pairs: leaders across, followers down; `cells` are plotly's of a heat map."""
    has_names, has_texts = (len(brokers) <= most for most in (MOST_NAMED_BROKERS, MOST_LABELLED_BROKERS))
    names = [f"broker {broker}" if has_names else str(broker) for broker in brokers]
    texts = {"hoverinfo": "text", "texttemplate": "%{text}" if has_texts else None}
    figure = styled(go.Figure(go.Heatmap(x=names, y=names, xgap=3, ygap=3, **texts, **cells)))
    figure.update_xaxes(title=axes[0], side="top", type="category", showgrid=False)
    figure.update_yaxes(title=axes[1], autorange="reversed", type="category", showgrid=False)
    if not has_names:
        is_wide = max(brokers) >= WIDE_ID
        figure.update_layout(xaxis=NUMBERS | {"tickangle": -90 * is_wide}, yaxis=NUMBERS)
    height = min(MARGIN_PX + CELL_PX * len(names), MOST_PX)
    return figure.update_layout(height=height, margin={"b": 16, "t": 60})


def _hovers(matrix: Matrix) -> list[list[str]]:
    pairs = zip(matrix.brokers, matrix.cells, strict=True)
    return [
        [
            _hover(follower, leader, cell, matrix.method)
            for leader, cell in zip(matrix.brokers, row, strict=True)
        ]
        for follower, row in pairs
    ]


def _hover(follower: int, leader: int, cell: Row | None, method: str) -> str:
    if follower == leader:
        return "a broker does not fetch from itself"
    title = f"<b>broker {follower} fetches from broker {leader}</b>"
    if cell is None:
        return f"{title}<br>no data: no {method} round trip"
    if cell["rtt_ms"] is None:
        return f"{title}<br>not enough data: {cell['n']} {method} round trips, 12 are needed"
    if cell.get("rise_ms") is not None:
        title += f"<br>{cell['rise_ms']:+.2f} ms against {_ms(cell['quiet_ms'])} ms"
    return (
        f"{title}<br>RTT {cell['rtt_ms']:.2f} ms ({cell['estimator']})"
        f"<br>95 % interval {_ms(cell['rtt_low_ms'])} to {_ms(cell['rtt_high_ms'])} ms"
        f"<br>p50 {_ms(cell['rtt_p50_ms'])}, p99 {_ms(cell['rtt_p99_ms'])} ms"
        f"<br>n {cell['n']}, method {method}"
    )


def _empty_cells(matrix: Matrix) -> list[Row]:
    size = 11 if len(matrix.brokers) <= MOST_LABELLED_BROKERS else 7
    return [
        {
            "x": column,  # plotly takes the number of a broker for a place too
            "y": row,
            "text": NONE if column == row else "no data",
            "showarrow": False,
            "font": {"color": MUTED, "size": size},
        }
        for row, values in enumerate(matrix.values)
        for column, value in enumerate(values)
        if value is None
    ]


def _empty_shapes(matrix: Matrix) -> list[Row]:
    """Shade the cells without a figure, so that empty does not look fast."""
    return [
        {
            "type": "rect",
            "x0": column - 0.48,
            "x1": column + 0.48,
            "y0": row - 0.48,
            "y1": row + 0.48,
            "fillcolor": "rgba(128,128,128,0.08)",
            "line": {"width": 0 if row == column else 1, "color": MUTED, "dash": "dot"},
            "layer": "below",
        }
        for row, values in enumerate(matrix.values)
        for column, value in enumerate(values)
        if value is None
    ]


def rtt_over_time(  # noqa: PLR0913, PLR0917 (what one figure shows)
    rows: Sequence[Row],
    method: str,
    found: Sequence[Finding],
    chief: Finding | None,
    step: timedelta = WINDOW,
    earlier: Sequence[Row] = (),
) -> go.Figure:
    """
    Return the round trips of pairs over time; accused pairs are red, the time of a finding is shaded.

    The rows of an `earlier` span are dotted.
    """
    figure = go.Figure()
    pairs, pairs_earlier = _by_pair(rows, method), _by_pair(earlier, method)
    for nth, ((follower, leader), series) in enumerate(sorted(pairs.items(), key=itemgetter(0))):
        accused = chief is not None and is_accused(chief.row, follower, leader)
        name, color = f"{follower} from {leader}", ALARM if accused else CALM[nth % len(CALM)]
        width, opacity = (2.6, 1.0) if accused else (1.3, 0.85)
        figure.add_trace(line(series, "rtt_ms", name, step=step, opacity=opacity, color=color, width=width))
        if before := pairs_earlier.get((follower, leader)):
            dotted = line(before, "rtt_ms", f"{name}, earlier", step=step, color=color, width=1, dash="dot")
            figure.add_trace(dotted)
    for finding in found:
        shade(figure, finding)
    figure.update_yaxes(title="RTT, ms", rangemode="tozero")
    figure.update_layout(height=340, showlegend=len(pairs) <= MOST_LEGEND_ENTRIES)
    return styled(figure)


def shade(figure: go.Figure, finding: Finding) -> None:
    """Shade the time of a finding."""
    unsure = finding.row["culprit"] == "ambiguous"
    figure.add_vrect(
        x0=instant_text(finding.since),
        x1=instant_text(finding.until),
        fillcolor="#d9a441" if unsure else ALARM,
        opacity=0.10,
        line_width=0,
        layer="below",
    )


def _by_pair(rows: Sequence[Row], method: str) -> dict[BrokerPair, list[Row]]:
    groups: dict[BrokerPair, list[Row]] = {}
    for row in rows:
        if row["method"] == method:
            groups.setdefault((row["follower_id"], row["leader_id"]), []).append(row)
    return groups


def _ms(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"
