"""A1 without a request log: sums of `gold.leader_local_mean` over a time range, compared with the log."""

from answers.selection import IN_SPAN, GoldSelection
from schemas.rows import Row
from transforms.gold.leader_local_mean.intervals import BY
from transforms.gold.leader_local_mean.table import MEANS, OF_LOG, OF_METRICS, counts_apart, tolerance_ms

SAME_REQUESTS = 0.05
"""If the numbers of requests differ by a larger share, a part of the log is missing."""

COVERED = 0.8
"""If the log has a smaller share of a window's requests, the log does not cover the window."""

_IS_SUMMED = "total_sum_ms IS NOT NULL"
_IS_COVERED = f"{_IS_SUMMED} AND log_n >= n * {COVERED}"
_SUMS = ", ".join(
    (
        # A node without a Mean still has counts.
        *(f"coalesce(sum({name}) FILTER ({_IS_SUMMED}), sum({name})) AS {name}" for name in OF_METRICS),
        *(f"sum({name}) FILTER ({_IS_COVERED}) AS covered_{name}" for name in OF_METRICS),
        *(f"sum({name}) FILTER ({_IS_COVERED}) AS {name}" for name in OF_LOG),
        *(f"{value} AS {name}" for name, value in counts_apart("from_at", "to_at").items()),
    )
)
_OF_SAME = """covered_total_sum_ms / nullif(covered_n, 0)
    - covered_remote_sum_ms / nullif(covered_n_remote, 0)"""
_IS_COMPARABLE = f"abs(log_n - covered_n) <= covered_n * {SAME_REQUESTS} AND leader_local_mean_ms IS NOT NULL"
MEANS_OF_SPAN = f"""
    WITH picked AS (SELECT * FROM gold.leader_local_mean WHERE {IN_SPAN}),
    sums AS (
        SELECT {", ".join(BY)}, min(from_at) AS since, max(to_at) AS until, count(*) AS intervals,
               count(*) FILTER (is_reset) AS resets, false AS is_another, {_SUMS}
        FROM picked GROUP BY {", ".join(BY)}
    ),
    means AS (SELECT *, {", ".join(f"{value} AS {name}" for name, value in MEANS.items())} FROM sums),
    compared AS (
        SELECT *, log_sum_ms / nullif(log_n, 0) AS log_leader_local_mean_ms,
               CASE WHEN {_IS_COMPARABLE} THEN {_OF_SAME} - log_leader_local_mean_ms END AS difference_ms
        FROM means
    )
    SELECT * REPLACE (n::BIGINT AS n, n_remote::BIGINT AS n_remote, log_n::BIGINT AS log_n),
           abs(difference_ms) <= {tolerance_ms("log_leader_local_mean_ms")} AS is_within
    FROM compared ORDER BY node, request"""
WINDOWS = f"SELECT * FROM gold.leader_local_mean WHERE {IN_SPAN} ORDER BY window_start, node, request"


def means(selection: GoldSelection) -> list[Row]:
    """
    Return `leader_local_mean_summary`: one row per broker and request type, computed from sums.

    The comparison with the log uses only the windows that the log covers.
    """
    return selection.rows(MEANS_OF_SPAN)


def windows(selection: GoldSelection) -> list[Row]:
    """Return the rows of `gold.leader_local_mean`."""
    return selection.rows(WINDOWS)
