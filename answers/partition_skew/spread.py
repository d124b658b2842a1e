"""A3: the distribution of a producer's batches over partitions, by partition and by producer (KIP-794)."""

from answers.gold.histogram import added_up
from answers.gold.reader import QueryRows
from answers.gold.selection import IN_SPAN, NO_CLIENT, OF_TOPIC, WINDOW_END, GoldSelection
from answers.runs.summaries import PAYLOADS, RUN_SETTINGS
from schemas.histogram import Z_95
from transforms.gold.partition_skew.table import SENT

SLOW_LATENCY, SLOW_BATCH, MIN_BATCHES = 3.0, 1.5, 300
"""The minimum ratios of latency and batch size to the other leaders, and the minimum number of batches."""

ANY = float("inf")
SHARES = {"adaptive": (0.7, 1.32), "uniform": (1.25, 2.3), "sticky": (2.0, ANY)}
"""Share of the slowest leader / share of the others, as measured by `plumbline lab run skew`."""

STAYS = {"adaptive": (0.0, 0.79), "uniform": (0.86, ANY), "sticky": (0.0, ANY)}
"""
Bytes of a stay on the slowest leader / a full batch. A uniform partitioner chooses a slow leader as often as
others, and by chance twice in a row; an adaptive one avoids it. At little load the shares overlap.
"""

REPEATS = 1.3
"""Batches to the same partition as the previous batch / chance. Measured: 1.6 to 2.1 for the partitioners of
KIP-794, which stay on a partition; 0.1 to 0.9 for sticky ones, which leave it; 0.5 to 0.9 for keys.
"""

EVEN_BATCHES = (0.67, 1.5)
"""A sticky partitioner sends equal numbers of batches to all partitions, and larger ones to a slow leader."""

FULL = 0.9
"""The minimum fill of these batches. Larger batches that are not full can result from frequent keys."""

MIN_WINDOWS = 5
"""The minimum number of windows for an interval of the slope."""

REQUEST_LOG, CLIENT_METRICS = "request_log", "client_metrics"
UNKNOWN = "?"
"""The topic of a run whose topic is unknown."""

NODE = r"^node-(\d+)$"
"""`node--1` and lower ids are bootstrap connections, which carry no records."""

_CLIENT = "cluster, topic, client_id, run"
_GROUP = f"{_CLIENT}, method"
_SUMS = {name: f"sum({name})" for name in (*SENT, "produce_n")} | {
    "produce_sum_ms": "sum_ms(produce_sum_ms)",
    "largest_batch_bytes": "max(largest_batch_bytes)",
}
_PRODUCE = {"produce": "produce_hist"}
_RANKS = {"p50": "rank_of(0.5, total)", "p99": "rank_of(0.99, total)"}
_ZEROS = ", ".join(
    f"coalesce(sums.{name}, 0)::BIGINT AS {name}" for name in (*SENT, "produce_n") if name != "records"
)

OURS = f"""
    SELECT * REPLACE (coalesce(run, '') AS run) FROM gold.partition_skew WHERE {IN_SPAN} AND {OF_TOPIC}"""


def of_log(ours: str = OURS) -> str:
    """
    Return the common table expressions up to `of_log`: one row per partition and client.

    `ours` selects windows of `gold.partition_skew`, with '' instead of NULL as `run`. A partition without
    batches of a client has a row with zeros.
    """
    return f"""
    ours AS (
        SELECT * REPLACE (coalesce(client_id, {NO_CLIENT}) AS client_id) FROM ({ours})
        WHERE partition IS NOT NULL  -- those of `others` are not known
    ),
    clients AS (
        SELECT {_CLIENT}, min(window_start) AS since, max({WINDOW_END}) AS until,
               max(software_version) AS software_version, max(arm) AS arm
        FROM ours WHERE $client::VARCHAR IS NULL OR client_id = $client GROUP BY ALL
    ),
    leaders AS (
        SELECT cluster, topic, partition, arg_max(leader_id, (window_start, batches, leader_id)) AS leader_id
        FROM ours GROUP BY ALL
    ),
    sums AS ({added_up("ours", f"{_CLIENT}, partition", _PRODUCE, _RANKS, _SUMS)}),
    of_log AS (
        SELECT clients.*, partition, leader_id, {_ZEROS}, sums.records::BIGINT AS records,
               largest_batch_bytes, produce_sum_ms, bucket_ms(produce_p50) AS produce_p50_ms,
               bucket_ms(produce_p99) AS produce_p99_ms,
               ratio(sums.bytes, sums.batches) AS bytes_per_batch,
               ratio(sums.records, sums.batches_counted) AS records_per_batch,
               ratio(coalesce(sums.bytes, 0), sum(sums.bytes) OVER (PARTITION BY {_CLIENT})) AS share,
               '{REQUEST_LOG}' AS method
        FROM clients JOIN leaders USING (cluster, topic) LEFT JOIN sums USING ({_CLIENT}, partition)
    )"""


# outgoing-byte-total includes all requests. Client metrics have no partitions, so `leader_id` is the node.
NODES = f"""
    settings AS ({RUN_SETTINGS}),
    sent AS (
        SELECT cluster, run, arm, client_version,
               coalesce(tags['client-id'], {NO_CLIENT}) AS client_id,
               try_cast(regexp_extract(tags['node-id'], '{NODE}', 1) AS INTEGER) AS leader_id,
               max(value)::BIGINT AS bytes, max(logged_at) AS until
        FROM silver.client_metrics
        WHERE metric_group = 'producer-node-metrics' AND metric = 'outgoing-byte-total'
          AND value IS NOT NULL AND cluster = $cluster
          AND (logged_at IS NULL OR (logged_at >= $since AND logged_at < $until))
        GROUP BY ALL HAVING leader_id IS NOT NULL
    ),
    of_nodes AS (
        SELECT sent.cluster, coalesce(topic_name, '{UNKNOWN}') AS topic, leader_id, sent.client_id,
               client_version AS software_version, sent.run, sent.arm, bytes, until,
               ratio(bytes, sum(bytes) OVER (
                   PARTITION BY sent.cluster, sent.run, sent.arm, sent.client_id)) AS share,
               '{CLIENT_METRICS}' AS method
        FROM sent LEFT JOIN settings ON sent.cluster = settings.cluster
             AND sent.run IS NOT DISTINCT FROM settings.run AND sent.arm IS NOT DISTINCT FROM settings.arm
        WHERE NOT EXISTS (SELECT 1 FROM of_log WHERE of_log.run = sent.run)
          AND ($client::VARCHAR IS NULL OR sent.client_id = $client)
          AND ($topic::VARCHAR IS NULL OR coalesce(topic_name, '{UNKNOWN}') = $topic)
    )"""
"""The bytes of each node from a client's own metrics, for runs that no request log shows."""

SPAN = f"""{of_log()}, {NODES},
    span AS (
        SELECT * FROM of_log UNION ALL BY NAME SELECT * REPLACE (coalesce(run, '') AS run) FROM of_nodes
    )"""

BY_PARTITION = f"""
    WITH {SPAN}
    SELECT * REPLACE (nullif(run, '') AS run, nullif(client_id, {NO_CLIENT}) AS client_id) FROM span
    ORDER BY topic, client_id, run, partition, leader_id"""

# The evenness figures use bytes. The chi-square uses batches, because a producer chooses the partition of a
# batch, not of a record.
EVENNESS = f"""
    ranked AS (
        SELECT *, row_number() OVER (PARTITION BY {_GROUP} ORDER BY bytes, partition, leader_id) AS nth,
               count(*) OVER (PARTITION BY {_GROUP}) AS of_all,
               avg(bytes) OVER (PARTITION BY {_GROUP}) AS mean_bytes,
               avg(batches) OVER (PARTITION BY {_GROUP}) AS mean_batches
        FROM span
    ),
    evenness AS (
        SELECT {_GROUP}, min(since) AS since, max(until) AS until,
               max(software_version) AS software_version, max(arm) AS arm, count(*)::INTEGER AS partitions,
               {", ".join(f"sum({name})::BIGINT AS {name}" for name in SENT)},
               ratio(max(bytes) * count(*), sum(bytes)) AS max_over_mean,
               ratio(sqrt(avg((bytes - mean_bytes) ** 2 ORDER BY nth)), avg(bytes))
                   AS coefficient_of_variation,
               ratio(sum(bytes * (2.0 * nth - of_all - 1) ORDER BY nth), count(*) * sum(bytes)) AS gini,
               ratio(max(bytes), sum(bytes)) AS top_share,
               ratio(sum(bytes)::DOUBLE * sum(bytes), sum(bytes::DOUBLE * bytes ORDER BY nth))
                   AS effective_partitions,
               ratio(sum((batches - mean_batches) ** 2 ORDER BY nth), avg(batches)) AS chi_square,
               (count(*) - 1)::INTEGER AS degrees_of_freedom,
               ratio(sum(repeats), sum(followed) *
                     ratio(sum(batches::DOUBLE * batches ORDER BY nth), sum(batches)::DOUBLE * sum(batches))
               ) AS repeat_ratio,
               ratio(max(bytes_per_batch), min(bytes_per_batch)) AS bytes_per_batch_ratio
        FROM ranked GROUP BY {_GROUP}
    )"""

# `slow_by` is `leader_latency` if the leader's log shows a high produce latency, and `batch_size` if only the
# client's batches are larger, because they wait longer for responses. A retry has a latency and no bytes:
# next to leaders with retries alone there is no ratio of shares, and no leader is slow.
_SLOWEST = f"""
    of_hist AS (
        SELECT {_CLIENT}, leaders.leader_id AS leader_id, produce_hist
        FROM ours JOIN leaders USING (cluster, topic, partition)
    ),
    leader_latencies AS (
        SELECT {_CLIENT}, leader_id, bucket_ms(produce_p50) AS p50_ms
        FROM ({added_up("of_hist", f"{_CLIENT}, leader_id", _PRODUCE, _RANKS)})
    ),
    of_leaders AS (
        SELECT {_GROUP}, leader_id, any_value(p50_ms) AS p50_ms, ratio(sum(bytes), sum(batches)) AS per_batch,
               ratio(ratio(sum(bytes), sum(batches)), max(largest_batch_bytes)) AS fill,
               avg(share ORDER BY partition) AS share, avg(batches) AS batches, count(*) AS partitions,
               ratio(ratio(sum(bytes), sum(followed) - sum(repeats)), max(largest_batch_bytes)) AS stay
        FROM span LEFT JOIN leader_latencies USING ({_CLIENT}, leader_id) GROUP BY {_GROUP}, leader_id
    ),
    compared AS (
        SELECT {", ".join(f"one.{name} AS {name}" for name in _GROUP.split(", "))},
               one.leader_id AS slowest_leader_id,
               ratio(max(one.p50_ms), median(other.p50_ms)) AS slowest_latency_ratio,
               ratio(max(one.per_batch), median(other.per_batch)) AS slowest_batch_ratio,
               ratio(max(one.share), avg(other.share ORDER BY other.leader_id)) AS slowest_ratio,
               ratio(max(one.batches), avg(other.batches ORDER BY other.leader_id)) AS slowest_batches_ratio,
               max(one.stay) * (1 - 1 / (max(one.partitions) + sum(other.partitions))) AS slowest_stay_ratio,
               max(one.fill) AS slowest_fill,
               coalesce(slowest_latency_ratio / {SLOW_LATENCY}, 0) AS by_latency,
               coalesce(slowest_batch_ratio / {SLOW_BATCH}, 0) AS by_batch
        FROM of_leaders one JOIN of_leaders other USING ({_GROUP})
        WHERE one.leader_id <> other.leader_id GROUP BY ALL
    ),
    slowest AS (
        SELECT *, CASE WHEN slowest_ratio IS NULL THEN NULL
                       WHEN by_latency >= 1 THEN 'leader_latency'
                       WHEN by_batch >= 1 THEN 'batch_size' END AS slow_by
        FROM compared
        QUALIFY row_number() OVER (PARTITION BY {_GROUP}
                ORDER BY greatest(by_latency, by_batch) DESC, slowest_leader_id DESC) = 1
    )"""

# Share and latency are relative to their means in each window, so effects on all leaders (a burst, a pause)
# have no influence. The jackknife omits windows, because the partitions of a window are not independent.
_SLOPE = f"""
    apart AS (
        SELECT *, latency_ms - avg(latency_ms) OVER in_window AS x, share - avg(share) OVER in_window AS y
        FROM (SELECT *, ratio(produce_sum_ms, produce_n) AS latency_ms FROM ours)
        WHERE latency_ms IS NOT NULL
        WINDOW in_window AS (PARTITION BY {_CLIENT}, window_start ORDER BY partition, leader_id
                             ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ),
    each AS (
        SELECT {_CLIENT}, window_start, sum(x * y ORDER BY partition, leader_id) AS xy,
               sum(x * x ORDER BY partition, leader_id) AS xx
        FROM apart GROUP BY ALL
    ),
    left_out AS (
        SELECT {_CLIENT}, xy, xx,
               ratio(sum(xy) OVER of_client - xy, sum(xx) OVER of_client - xx) AS without_it, window_start
        FROM each
        WINDOW of_client AS (PARTITION BY {_CLIENT} ORDER BY window_start
                             ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ),
    slope AS (
        SELECT {_CLIENT}, '{REQUEST_LOG}' AS method, count(*)::INTEGER AS windows,
               ratio(sum(xy ORDER BY window_start), sum(xx ORDER BY window_start)) AS share_per_ms,
               CASE WHEN count(*) >= {MIN_WINDOWS} AND count(without_it) = count(*)
                    THEN {Z_95} * sqrt(var_pop(without_it ORDER BY window_start) * (count(*) - 1)) END AS half
        FROM left_out GROUP BY {_CLIENT}
    )"""


def _within(name: str, band: tuple[float, float]) -> str:
    low, high = band
    return f"{name} >= {low}" if high == ANY else f"{name} >= {low} AND {name} < {high}"


# The order of batches distinguishes a partitioner from keys, which cause uneven shares themselves.
_LEAVES = f"""repeat_ratio < {REPEATS} AND slowest_fill >= {FULL}
    AND slowest_batches_ratio BETWEEN {EVEN_BATCHES[0]} AND {EVEN_BATCHES[1]}"""
_CASES = " ".join(
    f"WHEN {_within('slowest_ratio', SHARES[name])} AND {_within('slowest_stay_ratio', STAYS[name])} "
    f"AND {_LEAVES if name == 'sticky' else f'repeat_ratio >= {REPEATS}'} THEN '{name}'"
    for name in SHARES
)
PARTITIONER = f"CASE WHEN slow_by IS NULL OR batches < {MIN_BATCHES} THEN NULL {_CASES} END"
"""The partitioner that the slow leader's share indicates; NULL outside the bands or without one."""

# The records are those of the counted batches, or those of the run's summary line if only nodes are known.
_IS_SHORT = f"""bytes * CASE method WHEN '{REQUEST_LOG}' THEN ratio(batches_counted, batches) ELSE 1 END
    < CASE method WHEN '{REQUEST_LOG}' THEN records ELSE payload_records END * record_size_bytes"""
BY_PRODUCER = f"""
    WITH {SPAN}, {EVENNESS}, {_SLOWEST}, {_SLOPE}, payloads AS ({PAYLOADS})
    SELECT evenness.* REPLACE (nullif(evenness.run, '') AS run,
                               nullif(evenness.client_id, {NO_CLIENT}) AS client_id),
           slowest.* EXCLUDE ({_GROUP}, by_latency, by_batch),
           windows, share_per_ms, share_per_ms - half AS share_per_ms_low,
           share_per_ms + half AS share_per_ms_high, {PARTITIONER} AS partitioner,
           list_filter([CASE WHEN retried > 0 THEN 'retried_batches' END,
                        CASE WHEN {_IS_SHORT} THEN 'bytes_do_not_add_up' END], lambda flag: flag IS NOT NULL)
               AS quality_flags
    FROM evenness LEFT JOIN slowest USING ({_GROUP}) LEFT JOIN slope USING ({_GROUP})
    LEFT JOIN payloads ON payloads.cluster = evenness.cluster AND payloads.run = evenness.run
         AND payloads.client_id = evenness.client_id AND NOT is_compressed
    ORDER BY topic, client_id, run"""


def partitions(selection: GoldSelection) -> QueryRows:
    """Return `partition_skew_span`: one row per partition and client, or per node and client."""
    return selection.rows(BY_PARTITION)


def producers(selection: GoldSelection) -> QueryRows:
    """Return `partition_skew_summary`: one row per client and topic."""
    return selection.rows(BY_PRODUCER)
