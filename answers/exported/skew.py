"""How even producers use the partitions of the busiest topics."""

from answers.exported.declared import ExportedQuestion, exported

MOST_SKEW = 2
"""The maximum of a topic's fullest partition over the mean of its partitions."""

MIN_BATCHES = 20
"""The minimum number of batches per partition for a ratio."""

QUESTION = ExportedQuestion(
    prepared={
        "topics": f"""
WITH known AS (SELECT cluster, topic, partition, min(window_start) AS since, max(window_start) AS last
               FROM remembered.partition_skew WHERE partition IS NOT NULL GROUP BY ALL),
counted AS (SELECT f.moment, f.cluster, k.topic, count(*) AS partitions FROM fresh f JOIN known k
            ON f.cluster = k.cluster AND k.since < f.until AND k.last >= f.until - getvariable('remember_s')
            GROUP BY ALL),
sent AS (SELECT moment, cluster, topic, partition, sum(bytes) AS bytes, sum(batches) AS batches
         FROM events JOIN rare.partition_skew USING (cluster, window_start)
         WHERE partition IS NOT NULL GROUP BY ALL)
SELECT moment, cluster, topic, sum(bytes) AS bytes,
       max(bytes) / nullif(sum(bytes) / any_value(partitions), 0) AS ratio,
       sum(batches) >= {MIN_BATCHES} * any_value(partitions) AS is_enough, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY sum(bytes) DESC, topic) AS nth
FROM sent JOIN counted USING (moment, cluster, topic) GROUP BY moment, cluster, topic
WINDOW all_of AS (PARTITION BY moment, cluster)"""
    },
    exported=(
        exported(f"""
-- cluster topic
-- topic_bytes_per_second | partition_skew.bytes | Produced; the busiest topics.
-- topic_skew_ratio | partition_skew.bytes \
| Bytes of the fullest partition over the mean; 1 is even; from {MIN_BATCHES} batches a partition on.
SELECT moment, cluster, topic, bytes / getvariable('events_span_s') AS plumbline_topic_bytes_per_second,
       CASE WHEN is_enough THEN ratio END AS plumbline_topic_skew_ratio
FROM topics WHERE nth <= getvariable('topics')"""),
        exported("""
-- cluster
-- worst_topic_skew_ratio | partition_skew.bytes | The highest; NaN: no topic has enough batches.
SELECT moment, cluster, coalesce(max(ratio) FILTER (is_enough), 'NaN') AS plumbline_worst_topic_skew_ratio
FROM fresh LEFT JOIN topics USING (moment, cluster) GROUP BY ALL"""),
    ),
    alerts={"PlumblineSkew": f"plumbline_worst_topic_skew_ratio > {MOST_SKEW}"},
)
