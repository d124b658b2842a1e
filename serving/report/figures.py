"""The figures: plotly documents built from numbers and our own words only, never from a user's text."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import plotly.graph_objects as go

from answers.formats import NONE
from answers.slow_links.culprits import Finding, is_accused
from schemas.rows import Row
from serving.report.matrix import Matrix

WINDOW = timedelta(seconds=10)
SLOWNESS = [[0.0, "#e8eff6"], [0.25, "#f7dfb4"], [0.6, "#ee8a4f"], [1.0, "#b0122b"]]
ALARM = "#c8102e"
CALM = ["#4c78a8", "#72a5a0", "#8a7fb5", "#b58f5f", "#7d9a5b", "#9c7c8c"]
MUTED = "#8a94a3"
CELL_PX, MARGIN_PX, MOST_PX = 84, 76, 780
MOST_LABELLED_BROKERS = 12
MOST_LEGEND_ENTRIES = 24


def heat_map(matrix: Matrix, scale_ms: tuple[float, float]) -> go.Figure:
    """Draw one cell an ordered pair; the diagonal and pairs without a figure are visibly empty."""
    names = [_name(broker) for broker in matrix.brokers]
    figure = go.Figure(
        go.Heatmap(
            x=names,
            y=names,
            z=matrix.rtt_ms,
            zmin=scale_ms[0],
            zmax=scale_ms[1],
            colorscale=SLOWNESS,
            xgap=3,
            ygap=3,
            hovertext=_hovers(matrix),
            hoverinfo="text",
            texttemplate="%{z:.2f}" if len(names) <= MOST_LABELLED_BROKERS else None,
            textfont={"size": 17 if len(names) <= 6 else 11},  # noqa: PLR2004 (from here on cells are small)
            colorbar={"title": {"text": "ms"}, "thickness": 10, "outlinewidth": 0},
        )
    )
    figure.update_layout(annotations=_empty_cells(matrix), shapes=_empty_shapes(matrix))
    height = min(MARGIN_PX + CELL_PX * len(names), MOST_PX)
    figure.update_xaxes(title="leader (serves)", side="top", type="category", showgrid=False)
    figure.update_yaxes(title="follower (fetches)", autorange="reversed", type="category", showgrid=False)
    return styled(figure).update_layout(height=height, margin={"b": 16, "t": 60})


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
            "x": _name(leader),
            "y": _name(follower),
            "text": NONE if leader == follower else "no data",
            "showarrow": False,
            "font": {"color": MUTED, "size": size},
        }
        for follower, row in zip(matrix.brokers, matrix.rtt_ms, strict=True)
        for leader, value in zip(matrix.brokers, row, strict=True)
        if value is None
    ]


def _empty_shapes(matrix: Matrix) -> list[Row]:
    """Shade the cells that hold no figure, so that empty is not taken for quick."""
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
        for row, values in enumerate(matrix.rtt_ms)
        for column, value in enumerate(values)
        if value is None
    ]


def rtt_over_time(
    rows: Sequence[Row],
    method: str,
    found: Sequence[Finding],
    chief: Finding | None,
    step: timedelta = WINDOW,
) -> go.Figure:
    """Draw the round trip of every pair over time, the accused pairs in red, their time shaded."""
    figure = go.Figure()
    pairs = sorted({(row["follower_id"], row["leader_id"]) for row in rows if row["method"] == method})
    for nth, (follower, leader) in enumerate(pairs):
        series = [row for row in rows if row["method"] == method and _pair(row) == (follower, leader)]
        accused = chief is not None and is_accused(chief.row, follower, leader)
        figure.add_trace(
            _line(
                series,
                "rtt_ms",
                f"{follower} from {leader}",
                step=step,
                color=ALARM if accused else CALM[nth % len(CALM)],
                width=2.6 if accused else 1.3,
                opacity=1.0 if accused else 0.85,
            )
        )
    for finding in found:
        _shade(figure, finding)
    figure.update_yaxes(title="RTT, ms", rangemode="tozero")
    figure.update_layout(height=340, showlegend=len(pairs) <= MOST_LEGEND_ENTRIES)
    return styled(figure)


def latency_over_time(
    rows: Sequence[Row], leader: int, chief: Finding | None, step: timedelta = WINDOW
) -> go.Figure:
    """Draw what a dashboard shows of one leader's followers (grey) above what their fetches really took."""
    figure = go.Figure()
    served = [row for row in rows if row["kind"] == "follower" and row["leader_id"] == leader]
    for nth, follower in enumerate(sorted({row["follower_id"] for row in served})):
        series = [row for row in served if row["follower_id"] == follower]
        accused = chief is not None and is_accused(chief.row, follower, leader)
        color = ALARM if accused else CALM[nth % len(CALM)]
        plain = _line(series, "total_p50_ms", "plain total", step=step, color=MUTED, width=3)
        work: dict[str, Any] = {"color": color, "width": 1.2, "dash": "dot"}
        local = _line(series, "leader_local_p50_ms", "leader's own work", step=step, **work)
        true = _line(series, "true_p50_ms", f"true, follower {follower}", step=step, color=color, width=2.4)
        # One entry in the legend stands for the lines of all followers.
        figure.add_traces([plain.update(showlegend=nth == 0), true, local.update(showlegend=nth == 0)])
    figure.update_yaxes(title="p50, ms", type="log", dtick=1)
    figure.update_xaxes(nticks=5)
    figure.update_layout(height=310)
    return styled(figure)


def _line(
    series: Sequence[Row],
    column: str,
    name: str,
    *,
    step: timedelta,
    opacity: float = 1.0,
    **line: Any,  # noqa: ANN401 (plotly's own words)
) -> go.Scatter:
    instants, values = _with_gaps(series, column, step)
    return go.Scatter(
        x=instants,
        y=values,
        name=name,
        mode="lines",
        opacity=opacity,
        line={"shape": "hv", **line},
        hovertemplate="%{y:.2f} ms<extra>%{fullData.name}</extra>",
    )


def _with_gaps(series: Sequence[Row], column: str, step: timedelta) -> tuple[list[str], list[float | None]]:
    """Make steps as long as their windows, and no line over missing ones: it would invent figures."""
    points: list[tuple[datetime, float | None]] = []
    ordered = sorted(series, key=lambda row: row["window_start"])
    for row, following in zip(ordered, [*ordered[1:], None], strict=True):
        start, end = row["window_start"], row["window_start"] + step
        points.append((start, row.get(column)))
        if following is None or following["window_start"] > end:
            points += [(end, row.get(column)), (end, None)]
    return [_instant(instant) for instant, _ in points], [value for _, value in points]


def _shade(figure: go.Figure, finding: Finding) -> None:
    unsure = finding.row["culprit"] == "ambiguous"
    figure.add_vrect(
        x0=_instant(finding.since),
        x1=_instant(finding.until),
        fillcolor="#d9a441" if unsure else ALARM,
        opacity=0.10,
        line_width=0,
        layer="below",
    )


def styled(figure: go.Figure) -> go.Figure:
    """Leave colours of paper and ink to the page, which knows light from dark."""
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


def _name(broker: int) -> str:
    return f"broker {broker}"


def _pair(row: Row) -> tuple[int, int]:
    return row["follower_id"], row["leader_id"]


def _instant(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _ms(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"
