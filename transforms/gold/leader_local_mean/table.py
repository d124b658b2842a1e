"""A1 without a request log: the mean of leader_local between scrapes, from Count x Mean of two MBeans."""

import math
from collections.abc import Mapping

import pyarrow as pa

from schemas.fields import Table
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.leader_local_mean.intervals import BY, WANTED, intervals
from transforms.gold.leader_local_mean.request_log import IS_TIMED, REQUESTS_COLUMNS, log_of_intervals
from transforms.gold.metrics.counters import REACH
from transforms.gold.metrics.facts import load_samples
from transforms.sql import connect, define, is_in, rows_of, window_s
from transforms.windows import Reach

RESOLUTION_MS = 2.0
"""The MBeans round times to whole milliseconds, so a smaller mean is mostly rounding."""

FEW = 10
"""The minimum number of requests for a mean. Sums over a time range include intervals with fewer."""

WITHIN_MS, WITHIN_SHARE = 0.5, 0.02
"""The required accuracy of a mean: this difference or this share, whichever is larger."""

LONGEST_WAIT_MS = 500.0
"""The default of `replica.fetch.wait.max.ms` and `fetch.max.wait.ms`: the longest wait in purgatory."""

OF_METRICS = ("n", "n_remote", "total_sum_ms", "remote_sum_ms", "remote_square_sum")
OF_LOG = ("log_n", "log_sum_ms")


def leader_local_mean() -> str:
    """
    Return the query of the sums of the intervals that end in each window, and of their requests in the log.

    It reads `intervals` and what `log_of_intervals` reads.
    """
    # An increase is NULL after a change of the process (`counters.steps`); its other sums do not count.
    sums = ", ".join(f"sum({name}) FILTER (n IS NOT NULL) AS {name}" for name in (*OF_METRICS, *OF_LOG))
    apart = ", ".join(f"{value} AS {name}" for name, value in counts_apart("from_us", "to_us").items())
    means = ", ".join(f"{value} AS {name}" for name, value in MEANS.items())
    return f"""
        SELECT *, {means} FROM (
            SELECT
                {", ".join(BY)}, window_s, min(from_us) AS from_us, max(to_us) AS to_us,
                max(is_reset) AS is_reset, max(n IS NULL) AS is_another, {apart}, {sums}
            FROM intervals LEFT JOIN ({log_of_intervals()}) USING (interval_id)
            GROUP BY {", ".join(BY)}, window_s
        )
    """


def counts_apart(since: str, until: str) -> dict[str, str]:
    """Return the difference of the Counts at the first and last scrape. Those in between have no effect."""
    return {"n_apart_from": f"min_by(n_apart_from, {since})", "n_apart_to": f"max_by(n_apart_to, {until})"}


def tolerance_ms(mean_ms: str) -> str:
    """
    Return the required accuracy of a mean in ms.

    >>> import duckdb
    >>> means = "SELECT unnest([2.0, 100.0, NULL])::DOUBLE AS mean_ms"
    >>> duckdb.sql(f"SELECT list({tolerance_ms('mean_ms')}) FROM ({means})").fetchall()
    [([0.5, 2.0, None],)]
    """
    share = f"({mean_ms}) * {WITHIN_SHARE}"
    return f"(CASE WHEN {share} <= {WITHIN_MS} THEN {WITHIN_MS} ELSE {share} END)"


def _doubt_ms() -> str:
    """
    Return the maximum error of the difference of the means: the two MBeans are read at different times.

    A request that only one MBean has counted changes the difference if its wait is not the mean. There are
    three bounds: the sum of all waits, the longest wait of a fetch, and the spread of waits if StdDev is
    known. The result is the smallest bound.
    """
    n_apart, share = "(n_apart_from + n_apart_to)", "((n_apart_from + n_apart_to) / nullif(n, 0))"
    furthest = f"""(CASE WHEN remote_mean_ms > {LONGEST_WAIT_MS / 2} THEN remote_mean_ms
        ELSE {LONGEST_WAIT_MS} - remote_mean_ms END)"""
    variance = "(remote_square_sum / nullif(n_remote, 0) - remote_mean_ms * remote_mean_ms)"
    spread = f"sqrt(CASE WHEN {variance} > 0 THEN {variance} WHEN {variance} IS NOT NULL THEN 0 END)"
    # `least` ignores NULL, an unknown bound.
    least = f"least(remote_sum_ms / nullif(n, 0), {share} * {furthest}, sqrt({share}) * {spread})"
    return f"""CASE WHEN {n_apart} = 0 THEN 0.0
        WHEN {n_apart} IS NOT NULL AND remote_mean_ms IS NOT NULL THEN {least} END"""


MEANS = {
    "total_mean_ms": "total_sum_ms / nullif(n, 0)",
    "remote_mean_ms": "remote_sum_ms / nullif(n_remote, 0)",
    "doubt_ms": _doubt_ms(),
    "reason": f"""CASE
        WHEN is_another THEN 'reset'
        WHEN total_sum_ms IS NULL OR remote_sum_ms IS NULL THEN 'no_mean'
        WHEN n < {FEW} THEN 'too_few'
        WHEN coalesce(doubt_ms > {tolerance_ms("total_mean_ms - remote_mean_ms")}, true) THEN 'counts_differ'
        WHEN total_mean_ms - remote_mean_ms < {RESOLUTION_MS} THEN 'below_resolution' END""",
    "leader_local_mean_ms": "CASE WHEN reason IS NULL THEN total_mean_ms - remote_mean_ms END",
}
"""
The means of sums, or the reason if there is none, as SQL.

`is_another`: an increase is NULL. A later column may refer to those before it.
"""


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    with connect({}) as db:
        load_samples(db, inputs, WANTED)
        db.execute(f"""
            CREATE TEMP TABLE intervals AS
            SELECT *, row_number() OVER () AS interval_id, {window_s("to_us")} AS window_s
            FROM ({intervals()}) WHERE {is_in(inputs.windows)}
        """)
        # Most scrapes are 10 s apart, so most of the reach has no line that is needed.
        ((longest_s,),) = db.sql("SELECT max(window_s - from_us / 1e6) FROM intervals").fetchall()
        reach = Reach(lookback_s=math.ceil(max(longest_s or 0, 0)))
        define(db, "requests", inputs.rows(REQUESTS, REQUESTS_COLUMNS, reach, where=IS_TIMED))
        return {LEADER_LOCAL_MEAN: rows_of(LEADER_LOCAL_MEAN, db.sql(leader_local_mean()).to_arrow_table())}


BUILD = Build(
    name="leader_local_mean",
    tables=(LEADER_LOCAL_MEAN,),
    rows=_rows,
    reads={METRIC_SAMPLES: REACH, REQUESTS: REACH},
    whole=(METRIC_SERIES,),
    # A scrape touches each window that the next one may lie in; a series touches all since its first sample.
    touched_by=(
        Touch(table=METRIC_SAMPLES, reach=REACH),
        Touch(table=REQUESTS, reach=REACH),
        Touch(table=METRIC_SERIES, and_later=True),
    ),
    needs=(METRIC_SAMPLES,),
)
