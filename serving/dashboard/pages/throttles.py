"""A4: how each replication throttle is kept, and how far moves of replicas are."""

from itertools import groupby

import plotly.graph_objects as go
from dash.development.base_component import Component

from answers.throttles.limits import limits, traffic
from answers.throttles.listings import MOVES, THROTTLES
from answers.throttles.moves import moves
from answers.throttles.sentences import DIRECTIONS, headline, is_bad, of_moves, of_throttles
from schemas.rows import Row
from serving.dashboard.parts import bullets, graph, listed_section, nothing, section, table, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.figures import CALM, MUTED, styled

FILL = "plumbline ingest and plumbline build-gold --follow"


def page(request: DashboardRequest) -> list[Component]:
    """Return the page."""
    throttles, moved = limits(request.selection), moves(request.selection)
    sentence = headline(throttles, moved)
    if not throttles and not moved:
        missing = nothing("neither a throttle nor a move was seen.", fill=FILL)
        return [verdict(sentence, "calm"), section("Throttles", "", missing, name="throttles")]
    return [
        verdict(sentence, "unsure" if any(map(is_bad, throttles)) else "calm"),
        *([_throttles(request, throttles)] if throttles else []),
        *([listed_section(MOVES.listed(moved), "moves", bullets(of_moves(moved)))] if moved else []),
    ]


def _throttles(request: DashboardRequest, rows: list[Row]) -> Component:
    words = "Throttled bytes per second by broker and direction over time; a dotted line is the limit."
    drawn = graph("throttle-rates", _rates(traffic(request.selection)), words)
    return section(
        THROTTLES.title,
        f"{THROTTLES.lead} A dotted line is the limit.",
        drawn,
        table(THROTTLES.listed(rows)),
        bullets(of_throttles(rows)),
        name="throttles",
    )


def _rates(rows: list[Row]) -> go.Figure:
    figure = go.Figure()
    ordered = sorted(rows, key=lambda row: (row["broker_id"], row["direction"], row["step_at"]))
    for nth, (key, group) in enumerate(
        groupby(ordered, key=lambda row: (row["broker_id"], row["direction"]))
    ):
        series, color = list(group), CALM[nth % len(CALM)]
        name = f"broker {key[0]} {DIRECTIONS[key[1]]}"
        instants = [f"{row['step_at']:%Y-%m-%d %H:%M:%S}" for row in series]
        figure.add_trace(
            go.Scatter(
                x=instants,
                y=[_mb(row["throttled_bytes_per_s"]) for row in series],
                name=name,
                mode="lines+markers",
                line={"color": color, "shape": "hv"},
                hovertemplate="%{y:.2f} MB/s<extra>%{fullData.name}</extra>",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=instants,
                y=[_mb(row["limit_bytes_per_s"]) for row in series],
                name=f"limit of {name}",
                mode="lines",
                line={"color": MUTED, "dash": "dot", "shape": "hv"},
                showlegend=False,
                hovertemplate="limit %{y:.2f} MB/s<extra></extra>",
            )
        )
    figure.update_yaxes(title="MB/s", rangemode="tozero")
    return styled(figure).update_layout(height=340, showlegend=True)


def _mb(value: float | None) -> float | None:
    return None if value is None else value / 1e6
