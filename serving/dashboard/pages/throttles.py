"""A4: how each replication throttle is kept, and how far moves of replicas are."""

from itertools import groupby

import plotly.graph_objects as go
from dash.development.base_component import Component

from answers.throttles.limits import limits, traffic
from answers.throttles.moves import moves
from answers.throttles.verdict import COMPLIANT
from schemas.rows import Row
from serving.dashboard.parts import Column, bullets, graph, nothing, number, section, table, text, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.answers import NONE, Answers
from serving.report.figures import CALM, MUTED, styled
from serving.report.page_text import count, instant, percent
from serving.report.throttles import LIMITED_NAMES, QUIET, mb, said_of_moves, said_of_throttles, worst_first

FILL = "plumbline ingest and plumbline build-gold --follow"
JUDGED = "docs/throttles.md explains every state, its rules and its thresholds."


def page(request: DashboardRequest) -> list[Component]:
    """Return the page."""
    throttles, moved = worst_first(limits(request.selection)), moves(request.selection)
    if not throttles and not moved:
        empty = verdict("No throttle was set and no replica was moved in this span.", "calm")
        missing = nothing("neither a throttle nor a move was seen.", fill=FILL)
        return [empty, section("Throttles", "", missing, name="throttles")]
    small = [JUDGED] if throttles else []
    return [
        verdict(_sentence(throttles, moved), "unsure" if any(map(_is_bad, throttles)) else "calm", small),
        *([_throttles(request, throttles)] if throttles else []),
        *([_moves(moved)] if moved else []),
    ]


def _is_bad(row: Row) -> bool:
    return row["state"] not in (COMPLIANT, *QUIET)


def _sentence(throttles: list[Row], moved: list[Row]) -> str:
    under_way = [row for row in moved if row["state"] == "under_way"]
    moving = f" {_progress(under_way[-1])}" if under_way else ""
    bad = [row for row in throttles if _is_bad(row)]
    if bad:
        worst = bad[0]
        more = f" ({len(bad) - 1} more below)" if len(bad) > 1 else ""
        state = worst["state"].replace("_", " ")
        name = f"Broker {worst['broker_id']}, {worst['direction']}"
        return f"{name}: {state}; {worst['why']}{more}.{moving}"
    kept = sum(row["state"] == COMPLIANT for row in throttles)
    if kept:
        return f"{_throttles_of(kept)} kept.{moving}"
    if any(row["limit_bytes_per_s"] is not None for row in throttles):
        return f"No throttle has enough traffic to judge.{moving}"
    return f"No throttle was set.{moving}" if moving else "No throttle was set; moves are listed below."


def _throttles_of(n: int) -> str:
    return "1 throttle was" if n == 1 else f"{n} throttles were"


def _progress(row: Row) -> str:
    to_go = "" if row["bytes_to_go"] is None else f", {mb(row['bytes_to_go'])} MB to go"
    return (
        f"A move is under way: {count(row['partitions_done'])} of {count(row['partitions'])} partitions done"
        f"{to_go}."
    )


def _throttles(request: DashboardRequest, rows: list[Row]) -> Component:
    columns = [
        Column("broker", lambda row: f"broker {row['broker_id']}", is_text=True),
        Column("direction", lambda row: LIMITED_NAMES[row["direction"]], is_text=True),
        Column("state", lambda row: row["state"].replace("_", " "), is_text=True),
        Column("limited since, UTC", lambda row: instant(row["limited_from"]), is_text=True),
        number("limit MB/s", "limit_bytes_per_s", mb),
        number("rate MB/s", "rate_bytes_per_s", mb),
        number("counters MB/s", "counter_bytes_per_s", mb),
        number("of the limit", "utilisation", percent),
        number("highest 11 s MB/s", "best_window_bytes_per_s", mb),
        number("catching up MB", "catching_up_bytes", mb),
        number("in sync MB", "in_sync_bytes", mb),
        number("not listed MB", "unlisted_bytes", mb),
        text("why", "why"),
    ]
    listed = table("throttle-table", columns, rows, mark=_is_bad)
    drawn = graph(
        "throttle-rates", _rates(traffic(request.selection)), "Throttled bytes per second over time."
    )
    sentences = bullets(said_of_throttles(Answers(throttle_compliance=rows)))
    lead = "Throttled bytes per second by broker and direction; a dotted line is the limit."
    return section("Throttles", lead, drawn, listed, sentences, name="throttles")


def _rates(rows: list[Row]) -> go.Figure:
    figure = go.Figure()
    ordered = sorted(rows, key=lambda row: (row["broker_id"], row["direction"], row["step_at"]))
    for nth, (key, group) in enumerate(
        groupby(ordered, key=lambda row: (row["broker_id"], row["direction"]))
    ):
        series, color = list(group), CALM[nth % len(CALM)]
        name = f"broker {key[0]} {LIMITED_NAMES[key[1]]}"
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


def _moves(rows: list[Row]) -> Component:
    columns = [
        Column("move of, UTC", lambda row: instant(row["moved_at"]), is_text=True),
        Column("by", lambda row: row["moved_by"] or NONE, is_text=True),
        Column("state", lambda row: row["state"].replace("_", " "), is_text=True),
        Column(
            "partitions done", lambda row: f"{count(row['partitions_done'])} of {count(row['partitions'])}"
        ),
        number("to brokers", "destinations", count),
        number("moved MB", "bytes_moved", mb),
        number("to go MB", "bytes_to_go", mb),
        number("MB/s", "rate_bytes_per_s", mb),
        number("limit MB/s", "limit_bytes_per_s", mb),
        Column("forecast end, UTC", lambda row: instant(row["forecast_end_at"]), is_text=True),
        Column(
            "95 %",
            lambda row: f"{instant(row['forecast_low_at'])} to {instant(row['forecast_high_at'])}",
            is_text=True,
        ),
        Column("done at, UTC", lambda row: instant(row["ended_at"]), is_text=True),
        number("error of the forecast", "forecast_error", percent),
    ]
    lead = "A move is one reassignment. The forecast of a finished one is that of its half."
    sentences = bullets(said_of_moves(Answers(reassignment_progress=rows)))
    return section("Moves of replicas", lead, table("move-table", columns, rows), sentences, name="moves")


def _mb(value: float | None) -> float | None:
    return None if value is None else value / 1e6
