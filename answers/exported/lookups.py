"""What metadata lookups cost, and the costliest clients."""

from answers.exported.declared import ExportedQuestion, exported

MOST_BYTES_PER_S = 1_000_000
"""The maximum of bytes per second in responses to METADATA."""

QUESTION = ExportedQuestion(
    prepared={
        "askers": """
SELECT moment, cluster, client_id AS client, sum(lookups) AS lookups, sum(topics_asked) AS topics,
       sum(response_bytes) AS bytes, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY sum(response_bytes) DESC, client_id) AS nth
FROM events JOIN rare.metadata_lookup USING (cluster, window_start)
WHERE client_id IS NOT NULL GROUP BY moment, cluster, client_id
WINDOW all_of AS (PARTITION BY moment, cluster)"""
    },
    exported=(
        exported("""
-- cluster
-- metadata_lookups_per_second | metadata_lookup.lookups | METADATA requests.
-- metadata_topics_per_second | metadata_lookup.topics_asked | Topics requested in them.
-- metadata_bytes_per_second | metadata_lookup.response_bytes | Size of the responses.
SELECT moment, cluster,
       coalesce(sum(lookups), 0) / getvariable('events_span_s') AS plumbline_metadata_lookups_per_second,
       coalesce(sum(topics), 0) / getvariable('events_span_s') AS plumbline_metadata_topics_per_second,
       coalesce(sum(bytes), 0) / getvariable('events_span_s') AS plumbline_metadata_bytes_per_second
FROM fresh LEFT JOIN askers USING (moment, cluster) GROUP BY ALL"""),
        exported("""
-- cluster client
-- client_metadata_lookups_per_second | metadata_lookup.lookups | Of the costliest clients.
-- client_metadata_bytes_per_second | metadata_lookup.response_bytes | Of the costliest clients.
-- client_metadata_topics_per_lookup | metadata_lookup.topics_asked | Of the costliest clients.
SELECT moment, cluster, client,
       lookups / getvariable('events_span_s') AS plumbline_client_metadata_lookups_per_second,
       bytes / getvariable('events_span_s') AS plumbline_client_metadata_bytes_per_second,
       topics / nullif(lookups, 0) AS plumbline_client_metadata_topics_per_lookup
FROM askers WHERE nth <= getvariable('clients')"""),
    ),
    alerts={"PlumblineMetadataCost": f"plumbline_metadata_bytes_per_second > {MOST_BYTES_PER_S}"},
)
