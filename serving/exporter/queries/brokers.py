"""
What is served, in SQL: from instants (`moment`) to values, the same for now and for every 10 s of history.

Each query gives `moment`, labels, and a column for each metric, which bears its name. NULL is not served.
"""

import math

_GAMMA = 1.01 / 0.99
_OFFSET = 1 - math.ceil(math.log(1e-6) / math.log(_GAMMA))
"""Of the histograms' buckets, as docs/methods.md has them."""

PREPARE = """
CREATE OR REPLACE TEMP TABLE newest AS
SELECT i.moment, i.cluster, s.until, s.nodes_expected, s.nodes_reporting
FROM (SELECT moment, cluster FROM instants, (SELECT DISTINCT cluster FROM settled)) i
ASOF JOIN settled s ON i.cluster = s.cluster AND i.moment >= s.until;
CREATE OR REPLACE TEMP TABLE fresh AS
SELECT * FROM newest WHERE until > moment - getvariable('fresh_s');
CREATE OR REPLACE TEMP TABLE spans AS
SELECT moment, cluster, unnest(range((until - getvariable('span_s'))::BIGINT, until::BIGINT, 10))::DOUBLE
       AS window_start FROM fresh;
CREATE OR REPLACE TEMP TABLE events AS
SELECT moment, cluster, unnest(range((until - getvariable('events_span_s'))::BIGINT, until::BIGINT, 10))::DOUBLE
       AS window_start FROM fresh;
CREATE OR REPLACE TEMP TABLE verdict AS
SELECT f.moment, f.until, v.* FROM fresh f
ASOF JOIN (SELECT *, window_start + 10 AS judged FROM broker_rtt_culprit WHERE is_settled) v
ON f.cluster = v.cluster AND f.until >= v.judged WHERE v.judged > f.moment - getvariable('fresh_s');
CREATE OR REPLACE TEMP TABLE seen AS
WITH lines AS (
    SELECT DISTINCT cluster, leader_id AS broker, 'request_log' AS source, window_start FROM fetch_latency
    UNION SELECT DISTINCT cluster, broker_id, 'metrics', window_start FROM leader_local_mean
    WHERE broker_id IS NOT NULL),
asked AS (SELECT moment, t.* FROM instants, (SELECT DISTINCT cluster, broker, source FROM lines) t)
SELECT moment, a.cluster, a.broker, a.source, least(l.window_start + 10, moment) AS seen_at
FROM asked a ASOF JOIN lines l
ON a.cluster = l.cluster AND a.broker = l.broker AND a.source = l.source AND a.moment > l.window_start
WHERE seen_at > moment - getvariable('remember_s');
CREATE OR REPLACE TEMP TABLE pairs AS
SELECT moment, cluster, p.follower_id AS follower, p.leader_id AS leader, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY is_accused DESC, worst_ms DESC, follower_id, leader_id) AS nth
FROM (SELECT moment, cluster, r.follower_id, r.leader_id, max(r.rtt_p50_ms) AS worst_ms,
             coalesce(bool_or(v.culprit = 'link' AND v.follower_id = r.follower_id
                              AND v.leader_id = r.leader_id), false) AS is_accused
      FROM spans JOIN broker_rtt r USING (cluster, window_start) LEFT JOIN verdict v USING (moment, cluster)
      WHERE r.is_settled GROUP BY ALL) p
WINDOW all_of AS (PARTITION BY moment, cluster);
CREATE OR REPLACE TEMP TABLE topics AS
WITH known AS (SELECT cluster, topic, partition, min(window_start) AS since, max(window_start) AS last
               FROM partition_skew WHERE partition IS NOT NULL GROUP BY ALL),
counted AS (SELECT f.moment, f.cluster, k.topic, count(*) AS partitions FROM fresh f JOIN known k
            ON f.cluster = k.cluster AND k.since < f.until AND k.last >= f.until - getvariable('remember_s')
            GROUP BY ALL),
sent AS (SELECT moment, cluster, topic, partition, sum(bytes) AS bytes, sum(batches) AS batches
         FROM events JOIN partition_skew USING (cluster, window_start)
         WHERE partition IS NOT NULL GROUP BY ALL)
SELECT moment, cluster, topic, sum(bytes) AS bytes, max(bytes) / nullif(sum(bytes) / any_value(partitions), 0)
       AS ratio, sum(batches) >= 20 * any_value(partitions) AS is_enough, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY sum(bytes) DESC, topic) AS nth
FROM sent JOIN counted USING (moment, cluster, topic) GROUP BY moment, cluster, topic
WINDOW all_of AS (PARTITION BY moment, cluster);
CREATE OR REPLACE TEMP TABLE consumers AS
SELECT moment, cluster, client_id AS client, max(leader_local_p99_ms) AS worst_ms, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY max(leader_local_p99_ms) DESC, client_id) AS nth
FROM spans JOIN fetch_latency USING (cluster, window_start)
WHERE is_settled AND kind = 'consumer' AND client_id IS NOT NULL GROUP BY moment, cluster, client_id
WINDOW all_of AS (PARTITION BY moment, cluster);
CREATE OR REPLACE TEMP TABLE askers AS
SELECT moment, cluster, client_id AS client, sum(lookups) AS lookups, sum(topics_asked) AS topics,
       sum(response_bytes) AS bytes, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY sum(response_bytes) DESC, client_id) AS nth
FROM events JOIN metadata_lookup USING (cluster, window_start)
WHERE client_id IS NOT NULL GROUP BY moment, cluster, client_id
WINDOW all_of AS (PARTITION BY moment, cluster);
"""


def quantiles(metric: str, labels: str, told: str, asked: str = "(0.5), (0.99)") -> str:
    """Give the query of true quantiles: histograms of a span are added up, and read at a rank."""
    return f"""
WITH told AS ({told}),
entries AS (SELECT moment, {labels}, unnest(map_entries(hist)) AS entry FROM told),
counts AS (SELECT moment, {labels}, entry.key AS bucket, sum(entry.value) AS n FROM entries GROUP BY ALL),
ranked AS (SELECT *, sum(n) OVER one_of AS total,
                  sum(n) OVER (one_of ORDER BY bucket ROWS UNBOUNDED PRECEDING) AS seen
           FROM counts WINDOW one_of AS (PARTITION BY moment, {labels})),
found AS (SELECT moment, {labels}, q::DOUBLE::VARCHAR AS quantile, min(bucket) AS key FROM ranked,
                 (VALUES {asked}) AS asked(q) WHERE seen >= greatest(1, ceil(q * total - 1e-9)) GROUP BY ALL)
SELECT moment, {labels}, quantile, CASE WHEN key = 0 THEN 0 ELSE sign(key)
       * exp((abs(key) - {_OFFSET}) * ln({_GAMMA})) * {2 / (_GAMMA + 1)} / 1000 END AS {metric} FROM found
"""


def _fetches(hist: str) -> str:
    return f"""SELECT moment, cluster, leader_id AS broker, kind, {hist} AS hist
FROM spans JOIN fetch_latency USING (cluster, window_start) WHERE is_settled"""


_OF_FETCH = "cluster, broker, kind"

BROKERS = (
    """
SELECT moment, cluster, until AS plumbline_gold_settled_timestamp_seconds,
       nodes_expected AS plumbline_brokers_expected, nodes_reporting AS plumbline_brokers_reporting
FROM newest""",
    """
SELECT moment, cluster, broker, source, seen_at AS plumbline_broker_last_seen_timestamp_seconds FROM seen""",
    """
SELECT moment, d.cluster, node, kind, sum(lines_read) AS plumbline_lines_read,
       sum(quarantined) AS plumbline_lines_quarantined,
       sum(quarantined) / nullif(sum(lines_read), 0) AS plumbline_quarantined_ratio
FROM instants JOIN data_quality d ON first_logged_at <= moment GROUP BY ALL""",
    """
SELECT moment, cluster, leader_id AS broker, kind, sum(n) AS plumbline_fetches
FROM spans JOIN fetch_latency USING (cluster, window_start) WHERE is_settled GROUP BY ALL""",
    quantiles("plumbline_fetch_total_seconds", _OF_FETCH, _fetches("total_hist")),
    quantiles("plumbline_fetch_leader_local_seconds", _OF_FETCH, _fetches("leader_local_hist")),
    quantiles("plumbline_fetch_true_seconds", _OF_FETCH, _fetches("true_hist")),
    quantiles(
        "plumbline_consumer_leader_local_seconds",
        "cluster, client",
        """SELECT moment, cluster, client, leader_local_hist AS hist
FROM spans JOIN fetch_latency f USING (cluster, window_start)
JOIN consumers c USING (moment, cluster) WHERE f.client_id = c.client AND kind = 'consumer' AND is_settled
AND nth <= getvariable('clients')""",
    ),
    quantiles(
        "plumbline_pair_round_trip_seconds",
        "cluster, follower, leader, method",
        """SELECT moment, cluster, follower, leader, method, rtt_hist AS hist
FROM spans JOIN broker_rtt r USING (cluster, window_start) JOIN pairs p USING (moment, cluster)
WHERE r.follower_id = p.follower AND r.leader_id = p.leader AND nth <= getvariable('pairs') AND is_settled""",
        "(0.1), (0.5), (0.99)",
    ),
    """
SELECT moment, cluster, follower, leader, method, quantile, ms / 1000 AS plumbline_pair_baseline_seconds
FROM (SELECT f.moment, f.cluster, p.follower, p.leader, b.method,
             unnest([{'quantile': '0.1', 'ms': b.p10_ms}, {'quantile': '0.5', 'ms': b.p50_ms}], recursive := true)
      FROM fresh f JOIN pairs p USING (moment, cluster) JOIN broker_rtt_baseline b
      ON b.cluster = f.cluster AND b.hour = floor((f.until - 10) / 3600) * 3600
      AND b.follower_id = p.follower AND b.leader_id = p.leader WHERE nth <= getvariable('pairs'))""",
    """
SELECT moment, cluster, follower, leader,
       (culprit = 'link' AND v.follower_id = follower AND v.leader_id = leader)::INT AS plumbline_link_slow
FROM pairs JOIN verdict v USING (moment, cluster) WHERE nth <= getvariable('pairs')""",
    """
SELECT DISTINCT moment, cluster, broker, (culprit = 'broker' AND broker_id = broker)::INT AS plumbline_broker_slow
FROM seen JOIN verdict USING (moment, cluster)""",
    """
SELECT DISTINCT moment, cluster, broker, side, (culprit = side || '_side'
       AND CASE side WHEN 'leader' THEN leader_id ELSE follower_id END = broker)::INT
       AS plumbline_broker_side_slow
FROM seen JOIN verdict USING (moment, cluster), (VALUES ('leader'), ('follower')) AS sides(side)""",
    """
SELECT moment, cluster, shape AS culprit, (v.culprit = shape)::INT AS plumbline_culprit
FROM verdict v, (VALUES ('none'), ('broker'), ('follower_side'), ('leader_side'), ('link'), ('ambiguous'),
                 ('not_enough_data')) AS shapes(shape)""",
    """
SELECT moment, cluster, coalesce(effect_ms / 1000, 'NaN') AS plumbline_culprit_effect_seconds,
       coalesce(effect_low_ms / 1000, 'NaN') AS plumbline_culprit_effect_low_seconds,
       coalesce(effect_high_ms / 1000, 'NaN') AS plumbline_culprit_effect_high_seconds,
       coalesce(since, 'NaN'::DOUBLE) AS plumbline_culprit_since_timestamp_seconds
FROM verdict""",
    """
SELECT moment, cluster, broker, unnest([{'quantile': '0.5', 'plumbline_stock_fetch_total_seconds': p50_ms / 1000},
       {'quantile': '0.99', 'plumbline_stock_fetch_total_seconds': p99_ms / 1000}], recursive := true)
FROM (SELECT moment, cluster, leader_id AS broker, arg_max(p50_ms, scraped_at) AS p50_ms,
             arg_max(p99_ms, scraped_at) AS p99_ms
      FROM spans JOIN stock_fetch_total USING (cluster) WHERE floor(scraped_at / 10) * 10 = window_start
      GROUP BY ALL)""",
    """
SELECT moment, cluster, broker_id AS broker, request,
       arg_max(leader_local_mean_ms, to_at) / 1000 AS plumbline_leader_local_mean_seconds
FROM spans JOIN leader_local_mean USING (cluster, window_start)
WHERE leader_local_mean_ms IS NOT NULL
AND request IN ('Produce', 'FetchFollower', 'FetchConsumer', 'Metadata') GROUP BY ALL""",
    """
SELECT moment, cluster, of, greatest(max(of_all) - max(most), 0) AS plumbline_left_out
FROM (SELECT moment, cluster, 'pairs' AS of, of_all, getvariable('pairs') AS most FROM pairs
      UNION ALL SELECT moment, cluster, 'topics', of_all, getvariable('topics') FROM topics
      UNION ALL SELECT moment, cluster, 'consumers', of_all, getvariable('clients') FROM consumers
      UNION ALL SELECT moment, cluster, 'lookups', of_all, getvariable('clients') FROM askers)
GROUP BY ALL""",
)
