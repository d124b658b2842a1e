"""Latency over time as a heat map: how many round trips or fetches fell into each range of latency."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import ceil, log10

import plotly.graph_objects as go

from answers.drawing import instant_text, styled
from answers.formats import count, ms
from answers.gold.selection import (
    IN_SPAN,
    OF_CLIENT,
    OF_EITHER_BROKER,
    OF_PAIRS,
    WINDOW,
    BrokerPair,
    GoldSelection,
    keys_of,
)
from schemas.rows import Row

MOST_STEPS = 400
PER_DECADE = 10
LOWEST_MS, HIGHEST_MS = 0.01, 10_000.0
"""Latencies below and above have one range each: 62 ranges at most."""

_LOWEST, _HIGHEST = (round(PER_DECADE * log10(edge_ms)) for edge_ms in (LOWEST_MS, HIGHEST_MS))

BLUE_TO_YELLOW = [[0.0, "#3b5488"], [0.25, "#5f6f80"], [0.5, "#8b8a77"], [0.75, "#c0a957"], [1.0, "#f2ca35"]]
"""Like cividis: each colour is lighter than the last one, also for colour-blind people and in print."""

_ROUND_TRIPS = f"""
    SELECT window_start, rtt_hist AS hist FROM gold.broker_rtt
    WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_PAIRS} AND method = $method"""


def _fetches(metric: str) -> str:
    return f"""
    SELECT window_start, {metric}_hist AS hist FROM gold.fetch_latency
    WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_CLIENT} AND {OF_PAIRS} AND kind = $kind"""


def _counts(source: str) -> str:
    """Return the query of the counts by step and range of latency, from the histograms of `source`."""
    # Buckets are added up first: the logarithm of each row would take most of the time.
    return f"""
    SELECT step_at, step_at + to_seconds($step_s) AS step_until,
           CASE WHEN nth < {_LOWEST} THEN 0.0 ELSE power(10, nth / {PER_DECADE}) END::DOUBLE AS low_ms,
           CASE WHEN nth < {_HIGHEST} THEN power(10, (nth + 1) / {PER_DECADE}) END::DOUBLE AS high_ms,
           sum(n)::BIGINT AS n
    FROM (
        SELECT step_at, n, least(greatest(
            floor({PER_DECADE} * log10(greatest(bucket_ms(k), {LOWEST_MS} / 10))), {_LOWEST - 1}), {_HIGHEST}
        ) AS nth
        FROM (
            SELECT step_at, k, sum(n) AS n
            FROM (
                SELECT time_bucket(to_seconds($step_s), window_start) AS step_at,
                       unnest(map_keys(hist)) AS k, unnest(map_values(hist)) AS n
                FROM ({source})
            )
            GROUP BY ALL
        )
    )
    GROUP BY step_at, nth HAVING sum(n) > 0 ORDER BY step_at, nth"""


def round_trips(
    selection: GoldSelection, method: str, pairs: Collection[BrokerPair] | None = None
) -> list[Row]:
    """
    Return the number `n` of round trips by step and range of latency, `low_ms` to `high_ms`.

    A range contains whole buckets of the histograms, so its ends are exact to 1 %. The lowest range begins
    at 0, the highest has no end. A step is that of the selection, or longer: there are at most `MOST_STEPS`.
    """
    return _counted(selection, _ROUND_TRIPS, method=method, pairs=keys_of(pairs))


def fetches(selection: GoldSelection, kind: str, pairs: Collection[BrokerPair] | None = None) -> list[Row]:
    """
    Return the number of fetches like `round_trips`; `kind` is one of `fetch_latency`.

    `metric` is `true`, the latency at the follower, or `leader_local` if no follower's log is there.
    """
    for metric in ("true", "leader_local"):
        if rows := _counted(selection, _fetches(metric), kind=kind, pairs=keys_of(pairs)):
            return [{**row, "metric": metric} for row in rows]
    return []


def _counted(selection: GoldSelection, source: str, **more: str | list[int] | None) -> list[Row]:
    [ends] = selection.rows(
        f"SELECT min(window_start) AS first, max(window_start) AS last FROM ({source})", **more
    )
    if ends["first"] is None:
        return []
    # Steps begin at multiples of their length, so the ends of the span are in two more of them.
    least = ceil((ends["last"] - ends["first"]) / (MOST_STEPS - 2) / WINDOW) * WINDOW
    return replace(selection, step=max(selection.step, least)).rows(_counts(source), **more)


def figure(rows: Sequence[Row], words: str) -> go.Figure:
    """Return the counts by time and latency, in ms on a log axis; `words` say what was measured."""
    drawn = go.Figure()
    if rows:
        drawn.add_trace(_heat_map(rows))
    drawn.update_xaxes(type="date", showgrid=False)
    drawn.update_yaxes(title=f"{words}, ms", type="log", dtick=1, tickformat="~g", showgrid=False)
    return styled(drawn).update_layout(height=380)


def _heat_map(rows: Sequence[Row]) -> go.Heatmap:
    step = rows[0]["step_until"] - rows[0]["step_at"]
    first, last = min(row["step_at"] for row in rows), max(row["step_at"] for row in rows)
    lowest, highest = min(map(_nth, rows)), max(map(_nth, rows))
    columns = round((last - first) / step) + 1
    z: list[list[float | None]] = [[None] * columns for _ in range(lowest, highest + 1)]
    hovers = [[""] * columns for _ in z]
    for row in rows:
        at = round((row["step_at"] - first) / step)
        z[_nth(row) - lowest][at] = log10(row["n"])
        hovers[_nth(row) - lowest][at] = _hover(row)
    most = max(row["n"] for row in rows)
    return go.Heatmap(
        x=[instant_text(first + nth * step) for nth in range(columns + 1)],  # edges
        y=[10 ** (nth / PER_DECADE) for nth in range(lowest, highest + 2)],
        z=z,
        zmin=0.0,
        zmax=max(1.0, log10(most)),
        colorscale=BLUE_TO_YELLOW,
        colorbar=_color_bar(most),
        hovertext=hovers,
        hoverinfo="text",
        hoverongaps=False,
    )


def _nth(row: Row) -> int:
    """Return the number of the range of a row; 0 begins at 1 ms."""
    return round(PER_DECADE * log10(row["low_ms"])) if row["low_ms"] else _LOWEST - 1


def _color_bar(most: int) -> Row:
    counts = [figure * 10**power for power in range(ceil(log10(most)) + 1) for figure in (1, 3)]
    shown = [n for n in counts if n <= max(most, 10)]
    return {
        "title": {"text": "n"},
        "tickvals": [log10(n) for n in shown],
        "ticktext": [count(n) for n in shown],
        "thickness": 10,
        "outlinewidth": 0,
    }


def _hover(row: Row) -> str:
    since, until = (instant_text(row[name]) for name in ("step_at", "step_until"))
    to = " and more" if row["high_ms"] is None else f" to {_edge(row['high_ms'])} ms"
    return f"{since} to {until.split()[1]} UTC<br>{_edge(row['low_ms'])} ms{to}<br>n {count(row['n'])}"


def _edge(value: float) -> str:
    return f"{value:.3g}" if value < 1 else ms(value)
