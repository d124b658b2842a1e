"""A2: the round-trip time of each ordered pair of brokers, from replica fetches."""

import numpy as np
import pyarrow as pa

from schemas.gold.broker_rtt import COARSE_MS, MIN_N_P10, MIN_N_P50
from schemas.histogram import RELATIVE_ERROR
from transforms.gold.fetch_latency.pairing import MONO_RESOLUTION_MS, SHORTEST_MS
from transforms.quantiles import Histograms
from transforms.sql import bucket, numbered, sum_ms, with_columns
from transforms.windows import WINDOW_S

BLOCK_MS = 200
"""The length of a block. Fetches of a block are not independent, so the interval counts blocks."""

LONGEST_MS = 10_000.0
"""The longest valid round trip; the shortest is `SHORTEST_MS`. Others are clock steps or idle fetchers."""

LOOKBACK_S = 40
"""The maximum distance of the previous fetch: `MAX_ELAPSED_S` of total and `LONGEST_MS` of gap."""


def trips(fetches: str = "fetches") -> str:
    """
    Return the query of each round trip, `paired` and `passive`, over the result of `pairing.fetches`.

    Paired: elapsed at the follower minus `total - send` of the leader. Both are durations, so no clocks are
    compared. Passive: the time from the end of a fetch to the start of the next one on the connection, by the
    leader's clock (monotonic nanoseconds if both lines have them); NULL if they are not adjacent. It includes
    the follower's work between two fetches.
    """
    # Responses of a connection are in order, so time also orders ids that restart at 0.
    order = "PARTITION BY fetcher ORDER BY logged_us, correlation_id"
    of_fetchers = numbered(fetches, "cluster, leader_id, connection, client_id", "fetcher")
    pair = "cluster, window_s, follower_id, leader_id, logged_us"
    is_adjacent = (
        f"id_before + 1::BIGINT = correlation_id AND abs(logged_us - us_before) <= {LOOKBACK_S} * 1000000"
    )
    gap_ms = "coalesce((logged_mono_ns - mono_before) / 1e6, (logged_us - us_before) / 1e3) - total_ms"
    resolution_ms = f"""CASE WHEN logged_mono_ns - mono_before IS NOT NULL THEN {MONO_RESOLUTION_MS}
        ELSE greatest(clock_resolution_ms, resolution_before) END"""
    return f"""
        WITH after AS (
            SELECT
                *, lag(correlation_id) OVER before AS id_before, lag(logged_us) OVER before AS us_before,
                lag(logged_mono_ns) OVER before AS mono_before,
                lag(clock_resolution_ms) OVER before AS resolution_before
            FROM ({of_fetchers}) WHERE kind = 'follower' WINDOW before AS ({order})
        ),
        found AS (
            SELECT {pair}, 'paired' AS method, elapsed_ms - (total_ms - send_ms) AS rtt_ms,
                elapsed_resolution_ms AS clock_resolution_ms FROM after
            UNION ALL
            SELECT {pair}, 'passive', CASE WHEN {is_adjacent} THEN {gap_ms} END, {resolution_ms} FROM after
        )
        SELECT * FROM found WHERE isfinite(rtt_ms) AND rtt_ms BETWEEN {SHORTEST_MS} AND {LONGEST_MS}
    """


def broker_rtt(wanted: str = "true") -> str:
    """
    Return the query of one row per window, pair and method, over `fetches` from `LOOKBACK_S` before.

    `wanted` is a condition of the round trips.
    """
    block = f"logged_us % {WINDOW_S * 1_000_000} // {BLOCK_MS * 1_000}"
    return f"""
        SELECT
            cluster, window_s, follower_id, leader_id, method, count(*) AS n,
            count(DISTINCT {block}) AS blocks, histogram({bucket("rtt_ms")})::MAP(INT, BIGINT) AS rtt_hist,
            {sum_ms("rtt_ms")} AS rtt_sum_ms, min(rtt_ms) AS rtt_min_ms, max(rtt_ms) AS rtt_max_ms,
            max(clock_resolution_ms) AS clock_resolution_ms
        FROM ({trips()}) WHERE {wanted} GROUP BY cluster, window_s, follower_id, leader_id, method
    """


def with_estimates(rows: pa.Table) -> pa.Table:
    """Add the quantiles, the estimate and its interval to the rows of windows."""
    hists, n, blocks = Histograms(rows["rtt_hist"]), rows["n"].to_numpy(), rows["blocks"].to_numpy()
    low, high = (rows[f"rtt_{end}_ms"].to_numpy() for end in ("min", "max"))
    is_p10 = (n >= MIN_N_P10) & (rows["clock_resolution_ms"].to_numpy() < COARSE_MS)
    is_p50 = ~is_p10 & (n >= MIN_N_P50)
    found = {q: (hists.quantile(q, low, high), *hists.interval(q, blocks)) for q in (0.1, 0.5)}
    estimate = [
        np.where(is_p10, of_p10, np.where(is_p50, of_p50, np.nan))
        for of_p10, of_p50 in zip(found[0.1], found[0.5], strict=True)
    ]
    values = {
        "rtt_p10_ms": found[0.1][0],
        "rtt_p50_ms": found[0.5][0],
        "rtt_p99_ms": hists.quantile(0.99, low, high),
        **dict(zip(("rtt_ms", "rtt_low_ms", "rtt_high_ms"), estimate, strict=True)),
        "relative_error": np.full(len(rows), RELATIVE_ERROR),
    }
    names = ["p10" if low else "p50" if middle else None for low, middle in zip(is_p10, is_p50, strict=True)]
    columns = {name: pa.array(column, from_pandas=True) for name, column in values.items()}
    return with_columns(rows, {"estimator": pa.array(names, pa.string()), **columns})
