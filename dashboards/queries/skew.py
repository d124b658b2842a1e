"""A3 out of gold: how a producer's batches fall to partitions, and which leader is slow for it."""

from dashboards.asked import DashboardRequest
from dashboards.queries.histogram import added_up, at_rank
from dashboards.queries.links import IN_SPAN
from schemas.rows import Row

SLOW_LATENCY, SLOW_BATCH, MIN_BATCHES = 3.0, 1.5, 300
REPEATS, FULL = 1.3, 0.9
"""As in `transforms.gold.partition_skew.slowest`, which gives the reasons; a test holds one to the other."""

_CLIENT = "topic, client_id, run"
_SENT = ("batches", "bytes", "records", "batches_counted", "retried", "followed", "repeats")
_SUMS = ", ".join(f"sum({name})::BIGINT AS {name}" for name in (*_SENT, "produce_n"))
_ZEROS = ", ".join(f"coalesce(sums.{name}, 0) AS {name}" for name in _SENT if name != "records")

_SPAN = f"""
    ours AS (
        SELECT * REPLACE (coalesce(run, '') AS run) FROM gold.partition_skew
        WHERE {IN_SPAN} AND ($topic::VARCHAR IS NULL OR topic = $topic)
    ),
    clients AS (
        SELECT {_CLIENT}, max(software_version) AS software_version, max(arm) AS arm FROM ours
        WHERE $client::VARCHAR IS NULL OR client_id = $client GROUP BY ALL
    ),
    there AS (SELECT topic, partition, arg_max(leader_id, window_start) AS leader_id FROM ours GROUP BY ALL),
    sums AS (
        SELECT {_CLIENT}, partition, {_SUMS}, max(largest_batch_bytes) AS largest_batch_bytes
        FROM ours GROUP BY ALL
    ),
    span AS (
        SELECT {_CLIENT}, partition, leader_id, software_version, arm, {_ZEROS}, sums.records,
               largest_batch_bytes,
               ratio(sums.bytes, batches) AS bytes_per_batch,
               ratio(coalesce(sums.bytes, 0), sum(sums.bytes) OVER (PARTITION BY {_CLIENT})) AS share
        FROM clients JOIN there USING (topic) LEFT JOIN sums USING (topic, client_id, run, partition)
    )"""

_PARTITIONS = f"""
    WITH {_SPAN}
    SELECT * REPLACE (nullif(run, '') AS run), 'request_log' AS method FROM span
    ORDER BY topic, client_id, run, partition"""

_SUMMARY = f"""
    WITH {_SPAN},
    evenness AS (
        SELECT {_CLIENT}, max(software_version) AS software_version, max(arm) AS arm,
               count(*)::INTEGER AS partitions, sum(batches)::BIGINT AS batches, sum(bytes)::BIGINT AS bytes,
               ratio(max(bytes) * count(*), sum(bytes)) AS max_over_mean,
               ratio(max(bytes), sum(bytes)) AS top_share,
               ratio(sum(bytes)::DOUBLE * sum(bytes), sum(bytes::DOUBLE * bytes)) AS effective_partitions,
               ratio(sum(repeats), sum(followed) *
                     ratio(sum(batches::DOUBLE * batches), sum(batches)::DOUBLE * sum(batches))
               ) AS repeat_ratio
        FROM span GROUP BY ALL
    ),
    of_hist AS (
        SELECT {_CLIENT}, there.leader_id AS leader_id, produce_hist
        FROM ours JOIN there USING (topic, partition)
    ),
    latencies AS (
        SELECT {_CLIENT}, leader_id, bucket_ms({at_rank("rank_of(0.5, total)")}) AS p50_ms
        FROM ({added_up("of_hist", f"{_CLIENT}, leader_id", "produce_hist")}) GROUP BY ALL
    ),
    leaders AS (
        SELECT {_CLIENT}, leader_id, p50_ms, ratio(sum(bytes), sum(batches)) AS per_batch,
               ratio(ratio(sum(bytes), sum(batches)), max(largest_batch_bytes)) AS fill,
               avg(share) AS share, avg(batches) AS batches, count(*) AS partitions,
               ratio(ratio(sum(bytes), sum(followed) - sum(repeats)), max(largest_batch_bytes)) AS stay
        FROM span LEFT JOIN latencies USING (topic, client_id, run, leader_id) GROUP BY ALL
    ),
    beside AS (
        SELECT one.topic, one.client_id, one.run, one.leader_id AS slowest_leader_id,
               ratio(max(one.p50_ms), median(other.p50_ms)) AS slowest_latency_ratio,
               ratio(max(one.per_batch), median(other.per_batch)) AS slowest_batch_ratio,
               ratio(max(one.share), avg(other.share)) AS slowest_ratio,
               ratio(max(one.batches), avg(other.batches)) AS slowest_batches_ratio,
               max(one.stay) * (1 - 1 / (max(one.partitions) + sum(other.partitions))) AS slowest_stay_ratio,
               max(one.fill) AS slowest_fill,
               coalesce(slowest_latency_ratio / {SLOW_LATENCY}, 0) AS by_latency,
               coalesce(slowest_batch_ratio / {SLOW_BATCH}, 0) AS by_batch
        FROM leaders one JOIN leaders other USING (topic, client_id, run)
        WHERE one.leader_id <> other.leader_id GROUP BY ALL
    ),
    slowest AS (
        SELECT *, CASE WHEN by_latency >= 1 THEN 'leader_latency'
                       WHEN by_batch >= 1 THEN 'batch_size' END AS slow_by
        FROM beside
        QUALIFY row_number() OVER (PARTITION BY {_CLIENT}
                ORDER BY greatest(by_latency, by_batch) DESC, slowest_leader_id DESC) = 1
    )
    SELECT * EXCLUDE (by_latency, by_batch) REPLACE (nullif(run, '') AS run), 'request_log' AS method,
           CASE WHEN slow_by IS NULL OR batches < {MIN_BATCHES} THEN NULL
                WHEN slowest_ratio >= 0.7 AND slowest_ratio < 1.32 AND slowest_stay_ratio < 0.79
                     AND slowest_stay_ratio >= 0 AND repeat_ratio >= {REPEATS} THEN 'adaptive'
                WHEN slowest_ratio >= 1.25 AND slowest_ratio < 2.3 AND slowest_stay_ratio >= 0.86
                     AND repeat_ratio >= {REPEATS} THEN 'uniform'
                WHEN slowest_ratio >= 2.0 AND slowest_stay_ratio >= 0 AND repeat_ratio < {REPEATS}
                     AND slowest_batches_ratio BETWEEN 0.67 AND 1.5 AND slowest_fill >= {FULL} THEN 'sticky'
           END AS partitioner
    FROM evenness LEFT JOIN slowest USING (topic, client_id, run)
    ORDER BY topic, client_id, run"""


def partitions(asked: DashboardRequest) -> list[Row]:
    """Add each producer's batches up by partition; one that got none has a row."""
    return asked.rows(_PARTITIONS)


def producers(asked: DashboardRequest) -> list[Row]:
    """Tell of each producer and topic how even it is, and what a slow leader gets of it."""
    return asked.rows(_SUMMARY)
