"""A3: the distribution of a producer's batches over partitions (KIP-480, KIP-794), from the request log."""

from collections.abc import Mapping

import pyarrow as pa

from schemas.fields import Table
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.clients import limit_clients
from transforms.gold.entries import TOPICS_COLUMNS, names_touch
from transforms.gold.partition_skew.produced import (
    IS_PRODUCED,
    NEXT_BATCH_S,
    REQUESTS_COLUMNS,
    batches,
    limited,
    produced,
)
from transforms.gold.runs.of_client import RUNS_COLUMNS
from transforms.gold.unanswered import has_too_many
from transforms.quantiles import Histograms
from transforms.sql import bucket, connect, is_in, ratio, rows_of, sum_ms, window_s, with_columns
from transforms.windows import Reach

GRAIN = "cluster, window_s, topic, partition, leader_id, client_id, run"
BY_CLIENT = "cluster, window_s, topic, client_id, run"
SENT = ("batches", "bytes", "records", "batches_counted", "retried", "followed", "repeats")

REQUESTS_REACH = Reach(lookahead_s=NEXT_BATCH_S, lookback_s=NEXT_BATCH_S)


def partition_skew(sent: str, wanted: str) -> str:
    """
    Return the query of the batches of each window, partition and client, without quantiles.

    The records of a batch are the offsets up to the next batch of its partition, of any producer. `sent` is
    as in `produced.batches`, `wanted` a condition of the batches.
    """
    of_client = f"sum(bytes) OVER (PARTITION BY {BY_CLIENT})"
    return f"""
        SELECT
            *, {ratio("bytes", "batches")} AS bytes_per_batch,
            {ratio("records", "batches_counted")} AS records_per_batch, {ratio("bytes", of_client)} AS share
        FROM (
            SELECT
                {GRAIN}, max(software_version) AS software_version, max(arm) AS arm,
                count(*) FILTER (NOT is_again) AS batches,
                coalesce(sum(bytes) FILTER (NOT is_again), 0)::BIGINT AS bytes,
                sum(records) FILTER (NOT is_again)::BIGINT AS records,
                count(records) FILTER (NOT is_again) AS batches_counted,
                count(*) FILTER (is_again) AS retried, count(is_repeat) AS followed,
                count(*) FILTER (is_repeat) AS repeats, max(bytes) AS largest_batch_bytes,
                count(*) AS produce_n, {sum_ms("total_ms")} AS produce_sum_ms, min(total_ms) AS min_ms,
                max(total_ms) AS max_ms, histogram({bucket("total_ms")})::MAP(INT, BIGINT) AS produce_hist,
                bool_or(error_code IS NULL) AS is_unanswered
            FROM (SELECT *, {window_s("logged_us")} AS window_s FROM ({batches(sent)}))
            WHERE {wanted} GROUP BY {GRAIN}
        )
    """


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    rows = {
        "requests": inputs.rows(REQUESTS, REQUESTS_COLUMNS, where=IS_PRODUCED),
        "topics": inputs.rows(TOPICS, TOPICS_COLUMNS),
        "runs": inputs.rows(RUNS, RUNS_COLUMNS),
    }
    with connect(rows) as db:
        limit_clients(db, "requests", "VIEW")
        wanted = is_in(inputs.windows)
        found = db.sql(partition_skew(produced(), wanted)).to_arrow_table()
        if has_too_many(found):
            found = db.sql(partition_skew(limited(db), wanted)).to_arrow_table()
    hists = Histograms(found["produce_hist"])
    low, high = (found[name].to_numpy() for name in ("min_ms", "max_ms"))
    quantiles = {
        f"produce_{name}_ms": pa.array(hists.quantile(q, low, high), from_pandas=True)
        for name, q in (("p50", 0.5), ("p99", 0.99))
    }
    return {PARTITION_SKEW: rows_of(PARTITION_SKEW, with_columns(found, quantiles))}


BUILD = Build(
    name="partition_skew",
    tables=(PARTITION_SKEW,),
    rows=_rows,
    reads={REQUESTS: REQUESTS_REACH},
    whole=(TOPICS, RUNS),
    touched_by=(
        Touch(table=REQUESTS, where="api = 'PRODUCE'", reach=REQUESTS_REACH),
        Touch(table=RUNS, and_later=True),
        names_touch(REQUESTS_REACH),
    ),
)
