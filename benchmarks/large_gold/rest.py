"""The small tables of a large cluster: a query of `starts` (windows, epoch seconds) each."""

from schemas.fields import Table
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.gold.produce_held import PRODUCE_HELD, WAITS
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from transforms.sql import bucket

TOPICS, PARTITIONS = 30, 12
_WINDOWS = "(SELECT to_timestamp(second) AS window_start, second FROM starts)"
_MOVING = f"(FROM {_WINDOWS} WHERE second >= getvariable('moved_from'))"
_BROKERS = "(SELECT unnest(range(1, getvariable('brokers') + 1)) AS broker)"
_RATE = 9_500_000  # bytes/s, just below the throttle

_WAITS = ", ".join(
    f"40 * 0.5 AS {wait}_sum_ms, 0.5 AS {wait}_min_ms, 0.5 AS {wait}_max_ms, "
    f"MAP {{{bucket('0.5')}: 40}}::MAP(INT, BIGINT) AS {wait}_hist, "
    + ", ".join(f"0.5 AS {wait}_p{q}_ms" for q in quantiles)
    for wait, quantiles in WAITS.items()
)

REST: dict[Table, str] = {
    LEADER_LOCAL_MEAN: f"""
SELECT window_start, 'broker-' || broker AS node, broker AS broker_id, request,
       window_start - INTERVAL 5 SECOND AS from_at, window_start + INTERVAL 5 SECOND AS to_at, 400 AS n,
       400 AS n_remote, 0 AS n_apart_from, 0 AS n_apart_to, 400 * 251.0 AS total_sum_ms,
       400 * 250.0 AS remote_sum_ms, 251.0 AS total_mean_ms, 250.0 AS remote_mean_ms, 0.01 AS doubt_ms,
       1 + hash(second, broker, request) % 1000 / 1000 AS leader_local_mean_ms, false AS is_reset,
       400 AS log_n, 400 * 1.5 AS log_sum_ms
FROM {_WINDOWS}, {_BROKERS},
     (SELECT unnest(['Produce', 'FetchFollower', 'FetchConsumer', 'Metadata']) AS request)""",
    STOCK_FETCH_TOTAL: f"""
SELECT window_start + INTERVAL 5 SECOND AS scraped_at, broker AS leader_id, 250.0 AS mean_ms,
       240.0 + hash(second, broker) % 20 AS p50_ms, 510.0 AS p99_ms, second AS count
FROM {_WINDOWS}, {_BROKERS}""",
    PARTITION_SKEW: f"""
SELECT window_start, 'topic-' || topic AS topic, partition,
       partition % getvariable('brokers') + 1 AS leader_id, 'producer-' || topic AS client_id,
       '4.3.1' AS software_version, 40 AS batches,
       (40 * 16_000 * (1 + (partition = 0)::INT)) AS bytes, 4_000 AS records, 40 AS batches_counted,
       0 AS retried, 40 AS followed, 3 AS repeats, 16_384 AS largest_batch_bytes, 40 AS produce_n,
       40 * 2.1 AS produce_sum_ms, 2.0 AS produce_p50_ms, 3.0 AS produce_p99_ms, 16_000.0 AS bytes_per_batch,
       100.0 AS records_per_batch, 1.0 / {PARTITIONS} AS share,
       map(list_transform(range(8),
                          lambda k: ({bucket("2.0")} + hash(second, topic, partition) % 50 + k)::INT),
           [1, 4, 8, 12, 8, 4, 2, 1]::BIGINT[]) AS produce_hist
FROM {_WINDOWS}, (SELECT unnest(range({TOPICS})) AS topic),
     (SELECT unnest(range({PARTITIONS})) AS partition)""",
    # The next two brokers hold the replicas of a leader; no follower holds it back.
    PRODUCE_HELD: f"""
SELECT window_start, leader AS leader_id, (leader + nth) % getvariable('brokers') + 1 AS follower_id,
       'topic-' || leader AS topic, 40 AS n, 0 AS n_released, 40 AS n_tie, 0 AS n_unmatched,
       0 AS n_isr_change, 0 AS n_failed, 0 AS n_not_held, {_WAITS}
FROM {_WINDOWS}, (SELECT unnest(range(1, getvariable('brokers') + 1)) AS leader),
     (SELECT unnest(range(2)) AS nth)""",
    LEADER_REDIRECT: f"""
SELECT window_start, 'topic-' || (second // 60 % {TOPICS}) AS topic, 0 AS partition, 'PRODUCE' AS api,
       'redirect' AS kind, 'producer-' || (second // 60 % {TOPICS}) AS client_id, '4.3.1' AS software_version,
       'c-' || second AS connection, 1 AS old_leader_id, 2 AS new_leader_id, 6 AS error_code, true AS hinted,
       window_start AS errored_at, window_start + INTERVAL 300 MILLISECOND AS succeeded_at,
       100.0 + second // 60 % 300 AS redirect_ms, 50.0 AS client_part_ms, 50.0 AS broker_part_ms,
       1 AS errors_at_old_leader, 1 AS metadata_requests
FROM {_WINDOWS} WHERE second % 60 = 0""",
    METADATA_LOOKUP: f"""
SELECT window_start, 'app-' || client AS client_id, '4.3.1' AS software_version, 1 AS lookups,
       0 AS all_topics_lookups, 10 AS topics_asked, 10 AS topics_asked_most, 10 AS topics_answered,
       9_000 AS response_bytes, 0 AS lookups_after_error,
       list_transform(range(10), lambda nth: (hash(client, nth) >> 1)::BIGINT) AS topics
FROM {_WINDOWS}, (SELECT unnest(range(200)) AS client) WHERE (second // 10 + client) % 30 = 0""",
    THROTTLE_COMPLIANCE: f"""
SELECT window_start, broker AS broker_id, direction, 10_000_000 AS limit_bytes_per_s,
       to_timestamp(getvariable('moved_from')) AS limited_from, window_start AS on_from,
       window_start + INTERVAL 10 SECOND AS on_until, window_start + INTERVAL 10 SECOND AS busy_until,
       true AS is_listed, 10 * {_RATE} AS throttled_bytes, 10 * {_RATE} AS catching_up_bytes,
       0 AS in_sync_bytes, 0 AS unlisted_bytes, list_resize([]::BIGINT[], 10, {_RATE}) AS throttled_by_s,
       throttled_by_s AS catching_up_by_s, 400 AS answers, 1_000_000 AS largest_answer_bytes,
       [broker % getvariable('brokers') + 1] AS peers, 12 AS moving_partitions, 12 AS lagging_replicas,
       greatest(50_000_000 - (second - getvariable('moved_from')) * 5_000, 0) AS lag_records,
       1_000_000 AS inbound_bytes
FROM {_MOVING}, {_BROKERS}, (SELECT unnest(['leader', 'follower']) AS direction)""",
    REASSIGNMENT_PROGRESS: f"""
SELECT window_start, to_timestamp(getvariable('moved_from')) AS moved_at, 'admin' AS moved_by,
       broker AS source_id, broker % getvariable('brokers') + 1 AS destination_id,
       12 * getvariable('brokers') AS partitions, 0 AS partitions_done, 12 AS copies, 0 AS copies_done,
       10 * {_RATE} AS bytes_moved, 12 AS copies_known,
       1e12 - {_RATE} * (second - getvariable('moved_from')) AS bytes_to_go, 'log_sizes' AS to_go_by,
       window_start AS told_at, 1_000_000 AS inbound_bytes, 10_000_000 AS source_limit_bytes_per_s,
       10_000_000 AS destination_limit_bytes_per_s, 3 AS replication_factor, false AS is_superseded
FROM {_MOVING}, {_BROKERS}""",
}
