"""How long fetches take: by broker, of the slowest consumers, and as Kafka reports it."""

from answers.exported.declared import ExportedQuestion, exported, quantiles

QUESTION = ExportedQuestion(
    prepared={
        "consumers": """
SELECT moment, cluster, kind, client_id AS client, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY max(leader_local_p99_ms) DESC, client_id, kind) AS nth
FROM spans JOIN latest.fetch_latency USING (cluster, window_start)
WHERE is_settled AND kind IN ('consumer', 'share') AND client_id IS NOT NULL
GROUP BY moment, cluster, kind, client_id
WINDOW all_of AS (PARTITION BY moment, cluster)"""
    },
    exported=(
        exported("""
-- cluster broker kind
-- fetches | fetch_latency.n | Fetches in the span.
SELECT moment, cluster, leader_id AS broker, kind, sum(n) AS plumbline_fetches
FROM spans JOIN latest.fetch_latency USING (cluster, window_start) WHERE is_settled GROUP BY ALL"""),
        quantiles("""
-- cluster broker kind
-- fetch_total_seconds | fetch_latency.total_hist | Total time of fetches, purgatory included.
-- fetch_leader_local_seconds | fetch_latency.leader_local_hist | Total less remote time.
-- fetch_true_seconds | fetch_latency.true_hist | Elapsed at the follower less remote (KIP-736).
SELECT moment, cluster, leader_id AS broker, kind, total_hist, leader_local_hist, true_hist
FROM spans JOIN latest.fetch_latency USING (cluster, window_start) WHERE is_settled"""),
        quantiles("""
-- cluster client kind
-- consumer_leader_local_seconds | fetch_latency.leader_local_hist \
| Total less remote of the fetches of a consumer or share consumer; the slowest clients.
SELECT moment, cluster, client, kind, leader_local_hist
FROM spans JOIN latest.fetch_latency f USING (cluster, window_start)
JOIN consumers c USING (moment, cluster, kind)
WHERE f.client_id = c.client AND is_settled AND nth <= getvariable('clients')"""),
        exported("""
-- cluster broker quantile
-- stock_fetch_total_seconds | stock_fetch_total.p99_ms | TotalTimeMs of FetchFollower from Kafka.
SELECT moment, cluster, leader_id AS broker, quantile,
       arg_max(CASE quantile WHEN '0.5' THEN p50_ms ELSE p99_ms END, scraped_at) / 1000
       AS plumbline_stock_fetch_total_seconds
FROM spans JOIN latest.stock_fetch_total USING (cluster), (SELECT unnest(['0.5', '0.99']) AS quantile)
WHERE floor(scraped_at / 10) * 10 = window_start GROUP BY ALL"""),
        exported("""
-- cluster broker request
-- leader_local_mean_seconds | leader_local_mean.leader_local_mean_ms \
| Mean of the leader's own work, from metrics alone.
SELECT moment, cluster, broker_id AS broker, request,
       arg_max(leader_local_mean_ms, to_at) / 1000 AS plumbline_leader_local_mean_seconds
FROM spans JOIN latest.leader_local_mean USING (cluster, window_start)
WHERE leader_local_mean_ms IS NOT NULL
AND request IN ('Produce', 'FetchFollower', 'FetchConsumer', 'ShareFetch', 'Metadata') GROUP BY ALL"""),
    ),
)
