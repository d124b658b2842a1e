"""A1 without a request log: sums of `gold.leader_local_mean` over a time range, compared with the log."""

from collections.abc import Sequence

from answers import listing
from answers.formats import count, ms
from answers.gold.reader import QueryRows
from answers.gold.selection import IN_SPAN, GoldSelection
from answers.listing import Column, Listing
from schemas.rows import Row
from transforms.gold.leader_local_mean.intervals import BY
from transforms.gold.leader_local_mean.table import MEANS, OF_LOG, OF_METRICS, counts_apart, tolerance_ms

SAME_REQUESTS = 0.05
"""If the numbers of requests differ by a larger share, a part of the log is missing."""

COVERED = 0.8
"""If the log has a smaller share of a window's requests, the log does not cover the window."""

WHY = {
    "no_mean": "the exporter's rules drop Mean",
    "reset": "another process under the same name",
    "too_few": "fewer than 10 requests",
    "counts_differ": "the two beans counted different requests",
    "below_resolution": "below 2 ms, where the rounding to whole ms dominates",
}
"""Why a row has no mean."""

_SUM = "sum({} ORDER BY from_at, to_at)"
"""The same digits whatever the order of the rows."""

_IS_SUMMED = "total_sum_ms IS NOT NULL"
_IS_COVERED = f"{_IS_SUMMED} AND log_n >= n * {COVERED}"
_SUMS = ", ".join(
    (
        # A node without a Mean still has counts.
        *(
            f"coalesce({_SUM.format(name)} FILTER ({_IS_SUMMED}), {_SUM.format(name)}) AS {name}"
            for name in OF_METRICS
        ),
        *(f"{_SUM.format(name)} FILTER ({_IS_COVERED}) AS covered_{name}" for name in OF_METRICS),
        *(f"{_SUM.format(name)} FILTER ({_IS_COVERED}) AS {name}" for name in OF_LOG),
        *(f"{value} AS {name}" for name, value in counts_apart("from_at", "to_at").items()),
    )
)
_OF_COVERED = """CASE WHEN leader_local_mean_ms IS NOT NULL THEN
    covered_total_sum_ms / nullif(covered_n, 0) - covered_remote_sum_ms / nullif(covered_n_remote, 0) END"""
_IS_COMPARABLE = f"abs(log_n - covered_n) <= covered_n * {SAME_REQUESTS}"
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
               {_OF_COVERED} AS covered_leader_local_mean_ms,
               CASE WHEN {_IS_COMPARABLE} THEN covered_leader_local_mean_ms - log_leader_local_mean_ms END
                   AS difference_ms
        FROM means
    )
    SELECT * REPLACE (n::BIGINT AS n, n_remote::BIGINT AS n_remote, log_n::BIGINT AS log_n,
                      covered_n::BIGINT AS covered_n),
           abs(difference_ms) <= {tolerance_ms("log_leader_local_mean_ms")} AS is_within
    FROM compared ORDER BY node, request"""
WINDOWS = f"SELECT * FROM gold.leader_local_mean WHERE {IN_SPAN} ORDER BY window_start, node, request"


def means(selection: GoldSelection) -> QueryRows:
    """
    Return `leader_local_mean_summary`: one row per broker and request type, computed from sums.

    The comparison with the log uses only the windows that the log covers.
    """
    return selection.rows(MEANS_OF_SPAN)


def windows(selection: GoldSelection) -> QueryRows:
    """Return the rows of `gold.leader_local_mean`."""
    return selection.rows(WINDOWS)


def sentences(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each mean, compared with the request log if there is one."""
    return [_of_mean(row) for row in rows if row["reason"] is None]


def _of_mean(row: Row) -> str:
    start = (
        f"{row['node']}, {row['request']}: leader_local {ms(row['leader_local_mean_ms'])} ms on average over "
        f"{count(row['n'])} requests"
    )
    if row["difference_ms"] is None:
        return start
    agrees = "the request log agrees" if row["is_within"] else "the request log differs"
    covered = f"{ms(row['covered_leader_local_mean_ms'])} ms over {count(row['covered_n'])} in its windows"
    basis = "" if row["covered_n"] == row["n"] else f" with {covered}"
    log_ms = ms(row["log_leader_local_mean_ms"])
    return f"{start}; {agrees}{basis}: {log_ms} ms, difference {row['difference_ms']:+.2f} ms"


def _busiest_first(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with a mean first, the busiest first."""
    return sorted(rows, key=lambda row: (row["reason"] is not None, -(row["n"] or 0)))


LISTING = Listing(
    name="leader-local-table",
    title="The leader's own work, from metrics alone",
    lead="Mean of total - remote by broker and request type, exact: the change of Count x Mean of two beans "
    "between scrapes. Metrics give no percentile of it: the percentiles of total and of remote are of "
    "different requests, so their difference is no percentile. The request log has each request.",
    rows=_busiest_first,
    columns=(
        listing.text("node", "node"),
        listing.text("request", "request"),
        listing.count("n", "n"),
        listing.milliseconds("total mean ms", "total_mean_ms"),
        listing.milliseconds("remote mean ms", "remote_mean_ms"),
        listing.milliseconds("leader's own mean ms", "leader_local_mean_ms", style="strong"),
        listing.count("restarts", "resets", in_terminal=False),
        Column(
            "why there is none",
            lambda row: str(WHY.get(row["reason"], row["reason"] or "")),
            "reason",
            is_text=True,
            style="path",
        ),
    ),
)
COMPARISON = Listing(
    name="leader-local-log-table",
    title="Metrics and request log, in the windows that the log covers",
    lead="All figures of a row are of the windows in which the log has at least "
    f"{COVERED * 100:.0f} % of the requests.",
    rows=lambda rows: _busiest_first([row for row in rows if row["log_n"] is not None]),
    columns=(
        listing.text("node", "node"),
        listing.text("request", "request"),
        listing.count("n", "covered_n"),
        listing.milliseconds("leader's own mean ms", "covered_leader_local_mean_ms", style="strong"),
        listing.count("n of the log", "log_n"),
        listing.milliseconds("mean of the log ms", "log_leader_local_mean_ms"),
        listing.milliseconds(
            "differs by ms", "difference_ms", is_alarm=lambda row: row["is_within"] is False
        ),
    ),
    about={
        "differs by ms": f"Empty if the numbers of requests differ by more than {SAME_REQUESTS * 100:.0f} %."
    },
)
