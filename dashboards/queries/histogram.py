"""Histograms in DuckDB: buckets are added up, quantiles read off the sums; `transforms.histogram` in SQL."""

import math

RELATIVE_ERROR, SMALLEST_MS = 0.01, 1e-6
GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
LN_GAMMA = math.log(GAMMA)
OFFSET = 1 - math.ceil(math.log(SMALLEST_MS) / LN_GAMMA)
Z_95, RANK_SLACK = 1.959964, 1e-9

MACROS = f"""
CREATE MACRO power_ms(k, exponent) AS sign(k) * exp((abs(k) - {OFFSET} + exponent) * {LN_GAMMA!r});
CREATE MACRO bucket_ms(k) AS CASE WHEN k = 0 THEN 0.0 ELSE power_ms(k, 0) * {2 / (GAMMA + 1)!r} END;
CREATE MACRO edge_ms(k, outward) AS CASE
    WHEN k = 0 THEN outward * {SMALLEST_MS}
    WHEN sign(k) = outward THEN power_ms(k, 0)
    ELSE power_ms(k, -1) END;
CREATE MACRO rank_of(q, total) AS greatest(1, least(ceil(q * total - {RANK_SLACK}), total));
CREATE MACRO reach(q, blocks) AS {Z_95} * sqrt(q * (1 - q)) / sqrt(blocks);
CREATE MACRO low_rank(q, blocks, total) AS
    greatest(1, least(ceil((q - reach(q, blocks)) * total - {RANK_SLACK}), total));
CREATE MACRO high_rank(q, blocks, total) AS
    greatest(1, least(floor((q + reach(q, blocks)) * total + {RANK_SLACK}) + 1, total));
CREATE MACRO ratio(part, whole) AS part / nullif(whole, 0);
CREATE MACRO within_ms(ms, low, high) AS
    CASE WHEN ms IS NULL THEN NULL ELSE greatest(least(ms, high), low) END;
"""
"""`least` and `greatest` pass over NULL, so a missing bound bounds nothing."""


def added_up(source: str, by: str, hist: str) -> str:
    """
    Give the query of `by`, bucket `k`, `seen` up to it and `total`: the histograms of `source` added up.

    All three are words of our own; what a user wrote goes into parameters.
    """
    return f"""
        SELECT {by}, k, sum(n) OVER (PARTITION BY {by} ORDER BY k) AS seen,
               sum(n) OVER (PARTITION BY {by}) AS total
        FROM (
            SELECT {by}, k, sum(n) AS n
            FROM (SELECT {by}, unnest(map_keys({hist})) AS k, unnest(map_values({hist})) AS n FROM {source})
            GROUP BY ALL
        )"""


def at_rank(rank: str) -> str:
    """Give the aggregate that finds the bucket of a rank in what `added_up` gives."""
    return f"min(k) FILTER (WHERE seen >= {rank})"
