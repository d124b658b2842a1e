"""A1: fetch latency without the wait in purgatory (KIP-736)."""

import numpy as np
import pyarrow as pa

from schemas.histogram import RELATIVE_ERROR
from transforms.quantiles import Histograms
from transforms.sql import bucket, finite, numbered, sum_ms, with_columns

GRAIN = "cluster, window_s, leader_id, kind, follower_id, client_id"
METRICS = {
    "total": "total_ms",
    "remote": "remote_ms",
    "leader_local": "total_ms - remote_ms",
    "true": "elapsed_ms - remote_ms",
}
"""The measurements of one fetch. A true latency needs the follower's log."""

DELAYED = ("leader_local", "true")
"""The metrics with a histogram of delayed fetches. All minus these are the immediate ones."""


def fetch_latency(wanted: str = "true") -> str:
    """
    Return the query of one row per window, leader and fetcher, over `fetches` (`pairing.fetches`).

    `wanted` is a condition of the fetches. A fetch without a total still counts.
    """
    values = (f"{finite(value)} AS {metric}_ms_of" for metric, value in METRICS.items())
    return f"""
        WITH each AS MATERIALIZED (
            SELECT * FROM ({numbered("fetches", GRAIN, "grain")}) WHERE {wanted}
        )
        SELECT figures.* EXCLUDE (grain), {GRAIN} FROM (
            SELECT
                grain, count(*) AS n, count(*) FILTER (remote_ms > 0) AS n_delayed,
                count(true_ms_of) AS n_true,
                {", ".join(column for metric in METRICS for column in _of_metric(metric))}
            FROM (SELECT grain, remote_ms, {", ".join(values)} FROM each) GROUP BY grain
        ) AS figures JOIN (SELECT DISTINCT grain, {GRAIN} FROM each) USING (grain)
    """


def with_quantiles(rows: pa.Table) -> pa.Table:
    """Add the quantiles and the relative error."""
    columns: dict[str, pa.Array] = {}
    for metric in METRICS:
        hists = Histograms(rows[f"{metric}_hist"])
        low, high = (rows[f"{metric}_{end}_ms"].to_numpy() for end in ("min", "max"))
        for name, q in (("p50", 0.5), ("p99", 0.99)):
            columns[f"{metric}_{name}_ms"] = pa.array(hists.quantile(q, low, high), from_pandas=True)
    return with_columns(rows, {**columns, "relative_error": pa.array(np.full(len(rows), RELATIVE_ERROR))})


def _of_metric(metric: str) -> list[str]:
    value = f"{metric}_ms_of"
    columns = [
        f"histogram({bucket(value)})::MAP(INT, BIGINT) AS {metric}_hist",
        f"{sum_ms(value)} AS {metric}_sum_ms",
        f"min({value}) AS {metric}_min_ms",
        f"max({value}) AS {metric}_max_ms",
    ]
    if metric in DELAYED:
        delayed = f"histogram({bucket(value)}) FILTER (remote_ms > 0)"
        # With values but without delayed fetches the histogram is empty, not NULL.
        empty = f"CASE WHEN count({value}) > 0 THEN MAP {{}}::MAP(INT, UBIGINT) END"
        columns.append(f"coalesce({delayed}, {empty})::MAP(INT, BIGINT) AS {metric}_delayed_hist")
    return columns
