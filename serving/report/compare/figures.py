"""The figures of a comparison. The names of arms and runs are users' text, so they are shortened first."""

from collections.abc import Sequence
from math import log10

import plotly.graph_objects as go

from answers.drawing import ALARM, CALM, MUTED, instant_text, plain_name, styled
from verdicts.comparison import Comparison
from verdicts.metrics import METRICS
from verdicts.runs import RunFigures
from verdicts.verdict import JudgedMetric

PERCENTILES = (("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99), ("p999_ms", 0.999))
FEW = 4
MOST_DRAWN = 40
"""The maximum number of runs in a figure over time; of more runs the first ones are drawn."""


def strip(comparison: Comparison, judged: JudgedMetric) -> go.Figure:
    """Draw one metric of all runs: one point per run, one line per block."""
    figure, metric = go.Figure(), METRICS[judged.metric]
    names = _names(comparison)
    if comparison.is_blocked and judged.values:
        for pair in zip(judged.values.baseline, judged.values.contender, strict=False):
            line = {"color": MUTED, "width": 1}
            figure.add_trace(
                go.Scatter(x=names, y=pair, mode="lines", line=line, showlegend=False, hoverinfo="skip")
            )
    for nth, (name, runs) in enumerate(zip(names, (comparison.baseline, comparison.contender), strict=True)):
        points = [(run, value) for run in runs if (value := run.values.get(judged.metric)) is not None]
        figure.add_trace(
            go.Box(
                x=[name] * len(points),
                y=[value for _, value in points],
                text=[plain_name(run.run) for run, _ in points],
                boxpoints="all",
                pointpos=0,
                jitter=0.3 if not comparison.is_blocked else 0,
                marker={"color": _color(nth), "size": 9},
                line={"width": 1},
                showlegend=False,
                hovertemplate="%{text}: %{y}<extra></extra>",
            )
        )
    figure.update_yaxes(
        title=f"{judged.metric}{', ' + metric.unit if metric.unit else ''}", rangemode="tozero"
    )
    figure.update_xaxes(type="category")
    return styled(figure).update_layout(height=340)


def series(comparison: Comparison) -> go.Figure:
    """Draw the deciding metric of every run over time; a line marks a change within an arm."""
    figure, metric = go.Figure(), METRICS[comparison.deciding.metric]
    for nth, (name, runs) in enumerate(_arms(comparison)):
        points = sorted(
            (run.started_at, run.run, run.values.get(metric.name)) for run in runs if run.started_at
        )
        figure.add_trace(
            go.Scatter(
                x=[instant_text(at) for at, _, _ in points],
                y=[value for _, _, value in points],
                mode="lines+markers",
                line={"color": _color(nth), "width": 1},
                name=name,
                text=[plain_name(run) for _, run, _ in points],
                hovertemplate="%{text}: %{y}<extra>%{fullData.name}</extra>",
            )
        )
    for point in comparison.change_points:
        at = instant_text(point.at)
        figure.add_shape(
            type="line", x0=at, x1=at, y0=0, y1=1, yref="paper", line={"color": ALARM, "dash": "dot"}
        )
        text = f"{plain_name(point.run)}: {100 * point.change:+.1f} %"
        figure.add_annotation(x=at, y=1, yref="paper", text=text, showarrow=False, xanchor="left")
    figure.update_yaxes(title=f"{metric.name}{', ' + metric.unit if metric.unit else ''}", rangemode="tozero")
    return styled(figure).update_layout(height=320)


def has_series(comparison: Comparison) -> bool:
    """Return whether an arm has enough runs with an instant for a series."""
    return any(sum(run.started_at is not None for run in runs) > FEW for _, runs in _arms(comparison))


def over_time(comparison: Comparison, column: str, title: str) -> go.Figure:
    """Draw a figure of each window of each run; the tool prints no percentiles of windows."""
    figure = go.Figure()
    for nth, (name, runs) in enumerate(_arms(comparison)):
        drawn = [run for run in runs if run.windows][: MOST_DRAWN // 2]
        for place, run in enumerate(drawn):
            figure.add_trace(
                go.Scatter(
                    x=[window.at_s for window in run.windows],
                    y=[getattr(window, column) for window in run.windows],
                    mode="lines",
                    opacity=0.75,
                    line={"color": _color(nth), "width": 1.3},
                    name=name,
                    legendgroup=name,
                    showlegend=place == 0,
                    text=[plain_name(run.run)] * len(run.windows),
                    hovertemplate="%{text}, %{x:.0f} s: %{y:.2f} ms<extra>%{fullData.name}</extra>",
                )
            )
    for warm_up_s in sorted(
        {run.warm_up_s for _, runs in _arms(comparison) for run in runs if run.warm_up_s}
    ):
        figure.add_vline(x=warm_up_s, line={"dash": "dot", "color": MUTED}, annotation_text="warm-up ends")
    figure.update_yaxes(title=title, rangemode="tozero")
    figure.update_xaxes(title="seconds from the start of the run")
    return styled(figure).update_layout(height=320)


def quantiles(comparison: Comparison) -> go.Figure:
    """Draw the percentiles of each run on an axis of 1 - q, on which each tick is ten times rarer."""
    figure = go.Figure()
    for nth, (name, runs) in enumerate(_arms(comparison)):
        for place, run in enumerate(runs[: MOST_DRAWN // 2]):
            points = [(q, ms) for metric, q in PERCENTILES if (ms := run.values.get(metric)) is not None]
            figure.add_trace(
                go.Scatter(
                    x=[_rarity(q) for q, _ in points],
                    y=[max(ms, 0.5) for _, ms in points],
                    mode="lines+markers",
                    opacity=0.75,
                    line={"color": _color(nth), "width": 1.3},
                    name=name,
                    legendgroup=name,
                    showlegend=place == 0,
                    text=[plain_name(run.run)] * len(points),
                    hovertemplate="%{text}: %{y:.0f} ms<extra>%{fullData.name}</extra>",
                )
            )
    ticks = [q for _, q in PERCENTILES]
    figure.update_xaxes(
        title="log(1 / (1 - q))",
        tickvals=[_rarity(q) for q in ticks],
        ticktext=[f"{100 * q:g} %" for q in ticks],
    )
    figure.update_yaxes(title="ms", type="log", dtick="D2")
    return styled(figure).update_layout(height=360)


def has_percentiles(comparison: Comparison) -> bool:
    """Return whether both arms have a run with two percentiles."""
    enough = [
        any(sum(run.values.get(metric) is not None for metric, _ in PERCENTILES) > 1 for run in runs)
        for _, runs in _arms(comparison)
    ]
    return all(enough)


def _rarity(q: float) -> float:
    return log10(1 / (1 - q))


def _arms(comparison: Comparison) -> list[tuple[str, Sequence[RunFigures]]]:
    return list(zip(_names(comparison), (comparison.baseline, comparison.contender), strict=True))


def _names(comparison: Comparison) -> tuple[str, str]:
    names = plain_name(comparison.request.baseline), plain_name(comparison.request.contender)
    return names if names[0] != names[1] else (f"{names[0]} (baseline)", f"{names[1]} (contender)")


def _color(nth: int) -> str:
    return (CALM[0], CALM[3])[nth]
