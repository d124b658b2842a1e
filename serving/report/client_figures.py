"""The figures about clients. Names come from users here, so what a name may hold is cut down first."""

import re
from collections.abc import Sequence

import plotly.graph_objects as go

from answers.clients import by_client, version_of, who
from answers.partition_skew.sentences import measured
from schemas.gold.leader_redirect import DISCONNECT
from schemas.rows import Row
from serving.report.figures import ALARM, CALM, WINDOW, _instant, styled

LONGEST_NAME, MOST_CLIENTS, MOST_PARTITIONS = 40, 24, 60
ODD = re.compile(r"[^\w .:+-]+")


def plain_name(text: str) -> str:
    """
    Make a user's text one that a figure may show: plotly reads some HTML in names.

    >>> plain_name("<a href='x'>orders-app</a>")
    '·a href·x·orders-app·a·'
    """
    return ODD.sub("·", text)[:LONGEST_NAME]


def shares(partitions: Sequence[Row], summaries: Sequence[Row]) -> go.Figure:
    """Draw each partition's share of a client's bytes, a column a client; the slowest leader's in red."""
    partitions, summaries = measured(partitions), measured(summaries)
    slowest = {_key(row): row["slowest_leader_id"] for row in summaries if row["slow_by"]}
    figure = go.Figure()
    for is_slow, name, color in ((False, "other leaders", CALM[0]), (True, "the slowest leader", ALARM)):
        shown = [
            row
            for row in partitions
            if row["share"] is not None
            and row["leader_id"] is not None
            and (slowest.get(_key(row)) == row["leader_id"]) is is_slow
        ]
        figure.add_trace(
            go.Scatter(
                x=[plain_name(who(row)) for row in shown],
                y=[row["share"] for row in shown],
                name=name,
                mode="markers",
                marker={
                    "color": color,
                    "size": 11,
                    "opacity": 0.75,
                    "symbol": "diamond" if is_slow else "circle",
                },
                text=[_of_partition(row) for row in shown],
                hovertemplate="%{x}<br>%{text}<br>share %{y:.3f}<extra></extra>",
            )
        )
    for even in sorted({1 / row["partitions"] for row in summaries if row["partitions"]}):
        figure.add_hline(y=even, line={"dash": "dot", "width": 1}, annotation_text="even")
    figure.update_yaxes(title="share of bytes", rangemode="tozero", tickformat=".0%")
    figure.update_xaxes(type="category", automargin=True)
    return styled(figure).update_layout(height=380, xaxis={"tickangle": -20}, legend={"y": -0.35})


def redirect_times(events: Sequence[Row]) -> go.Figure:
    """Draw every redirect, one line of points a client version: whole, and the client's part of it."""
    figure = go.Figure()
    ended = [row for row in events if row["redirect_ms"] is not None and row["kind"] != DISCONNECT]
    for column, name, color in (
        ("redirect_ms", "first error to first success", CALM[0]),
        ("client_part_ms", "the client's part", CALM[3]),
    ):
        shown = [row for row in ended if row[column] is not None]
        figure.add_trace(
            go.Box(
                x=[max(row[column], 0.1) for row in shown],
                y=[plain_name(f"{version_of(row)} {row['api']}") for row in shown],
                name=name,
                orientation="h",
                boxpoints="all",
                jitter=0.6,
                pointpos=0,
                marker={"size": 4, "opacity": 0.5, "color": color},
                line={"width": 1.4},
                fillcolor="rgba(0,0,0,0)",
            )
        )
    versions = {f"{version_of(row)} {row['api']}" for row in ended}
    figure.update_xaxes(title="ms", type="log", dtick=1)
    figure.update_yaxes(type="category", categoryorder="category descending", automargin=True)
    figure.update_layout(boxmode="group")
    return styled(figure).update_layout(height=140 + 80 * max(1, len(versions)))


def lookups_over_time(windows: Sequence[Row]) -> go.Figure:
    """Draw the topics that a lookup asks for, window by window, a line a client."""
    figure = go.Figure()
    groups = sorted(by_client(windows).items(), key=lambda group: -sum(r["topics_asked"] for r in group[1]))
    for nth, (name, rows) in enumerate(groups[:MOST_CLIENTS]):
        ordered = sorted(rows, key=lambda row: row["window_start"])
        figure.add_trace(
            go.Scatter(
                x=[_instant(row["window_start"] + WINDOW / 2) for row in ordered],
                y=[_per_lookup(row) for row in ordered],
                name=plain_name(name),
                mode="lines+markers",
                line={"color": CALM[nth % len(CALM)], "width": 1.8},
                hovertemplate="%{y:.1f} topics a lookup<extra>%{fullData.name}</extra>",
            )
        )
    figure.update_yaxes(title="topics a lookup", rangemode="tozero")
    return styled(figure).update_layout(height=340, showlegend=True)


def _per_lookup(row: Row) -> float | None:
    named = row["lookups"] - row["all_topics_lookups"]
    per_lookup: float | None = row["topics_asked"] / named if named else None
    return per_lookup


def _key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("topic", "client_id", "run", "method"))


def _of_partition(row: Row) -> str:
    where = "node" if row["partition"] is None else f"partition {row['partition']} of broker"
    run = f", run {row['run']}" if row["run"] else ""
    return plain_name(f"{where} {row['leader_id']}") + plain_name(run)
