"""Which follower holds produce back, and for how long."""

from answers.exported.declared import ExportedQuestion, exported, quantiles
from answers.produce_held.verdict import HOLDS_MS, HOLDS_SHARE, MIN_REQUESTS

QUESTION = ExportedQuestion(
    prepared={
        "held_pairs": """
SELECT moment, cluster, leader_id AS leader, follower_id AS follower, sum(n_released) AS released,
       sum(held_sum_ms) / nullif(sum(n_released + n_tie), 0) AS held_ms,
       sum(sum(n - n_not_held - coalesce(n_failed, 0)))
           OVER (PARTITION BY moment, cluster, leader_id) AS waited
FROM spans JOIN latest.produce_held USING (cluster, window_start)
GROUP BY moment, cluster, leader_id, follower_id"""
    },
    exported=(
        quantiles("""
-- cluster leader follower
-- produce_held_seconds | produce_held.held_hist | What produce would save without the follower.
-- produce_remote_seconds | produce_held.remote_hist | Replication wait of what its fetches completed, ties too.
SELECT moment, cluster, leader, follower, held_hist, remote_hist
FROM spans JOIN latest.produce_held h USING (cluster, window_start) JOIN pairs p USING (moment, cluster)
WHERE h.leader_id = p.leader AND h.follower_id = p.follower AND nth <= getvariable('pairs')"""),
        exported(f"""
-- cluster leader follower
-- produce_released_ratio | produce_held.n_released | Share of the leader's waiting requests, 0 to 1.
-- produce_holding | produce_held.held_sum_ms | 1: the follower holds the leader's requests back.
SELECT moment, cluster, leader, follower,
       coalesce(released / nullif(waited, 0), 0) AS plumbline_produce_released_ratio,
       coalesce(released >= {MIN_REQUESTS} AND released >= {HOLDS_SHARE} * waited
                AND held_ms >= {HOLDS_MS}, false)::INT AS plumbline_produce_holding
FROM pairs LEFT JOIN held_pairs USING (moment, cluster, leader, follower)
WHERE nth <= getvariable('pairs')"""),
    ),
    alerts={"PlumblineProduceHeld": "plumbline_produce_holding == 1"},
)
