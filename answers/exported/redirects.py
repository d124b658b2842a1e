"""How long clients need to find a new leader."""

from answers.exported.declared import ExportedQuestion, exported

MOST_REDIRECT_S = 1
"""The maximum time from the first error at the old leader to the first success at the new one."""

QUESTION = ExportedQuestion(
    prepared={
        "redirects": """
SELECT moment, cluster, kind, window_start IS NOT NULL AS is_event, redirect_ms
FROM fresh JOIN (SELECT unnest(['redirect', 'disconnect']) AS kind) ON true LEFT JOIN (
    SELECT moment, cluster, kind, window_start, redirect_ms
    FROM events JOIN rare.leader_redirect USING (cluster, window_start)) USING (moment, cluster, kind)"""
    },
    exported=(
        exported("""
-- cluster kind
-- leader_redirects | leader_redirect.redirect_ms | Clients that found a new leader.
-- leader_redirects_unfinished | leader_redirect.redirect_ms | Clients not seen to find one.
SELECT moment, cluster, kind, count(redirect_ms) AS plumbline_leader_redirects,
       count(*) FILTER (is_event AND redirect_ms IS NULL) AS plumbline_leader_redirects_unfinished
FROM redirects GROUP BY ALL"""),
        exported("""
-- cluster kind quantile
-- leader_redirect_seconds | leader_redirect.redirect_ms \
| First error to first success; quantile 1.0 is the longest; NaN: none.
SELECT moment, cluster, kind, quantile, coalesce(
       CASE quantile WHEN '1.0' THEN max(redirect_ms) ELSE quantile_disc(redirect_ms, 0.5) END / 1000, 'NaN')
       AS plumbline_leader_redirect_seconds
FROM redirects, (SELECT unnest(['0.5', '1.0']) AS quantile) GROUP BY moment, cluster, kind, quantile"""),
    ),
    alerts={
        "PlumblineRedirectSlow": "plumbline_leader_redirect_seconds"
        f'{{kind="redirect",quantile="1.0"}} > {MOST_REDIRECT_S}'
    },
)
