"""Round trips of broker pairs, and the culprit of slow ones."""

from answers.exported.declared import ExportedQuestion, exported, quantiles

_CULPRIT = "broker_rtt_culprit.culprit"

QUESTION = ExportedQuestion(
    prepared={
        "verdict": """
SELECT f.moment, f.until, v.* FROM fresh f
ASOF JOIN (SELECT cluster, culprit, broker_id, follower_id, leader_id, effect_ms, effect_low_ms,
                  effect_high_ms, since, window_start + 10 AS judged
           FROM latest.broker_rtt_culprit WHERE is_settled) v
ON f.cluster = v.cluster AND f.until >= v.judged WHERE v.judged > f.moment - getvariable('fresh_s')""",
        "pairs": """
SELECT moment, cluster, p.follower_id AS follower, p.leader_id AS leader, count(*) OVER all_of AS of_all,
       row_number() OVER (all_of ORDER BY is_accused DESC, worst_ms DESC, follower_id, leader_id) AS nth
FROM (SELECT moment, cluster, r.follower_id, r.leader_id, max(r.rtt_p50_ms) AS worst_ms,
             coalesce(bool_or(v.culprit = 'link' AND v.follower_id = r.follower_id
                              AND v.leader_id = r.leader_id), false) AS is_accused
      FROM spans JOIN latest.broker_rtt r USING (cluster, window_start)
      LEFT JOIN verdict v USING (moment, cluster) WHERE r.is_settled GROUP BY ALL) p
WINDOW all_of AS (PARTITION BY moment, cluster)""",
    },
    exported=(
        quantiles(
            """
-- cluster follower leader method
-- pair_round_trip_seconds | broker_rtt.rtt_hist | Round trip of a pair of brokers.
SELECT moment, cluster, follower, leader, method, rtt_hist
FROM spans JOIN latest.broker_rtt r USING (cluster, window_start) JOIN pairs p USING (moment, cluster)
WHERE r.follower_id = p.follower AND r.leader_id = p.leader AND nth <= getvariable('pairs') AND is_settled""",
            (0.1, 0.5, 0.99),
        ),
        exported("""
-- cluster follower leader method quantile
-- pair_baseline_seconds | broker_rtt_baseline.p50_ms | Normal round trip of the pair.
SELECT f.moment, f.cluster, follower, leader, method, quantile,
       CASE quantile WHEN '0.1' THEN p10_ms ELSE p50_ms END / 1000 AS plumbline_pair_baseline_seconds
FROM fresh f JOIN pairs USING (moment, cluster) JOIN latest.broker_rtt_baseline b
     ON b.cluster = f.cluster AND b.hour = floor((f.until - 10) / 3600) * 3600
     AND b.follower_id = follower AND b.leader_id = leader, (SELECT unnest(['0.1', '0.5']) AS quantile)
WHERE nth <= getvariable('pairs')"""),
        exported(f"""
-- cluster follower leader
-- link_slow | {_CULPRIT} | 1: this link is named as the culprit.
SELECT moment, cluster, follower, leader,
       (culprit = 'link' AND v.follower_id = follower AND v.leader_id = leader)::INT AS plumbline_link_slow
FROM pairs JOIN verdict v USING (moment, cluster) WHERE nth <= getvariable('pairs')"""),
        exported(f"""
-- cluster broker
-- broker_slow | {_CULPRIT} | 1: this broker is named as the culprit.
SELECT DISTINCT moment, cluster, broker,
       (culprit = 'broker' AND broker_id = broker)::INT AS plumbline_broker_slow
FROM seen JOIN verdict USING (moment, cluster)"""),
        exported(f"""
-- cluster broker side
-- broker_side_slow | {_CULPRIT} | 1: the broker is named as slow as follower or as leader.
SELECT DISTINCT moment, cluster, broker, side, (culprit = side || '_side'
       AND CASE side WHEN 'leader' THEN leader_id ELSE follower_id END = broker)::INT
       AS plumbline_broker_side_slow
FROM seen JOIN verdict USING (moment, cluster), (SELECT unnest(['leader', 'follower']) AS side)"""),
        exported(f"""
-- cluster culprit
-- culprit | {_CULPRIT} | 1 at the verdict of the newest settled window.
SELECT moment, cluster, shape AS culprit, (v.culprit = shape)::INT AS plumbline_culprit
FROM verdict v, (SELECT unnest(['none', 'broker', 'follower_side', 'leader_side', 'link', 'ambiguous',
                                'not_enough_data']) AS shape)"""),
        exported("""
-- cluster
-- culprit_effect_seconds | broker_rtt_culprit.effect_ms | Delay of the accused pairs; NaN: none.
-- culprit_effect_low_seconds | broker_rtt_culprit.effect_low_ms | Low end of its 95 % interval.
-- culprit_effect_high_seconds | broker_rtt_culprit.effect_high_ms | High end of it.
-- culprit_since_timestamp_seconds | broker_rtt_culprit.since | Onset of the evidence; NaN: none.
SELECT moment, cluster, coalesce(effect_ms / 1000, 'NaN') AS plumbline_culprit_effect_seconds,
       coalesce(effect_low_ms / 1000, 'NaN') AS plumbline_culprit_effect_low_seconds,
       coalesce(effect_high_ms / 1000, 'NaN') AS plumbline_culprit_effect_high_seconds,
       coalesce(since, 'NaN'::DOUBLE) AS plumbline_culprit_since_timestamp_seconds
FROM verdict"""),
    ),
    alerts={
        "PlumblineSlowLink": "plumbline_link_slow == 1",
        "PlumblineSlowBroker": "plumbline_broker_slow == 1",
        "PlumblineSlowSide": "plumbline_broker_side_slow == 1",
    },
)
