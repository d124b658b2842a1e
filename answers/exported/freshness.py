"""How new and how complete gold is: settled windows, silent brokers, quarantined lines, bounded series."""

from answers.data_quality.counts import LATE_S, MOST_QUARANTINED
from answers.exported.declared import ExportedQuestion, exported

SILENT_S = 120
"""A broker without data for longer is silent, if another broker has newer data."""

NOT_FRESH_S = 180
"""Gold is not fresh if its newest settled window ended earlier."""

_SEEN_AT = "plumbline_broker_last_seen_timestamp_seconds"
_AGE, _NEWEST_AGE = f"time() - {_SEEN_AT}", f"time() - max by (cluster) ({_SEEN_AT})"
_LAG = f"(max by (cluster, source) ({_SEEN_AT}) - on (cluster, source) group_right () {_SEEN_AT})"
_WINDOWS = """
SELECT moment, cluster, unnest(range((until - getvariable('{}'))::BIGINT, until::BIGINT, 10))::DOUBLE
       AS window_start FROM fresh"""

QUESTION = ExportedQuestion(
    prepared={
        # A cluster without a request log is settled up to its newest metrics.
        "settled": """
SELECT cluster, window_start + 10 AS until, max(nodes_expected) AS nodes_expected,
       max(nodes_reporting) AS nodes_reporting
FROM (SELECT cluster, window_start, nodes_expected, nodes_reporting
      FROM remembered.fetch_latency WHERE is_settled
      UNION ALL BY NAME SELECT cluster, window_start, nodes_expected, nodes_reporting
      FROM remembered.broker_rtt WHERE is_settled
      UNION ALL BY NAME SELECT cluster, window_start FROM remembered.leader_local_mean
      WHERE cluster NOT IN (SELECT cluster FROM remembered.fetch_latency))
GROUP BY ALL""",
        "newest": """
SELECT i.moment, i.cluster, s.until, s.nodes_expected, s.nodes_reporting
FROM (SELECT moment, cluster FROM instants, (SELECT DISTINCT cluster FROM settled)) i
ASOF JOIN settled s ON i.cluster = s.cluster AND i.moment >= s.until""",
        "fresh": "SELECT * FROM newest WHERE until > moment - getvariable('fresh_s')",
        "spans": _WINDOWS.format("span_s"),
        "events": _WINDOWS.format("events_span_s"),
        "seen": """
WITH lines AS (
    SELECT cluster, leader_id AS broker, 'request_log' AS source, window_start FROM remembered.fetch_latency
    UNION SELECT cluster, broker_id, 'metrics', window_start FROM remembered.leader_local_mean
    WHERE broker_id IS NOT NULL)
SELECT moment, a.cluster, a.broker, a.source, least(l.window_start + 10, moment) AS seen_at
FROM (SELECT moment, t.* FROM instants, (SELECT DISTINCT cluster, broker, source FROM lines) t) a
ASOF JOIN lines l
ON a.cluster = l.cluster AND a.broker = l.broker AND a.source = l.source AND a.moment > l.window_start
WHERE seen_at > moment - getvariable('remember_s')""",
    },
    exported=(
        exported("""
-- cluster
-- gold_settled_timestamp_seconds | fetch_latency.is_settled | End of the newest settled window.
-- brokers_expected | fetch_latency.nodes_expected | Brokers seen around that window.
-- brokers_reporting | fetch_latency.nodes_reporting | Brokers with a line in that window.
SELECT moment, cluster, until AS plumbline_gold_settled_timestamp_seconds,
       nodes_expected AS plumbline_brokers_expected, nodes_reporting AS plumbline_brokers_reporting
FROM newest"""),
        exported(f"""
-- cluster broker source
-- broker_last_seen_timestamp_seconds | fetch_latency.window_start \
| End of the newest window with a fetch in the broker's request log, or with its metrics.
SELECT moment, cluster, broker, source, seen_at AS {_SEEN_AT} FROM seen"""),
        exported("""
-- cluster node kind
-- lines_read | data_quality.lines_read | Lines that bronze holds.
-- lines_quarantined | data_quality.quarantined | Of these, quarantined.
-- quarantined_ratio | data_quality.quarantined | Share of these lines, 0 to 1.
SELECT moment, d.cluster, node, kind, sum(lines_read) AS plumbline_lines_read,
       sum(quarantined) AS plumbline_lines_quarantined,
       sum(quarantined) / nullif(sum(lines_read), 0) AS plumbline_quarantined_ratio
FROM instants JOIN latest.data_quality d ON first_logged_at <= moment GROUP BY ALL"""),
        exported("""
-- cluster of
-- left_out | fetch_latency.client_id | Pairs, topics or clients beyond the limits of [export].
SELECT moment, cluster, of, greatest(max(of_all) - max(most), 0) AS plumbline_left_out
FROM (SELECT moment, cluster, 'pairs' AS of, of_all, getvariable('pairs') AS most FROM pairs
      UNION ALL SELECT moment, cluster, 'topics', of_all, getvariable('topics') FROM topics
      UNION ALL SELECT moment, cluster, 'consumers', of_all, getvariable('clients') FROM consumers
      UNION ALL SELECT moment, cluster, 'lookups', of_all, getvariable('clients') FROM askers)
GROUP BY ALL"""),
    ),
    alerts={
        "PlumblineNodeSilent": f"{_AGE} > {SILENT_S} and on (cluster) {_NEWEST_AGE} < {SILENT_S}",
        "PlumblineNodeLags": f"{_LAG} > {LATE_S}",
        "PlumblineQuarantine": f"plumbline_quarantined_ratio > {MOST_QUARANTINED}",
        "PlumblineGoldNotFresh": f"time() - plumbline_gold_settled_timestamp_seconds > {NOT_FRESH_S}",
    },
)
