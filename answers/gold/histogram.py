"""Histograms in SQL: buckets are added up, and quantiles are read from the sums (`schemas.histogram`)."""

import re
from collections.abc import Mapping

from schemas.histogram import GAMMA, LN_GAMMA, OFFSET, RANK_SLACK, SMALLEST_MS, Z_95

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
CREATE MACRO ratio(part, whole) AS CASE WHEN whole > 0 THEN part / whole END;
CREATE MACRO within_ms(ms, low, high) AS
    CASE WHEN ms IS NULL THEN NULL ELSE greatest(least(ms, high), low) END;
"""
"""`least` and `greatest` skip NULL, so a missing limit has no effect."""

_MACRO = re.compile(r"^CREATE MACRO (\w+)\(.*?;$", re.MULTILINE | re.DOTALL)
_BY_NAME = {found[1]: found[0] for found in _MACRO.finditer(MACROS)}


def with_macros(statement: str) -> str:
    """
    Return a statement with the macros that it needs before it, ready for DuckDB.

    >>> print(with_macros("SELECT ratio(1, 2)"))
    CREATE OR REPLACE MACRO ratio(part, whole) AS CASE WHEN whole > 0 THEN part / whole END;
    <BLANKLINE>
    SELECT ratio(1, 2)
    """
    texts = [statement]
    for name, macro in reversed(_BY_NAME.items()):  # a macro uses only macros before it
        if any(re.search(rf"\b{name}\(", text) for text in texts):
            texts.insert(0, macro.replace("CREATE MACRO", "CREATE OR REPLACE MACRO"))
    return "\n".join([*texts[:-1], "", statement]) if len(texts) > 1 else statement


_APART = 1 << 32
"""The distance of two keys in one number; a bucket is less than half of it."""


def added_up(source: str, by: str, hists: Mapping[str, str]) -> str:
    """
    Return the query of `by`, `metric`, bucket `k`, the count up to it (`seen`) and the `total`.

    The histograms of `source` are added up by `by`; `hists` gives the column of each metric.
    """
    is_same = " AND ".join(f"each.{name} IS NOT DISTINCT FROM keys.{name}" for name in by.split(", "))
    # Millions of buckets are added up: by one number and metric by metric, this takes a fifth of the time.
    added = " UNION ALL ".join(
        f"""
            SELECT '{metric}' AS metric, slot, sum(n)::BIGINT AS n
            FROM (
                SELECT key * {_APART} + unnest(map_keys({hist})) AS slot, unnest(map_values({hist})) AS n
                FROM {source} AS each JOIN keys ON {is_same}
            )
            GROUP BY slot"""
        for metric, hist in hists.items()
    )
    return f"""
        WITH keys AS MATERIALIZED (
            SELECT row_number() OVER (ORDER BY {by}) AS key, * FROM (SELECT DISTINCT {by} FROM {source})
        ),
        added AS (
            SELECT metric, (slot + {_APART // 2}) // {_APART} AS key, (slot - key * {_APART})::INTEGER AS k, n
            FROM ({added})
        ),
        counted AS (
            SELECT metric, key, k, sum(n) OVER (PARTITION BY key, metric ORDER BY k) AS seen,
                   sum(n) OVER (PARTITION BY key, metric) AS total
            FROM added
        )
        SELECT {by}, metric, k, seen, total FROM counted JOIN keys USING (key)"""


def at_rank(rank: str, metric: str | None = None) -> str:
    """Return the aggregate of the bucket at a rank, over the result of `added_up`."""
    of_metric = f"metric = '{metric}' AND " if metric else ""
    return f"min(k) FILTER (WHERE {of_metric}seen >= {rank})"
