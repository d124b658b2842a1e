"""Long series of performance tests, as nightly runs are: one arm over time, and where it changed."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from answers.drawing import ALARM, CALM, MUTED, instant_text, plain_name, styled
from schemas.rows import Row

FEW = 4
"""The maximum number of runs without a figure; more runs are a series."""

DRAWN = "p99_ms"
COLORS = (*CALM, MUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeries:
    """The runs of one arm of a scenario, oldest first; rows of `gold.perf_runs`, one a run."""

    scenario: str | None
    arm: str | None
    rows: Sequence[Row]

    @property
    def name(self) -> str:
        """Its name in a figure, without what a user's name must not contain."""
        return plain_name(" ".join(part for part in (self.scenario, self.arm) if part) or "unnamed")


def series_of(summaries: Sequence[Row]) -> list[RunSeries]:
    """
    Group the summary lines by scenario and arm, the longest series first.

    The summary line of the whole run counts, because not all tools print one of the steady state. Lines
    without an instant are left out.
    """
    runs: dict[tuple[str | None, str | None], dict[str | None, Row]] = {}
    for row in summaries:
        if row["logged_at"] is not None and not row["is_steady_state"]:
            runs.setdefault((row.get("scenario"), row["arm"]), {})[row["run"]] = row
    found = [
        RunSeries(
            scenario=scenario,
            arm=arm,
            rows=sorted(by_run.values(), key=lambda row: (row["logged_at"], row["run"] or "")),
        )
        for (scenario, arm), by_run in runs.items()
    ]
    return sorted(found, key=lambda one: (-len(one.rows), one.name))


def runs_over_time(summaries: Sequence[Row], changes: Sequence[Row]) -> go.Figure | None:
    """Draw each run's p99 over time, with a dotted line where an arm changed; None if there are few runs."""
    shown = [one for one in series_of(summaries) if len(one.rows) > FEW][: len(COLORS)]
    if not shown:
        return None
    figure = go.Figure()
    for one, color in zip(shown, COLORS, strict=False):
        figure.add_trace(
            go.Scatter(
                x=[instant_text(row["logged_at"]) for row in one.rows],
                y=[row[DRAWN] for row in one.rows],
                mode="lines+markers",
                line={"color": color, "width": 1},
                name=one.name,
                text=[plain_name(row["run"] or "") for row in one.rows],
                hovertemplate="%{text}: %{y} ms<extra>%{fullData.name}</extra>",
            )
        )
    drawn = {(one.scenario, one.arm) for one in shown}
    for row in changes:
        if row["metric"] == DRAWN and (row["scenario"], row["arm"]) in drawn:
            at, text = (
                instant_text(row["changed_at"]),
                f"{plain_name(row['run'])}: {100 * row['change']:+.1f} %",
            )
            line = {"color": ALARM, "dash": "dot"}
            figure.add_shape(type="line", x0=at, x1=at, y0=0, y1=1, yref="paper", line=line)
            figure.add_annotation(x=at, y=1, yref="paper", text=text, showarrow=False, xanchor="left")
    figure.update_yaxes(title="p99 ms", rangemode="tozero")
    return styled(figure).update_layout(height=320)
