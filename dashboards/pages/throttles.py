"""A4: what passed under each replication throttle, and how far moves of replicas are."""

from itertools import groupby

import plotly.graph_objects as go
from dash.development.base_component import Component

from dashboards.asked import DashboardRequest
from dashboards.parts import Column, graph, nothing, number, section, table, verdict
from dashboards.queries import throttles
from reports.answers import NONE
from reports.figures import CALM, MUTED, styled
from reports.page_text import count, decimal, instant
from reports.throttles import LIMITED_NAMES, mb
from schemas.rows import Row

OVER = 1.15
"""So far one 11 s may lie above a limit, as the report has it: a late line shifts a burst."""

FILL = "plumbline ingest and plumbline build-gold --follow"
JUDGED = (
    "Whether a throttle is kept, stuck, left over or ineffective, and why, is judged by plumbline report: "
    "docs/throttles.md derives every rule."
)


def page(asked: DashboardRequest) -> list[Component]:
    """Show throttles and moves."""
    limits, moves = throttles.limits(asked), throttles.moves(asked)
    if not limits and not moves:
        told = verdict("No throttle was set and no replica was moved in this span.", "calm")
        missing = nothing("neither a throttle nor a move was seen.", fill=FILL)
        return [told, section("Throttles", "", missing, name="throttles")]
    over = [row for row in limits if (row["of_limit"] or 0) > OVER]
    return [
        verdict(_sentence(limits, moves, over), "unsure" if over else "calm", [JUDGED]),
        *([_limits(asked, limits)] if limits else []),
        *([_moves(moves)] if moves else []),
    ]


def _sentence(limits: list[Row], moves: list[Row], over: list[Row]) -> str:
    under_way = [row for row in moves if row["state"] == "under_way"]
    moving = f" {_moved(under_way[-1])}" if under_way else ""
    if over:
        worst = max(over, key=lambda row: row["of_limit"])
        return (
            f"Broker {worst['broker_id']} {LIMITED_NAMES[worst['direction']]} up to "
            f"{mb(worst['best_window_bytes_per_s'])} MB/s over 11 s, {worst['of_limit']:.2f} times its limit "
            f"of {mb(worst['limit_bytes_per_s'])} MB/s.{moving}"
        )
    held = [row for row in limits if row["limit_bytes_per_s"] is not None]
    if held:
        return (
            f"No throttle was passed by more than {OVER - 1:.0%} over any 11 s: {_many(len(held))}.{moving}"
        )
    return f"No throttle was set.{moving}" if moving else "No throttle was set; moves are listed below."


def _many(n: int) -> str:
    return "1 limit" if n == 1 else f"{n} limits"


def _moved(row: Row) -> str:
    to_go = "" if row["bytes_to_go"] is None else f", {mb(row['bytes_to_go'])} MB to go"
    return (
        f"A move is under way: {count(row['partitions_done'])} of {count(row['partitions'])} partitions done"
        f"{to_go}."
    )


def _limits(asked: DashboardRequest, limits: list[Row]) -> Component:
    columns = [
        Column("broker", lambda row: f"broker {row['broker_id']}", is_text=True),
        Column("direction", lambda row: LIMITED_NAMES[row["direction"]], is_text=True),
        Column("in force since", lambda row: instant(row["limited_from"]), is_text=True),
        number("limit MB/s", "limit_bytes_per_s", mb),
        number("most in 11 s MB/s", "best_window_bytes_per_s", mb),
        number("of the limit", "of_limit", decimal),
        Column("a list names it", lambda row: "yes" if row["is_listed"] else "no", is_text=True),
        number("catching up MB", "catching_up_bytes", mb),
        number("in sync MB", "in_sync_bytes", mb),
        number("not listed MB", "unlisted_bytes", mb),
        number("lag, records", "lag_records", count),
    ]
    listed = table("throttle-table", columns, limits, mark=lambda row: (row["of_limit"] or 0) > OVER)
    drawn = graph("throttle-rates", _rates(throttles.traffic(asked)), "Throttled bytes a second over time.")
    lead = "Throttled bytes a second by broker and direction; a dotted line is the limit."
    return section("Throttles", lead, drawn, listed, name="throttles")


def _rates(rows: list[Row]) -> go.Figure:
    figure = go.Figure()
    ordered = sorted(rows, key=lambda row: (row["broker_id"], row["direction"], row["window_start"]))
    for nth, (key, group) in enumerate(
        groupby(ordered, key=lambda row: (row["broker_id"], row["direction"]))
    ):
        series, color = list(group), CALM[nth % len(CALM)]
        name = f"broker {key[0]} {LIMITED_NAMES[key[1]]}"
        instants = [f"{row['window_start']:%Y-%m-%d %H:%M:%S}" for row in series]
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


def _moves(moves: list[Row]) -> Component:
    columns = [
        Column("asked at, UTC", lambda row: instant(row["moved_at"]), is_text=True),
        Column("by", lambda row: row["moved_by"] or NONE, is_text=True),
        Column("state", lambda row: row["state"].replace("_", " "), is_text=True),
        Column(
            "partitions done", lambda row: f"{count(row['partitions_done'])} of {count(row['partitions'])}"
        ),
        number("to brokers", "destinations", count),
        number("moved MB", "bytes_moved", mb),
        number("to go MB", "bytes_to_go", mb),
        number("MB/s", "rate_bytes_per_s", mb),
        Column("done at, UTC", lambda row: instant(row["ended_at"]), is_text=True),
    ]
    lead = "A move is one reassignment. When it will be done is forecast by plumbline report."
    return section("Moves of replicas", lead, table("move-table", columns, moves), name="moves")


def _mb(value: float | None) -> float | None:
    return None if value is None else value / 1e6
