"""The figure of partition skew."""

from collections.abc import Sequence

import plotly.graph_objects as go

from answers.clients import who
from answers.drawing import ALARM, CALM, plain_name, styled
from answers.partition_skew.sentences import measured
from schemas.rows import Row


def shares(partitions: Sequence[Row], summaries: Sequence[Row]) -> go.Figure:
    """Return each partition's share of a client's bytes, one column per client; the slow leader's in red."""
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


def _key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("topic", "client_id", "run", "method"))


def _of_partition(row: Row) -> str:
    where = "node" if row["partition"] is None else f"partition {row['partition']} of broker"
    run = f", run {row['run']}" if row["run"] else ""
    return plain_name(f"{where} {row['leader_id']}") + plain_name(run)
