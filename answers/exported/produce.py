"""Which follower holds produce back, and for how long."""

from answers.exported.declared import ExportedQuestion, exported, quantiles
from answers.produce_held.verdict import HOLDS, MIN_WINDOWS

QUESTION = ExportedQuestion(
    prepared={
        "held_windows": """
SELECT moment, cluster, leader_id AS leader, follower_id AS follower, window_start,
       sum(n_released) AS released, sum(n_released + n_tie) AS completed, sum(held_sum_ms) AS held_ms,
       sum(n - n_not_held - coalesce(n_failed, 0)) AS waited
FROM spans JOIN latest.produce_held USING (cluster, window_start)
GROUP BY moment, cluster, leader_id, follower_id, window_start""",
        "held_pairs": f"""
SELECT moment, cluster, leader, follower, sum(released) AS released,
       sum(sum(waited)) OVER (PARTITION BY moment, cluster, leader) AS waited,
       count(*) FILTER ({HOLDS}) AS holding,
       row_number() OVER (
           PARTITION BY moment, cluster ORDER BY sum(held_ms) DESC NULLS LAST, leader, follower) AS nth
FROM held_windows GROUP BY moment, cluster, leader, follower""",
        "exported_pairs": """
SELECT moment, cluster, leader, follower FROM pairs WHERE nth <= getvariable('pairs')
UNION
SELECT moment, cluster, leader, follower FROM held_pairs
WHERE nth <= getvariable('pairs') AND follower IS NOT NULL AND released > 0""",
    },
    exported=(
        quantiles("""
-- cluster leader follower
-- produce_held_seconds | produce_held.held_hist | What produce would save without the follower.
-- produce_remote_seconds | produce_held.remote_hist | Wait of what its fetches completed, ties too.
SELECT moment, cluster, leader, follower, held_hist, remote_hist
FROM spans JOIN latest.produce_held h USING (cluster, window_start)
JOIN exported_pairs p USING (moment, cluster)
WHERE h.leader_id = p.leader AND h.follower_id = p.follower"""),
        exported(f"""
-- cluster leader follower
-- produce_released_ratio | produce_held.n_released | Share of the leader's waiting requests, 0 to 1.
-- produce_holding | produce_held.held_sum_ms | 1: it holds back, in {MIN_WINDOWS} windows of a minute.
SELECT moment, cluster, leader, follower,
       coalesce(released / nullif(waited, 0), 0) AS plumbline_produce_released_ratio,
       coalesce(holding >= {MIN_WINDOWS}, false)::INT AS plumbline_produce_holding
FROM exported_pairs LEFT JOIN held_pairs USING (moment, cluster, leader, follower)"""),
    ),
    alerts={"PlumblineProduceHeld": "plumbline_produce_holding == 1"},
)
