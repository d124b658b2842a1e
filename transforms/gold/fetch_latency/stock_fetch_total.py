"""Kafka's own metric of replica fetches, as existing dashboards show it: FetchFollower TotalTimeMs."""

from collections.abc import Mapping

import pyarrow as pa

from schemas.fields import Table
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.metrics.facts import load_samples
from transforms.sql import connect, rows_of
from transforms.windows import Reach

IS_TOTAL = "meaning = 'request_time_ms' AND time = 'total' AND request = 'FetchFollower'"
"""The condition of the metric's series."""

_OF_SCRAPES = """
    SELECT
        cluster, at_us AS scraped_us, broker_id AS leader_id,
        max(value) FILTER (statistic = 'mean') AS mean_ms,
        max(value) FILTER (statistic = 'p50') AS p50_ms,
        max(value) FILTER (statistic = 'p99') AS p99_ms,
        trunc(max(value) FILTER (statistic = 'count'))::BIGINT AS "count"
    FROM samples WHERE isfinite(value) AND statistic IN ('mean', 'p50', 'p99', 'count')
    GROUP BY cluster, at_us, broker_id
"""


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    """Return one row per scrape that has FetchFollower's TotalTimeMs."""
    with connect({}) as db:
        load_samples(db, inputs, IS_TOTAL)
        return {STOCK_FETCH_TOTAL: rows_of(STOCK_FETCH_TOTAL, db.sql(_OF_SCRAPES).to_arrow_table())}


BUILD = Build(
    name="stock_fetch_total",
    tables=(STOCK_FETCH_TOTAL,),
    rows=_rows,
    reads={METRIC_SAMPLES: Reach()},
    whole=(METRIC_SERIES,),
    touched_by=(Touch(table=METRIC_SAMPLES), Touch(table=METRIC_SERIES, and_later=True)),
    needs=(METRIC_SAMPLES,),
)
