"""Histograms in SQL: buckets are added up, and quantiles are read from the sums (`schemas.histogram`)."""

import re
from collections.abc import Mapping
from types import MappingProxyType

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
CREATE MACRO sum_ms(ms) AS sum(round(ms * 1e6)::HUGEINT) / 1e6;
"""
"""
`least` and `greatest` skip NULL, so a missing limit has no effect. `sum_ms` adds whole nanoseconds: their sum
is the same in any order of the rows.
"""

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
"""The distance of two groups of buckets in one number; a bucket is less than half of it."""


def added_up(
    source: str,
    by: str,
    hists: Mapping[str, str],
    ranks: Mapping[str, str],
    sums: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """
    Return the query of one row for each value of `by`, with `sums` and the histograms added up.

    `hists` has the column of each metric, `sums` the expression of each further column. A rank is an
    expression of `total`, the number of values of a metric, and of the names in `sums`. The row has
    `METRIC_total` and the bucket at each rank, `METRIC_RANK`; both are NULL without values.
    """
    n, names = len(hists), by.split(", ")
    is_same = " AND ".join(f"each.{name} IS NOT DISTINCT FROM keys.{name}" for name in names)
    columns = ", ".join((by, *(f"{value} AS {name}" for name, value in sums.items())))
    # Millions of buckets are added up: by one number and metric by metric, this takes a fifth of the time.
    slots = " UNION ALL ".join(
        f"""
            SELECT slot, sum(n)::BIGINT AS n
            FROM (
                SELECT (key * {n} + {nth}) * {_APART} + unnest(map_keys({hist})) AS slot,
                       unnest(map_values({hist})) AS n
                FROM {source} AS each JOIN keys ON {is_same}
            )
            GROUP BY slot"""
        for nth, hist in enumerate(hists.values())
    )
    wanted = ", ".join(f"{rank} AS {name}" for name, rank in ranks.items())
    at_ranks = ", ".join(f"min(k) FILTER (WHERE seen >= ranks.{name}) AS {name}" for name in ranks)
    found = ", ".join(
        f"max({name}) FILTER (WHERE hist % {n} = {nth}) AS {metric}_{name}"
        for nth, metric in enumerate(hists)
        for name in ("total", *ranks)
    )
    # HAVING is always true. DuckDB then expects few keys and keeps them for the joins, not the histograms.
    return f"""
        WITH keys AS MATERIALIZED (
            SELECT row_number() OVER (ORDER BY {by}) AS key, *
            FROM (SELECT {columns} FROM {source} GROUP BY ALL HAVING count(*) > 0)
        ),
        added AS MATERIALIZED (
            SELECT (slot + {_APART // 2}) // {_APART} AS hist, (slot - hist * {_APART})::INTEGER AS k, n
            FROM ({slots})
        ),
        ranks AS (
            SELECT hist, total, {wanted}
            FROM (SELECT hist, sum(n)::BIGINT AS total FROM added GROUP BY hist)
            JOIN keys ON key = hist // {n}
        ),
        found AS (
            SELECT hist, any_value(total) AS total, {at_ranks}
            FROM (SELECT hist, k, sum(n) OVER (PARTITION BY hist ORDER BY k) AS seen FROM added)
            JOIN ranks USING (hist) GROUP BY hist
        )
        SELECT * EXCLUDE (key)
        FROM keys LEFT JOIN (SELECT hist // {n} AS key, {found} FROM found GROUP BY ALL) USING (key)"""
