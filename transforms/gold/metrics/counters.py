"""The increase of counters between two scrapes, with resets after a restart, as SQL."""

from collections.abc import Sequence

from transforms.sql import finite
from transforms.windows import Reach

BRIDGED_S = 300
"""
The maximum distance of neighbouring samples. The increase over a longer gap has no meaningful time.

Therefore an increase that ends in a window depends on no sample older than this.
"""

REACH = Reach(lookback_s=BRIDGED_S)

STARTED = "process_start_s"
"""The meaning, and the column, of the start of the process that exposed a value, in epoch seconds."""

SAME_START_S = 1.0
"""Starts that differ by less are equal, because exporters round them differently."""


def increases(samples: str, *keep: str) -> str:
    """
    Return the query of the increase of each series between neighbouring samples.

    `samples` is a query with cluster, series_id, at_us, value, the columns to `keep`, and process_start_s
    (see `with_process_start`). The result has `from_us`, `to_us`, `is_reset` and `value_increase`, which is
    NULL or at least 0 (see `steps`).
    """
    return steps(samples, ("cluster", "series_id", *keep), ("value",))


def steps(
    samples: str,
    by: Sequence[str],
    counters: Sequence[str],
    derived: Sequence[str] = (),
    carried: Sequence[str] = (),
) -> str:
    """
    Return the query of the increases of counters that are scraped together, between neighbouring scrapes.

    A row with a NaN, infinite, negative or NULL value is ignored; the next complete row spans the gap.
    Duplicate and late rows do not change the result.

    A reset (`is_reset`) is a decrease of a counter or a later start of the process. After a reset
    `*_increase` is the whole value, and `from_us` is the start of the process if known, but never before the
    previous sample. The same applies to a first sample whose process is less than `BRIDGED_S` old; any other
    first sample has no row. If the process started *earlier* than the previous one, another process has the
    same name, and the increase is NULL.

    `derived` are sums that restart with the counters and may decrease without a reset. For `carried`
    columns, `*_from` is the value of the previous sample (0 at a reset) and `*_to` the value of this one.
    """
    values, key = (*counters, *derived, *carried), ", ".join(by)
    valid = ", ".join(f"max({counted(name)}) AS {name}" for name in (*values, STARTED))
    before = ", ".join(f"lag({name}) OVER series AS previous_{name}" for name in (*values, "at_us", STARTED))
    fell = "".join(f" OR coalesce({name} < previous_{name}, false)" for name in counters)
    columns = [
        *(f"{_increase(name)} AS {name}_increase" for name in (*counters, *derived)),
        *(f"CASE WHEN is_reset THEN 0 ELSE previous_{name} END AS {name}_from" for name in carried),
        *(f"{name} AS {name}_to" for name in carried),
    ]
    return f"""
        SELECT {key}, {_FROM_US} AS from_us, at_us AS to_us, {", ".join(columns)}, is_reset
        FROM (
            SELECT
                *, coalesce((at_us - previous_at_us) / 1e6 <= {BRIDGED_S}, false) AS is_near,
                {_moved(1)} AS is_later, {_moved(-1)} AS is_earlier,
                NOT is_near OR is_later OR is_earlier{fell} AS is_reset
            FROM (
                SELECT *, {before} FROM (
                    SELECT * REPLACE ({_FILLED_START} AS {STARTED})
                    FROM (SELECT {key}, at_us, {valid} FROM ({samples}) GROUP BY {key}, at_us)
                    WHERE {" AND ".join(f"{name} IS NOT NULL" for name in values)}
                    WINDOW series AS (PARTITION BY {key} ORDER BY at_us)
                ) WINDOW series AS (PARTITION BY {key} ORDER BY at_us)
            )
        )
        WHERE is_near OR coalesce(at_us / 1e6 - {STARTED} <= {BRIDGED_S}, false)
    """


def with_process_start(samples: str, starts: str) -> str:
    """
    Return the query of samples with `process_start_s` of the same node and instant.

    `starts` is a query with cluster, node, at_us and value of the series that mean `process_start_s`.
    """
    known = f"SELECT cluster, node, at_us, max(value) AS {STARTED} FROM ({starts}) GROUP BY ALL"
    return f"SELECT * FROM ({samples}) LEFT JOIN ({known}) USING (cluster, node, at_us)"


def counted(value: str) -> str:
    """
    Return the value if it is a valid counter value, else NULL.

    >>> import duckdb
    >>> values = "SELECT unnest(['7', '0', '-1', 'nan', '-inf', NULL])::DOUBLE AS value"
    >>> duckdb.sql(f"SELECT list({counted('value')}) FROM ({values})").fetchall()
    [([7.0, 0.0, None, None, None, None],)]
    """
    return f"(CASE WHEN {value} >= 0 THEN {finite(value)} END)"


# The start of the process from its neighbours, if it is missing: the next known start applies if it is not
# after the sample; otherwise the previous one does.
_FOLLOWING = (
    f"first_value({STARTED} IGNORE NULLS) OVER (series ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
)
_BEFORE = f"last_value({STARTED} IGNORE NULLS) OVER (series ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
_FILLED_START = (
    f"CASE WHEN {_FOLLOWING} <= at_us / 1e6 THEN {_FOLLOWING} ELSE coalesce({STARTED}, {_BEFORE}) END"
)

# The previous sample, or the start of a newer process.
_STARTED_US = f"least(round({STARTED} * 1e6)::BIGINT, at_us)"
_FROM_US = f"""CASE WHEN {STARTED} IS NOT NULL AND (is_later OR NOT is_near)
    AND coalesce({_STARTED_US} > previous_at_us, true) THEN {_STARTED_US} ELSE previous_at_us END"""


def _moved(way: int) -> str:
    """Return whether the process started later (1) or earlier (-1) than the previous one."""
    # If only this start is known, it is after the previous sample: see `_FILLED_START`.
    return f"coalesce(({STARTED} - coalesce(previous_{STARTED}, 0)) * {way} > {SAME_START_S}, false)"


def _increase(name: str) -> str:
    since_start = f"CASE WHEN NOT (is_near AND is_earlier) THEN {name} END"
    return f"CASE WHEN is_reset THEN {since_start} ELSE {name} - previous_{name} END"
