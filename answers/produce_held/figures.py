"""The figures of produce waits: their parts over time, and which follower holds which leader back."""

from collections.abc import Sequence
from datetime import timedelta

import plotly.graph_objects as go

from answers.drawing import CALM, SLOWNESS, instant_text, styled
from answers.formats import ms, percent
from answers.produce_held.verdict import PARTS
from answers.slow_links.figures import broker_matrix
from schemas.rows import Row

COLORS = dict(zip(PARTS, (CALM[3], CALM[1], "#b0122b", CALM[2]), strict=True))
PATTERNS = dict(zip(PARTS, ("/", ".", "", "x"), strict=True))
"""Colour is not the only sign of a part."""


def parts_over_time(rows: Sequence[Row], step: timedelta) -> go.Figure:
    """Return the mean parts of the wait as stacked bars; all rows are of one leader and follower."""
    figure = go.Figure()
    for part in PARTS:
        known = [row for row in rows if row[f"{part}_sum_ms"] is not None]
        figure.add_trace(
            go.Bar(
                x=[instant_text(row["window_start"] + step / 2) for row in known],
                y=[row[f"{part}_sum_ms"] / row["n_parts"] for row in known],
                width=step.total_seconds() * 1e3,
                name=part,
                marker={"color": COLORS[part], "pattern": {"shape": PATTERNS[part]}, "line": {"width": 0}},
                hovertemplate="%{y:.2f} ms<extra>%{fullData.name}</extra>",
            )
        )
    figure.update_layout(barmode="relative", height=310)
    figure.update_yaxes(title="mean, ms", rangemode="tozero")
    return styled(figure)


def held_matrix(rows: Sequence[Row], brokers: Sequence[int]) -> go.Figure:
    """Return the share of a leader's requests that each follower released, with the median hold."""
    by_pair = {(row["follower_id"], row["leader_id"]): row for row in rows}
    cells = [[by_pair.get((follower, leader)) for leader in brokers] for follower in brokers]
    return broker_matrix(
        brokers,
        ("leader (appends)", "follower (releases)"),
        z=[[cell["share_released"] if cell else None for cell in row] for row in cells],
        zmin=0.0,
        zmax=1.0,
        colorscale=SLOWNESS,
        hovertext=[[_hover(cell) for cell in row] for row in cells],
        text=[[_text(cell) for cell in row] for row in cells],
        colorbar={"title": {"text": "share"}, "tickformat": ".0%", "thickness": 10, "outlinewidth": 0},
    )


def _text(cell: Row | None) -> str:
    return "" if cell is None else f"{percent(cell['share_released'])}<br>{ms(cell['held_p50_ms'])} ms"


def _hover(cell: Row | None) -> str:
    if cell is None:
        return "released no request"
    return (
        f"<b>broker {cell['leader_id']} waits for broker {cell['follower_id']}</b>"
        f"<br>released {percent(cell['share_released'])} of the requests that waited"
        f"<br>held p50 {ms(cell['held_p50_ms'])}, p99 {ms(cell['held_p99_ms'])} ms"
        f"<br>n {cell['n_released']:,}, and {cell['n_tie']:,} ties"
    )
