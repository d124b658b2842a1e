"""
A5: active clients whose leader died, as SQL. A dead leader returns no errors, so its silence is the evidence.

`TAKEOVERS` and `SIGNS_OF_LIFE` are the queries of the tables `takeovers` and `signs`, which the others read.
"""

from schemas.gold.leader_redirect import DISCONNECT
from transforms.gold.leader_redirect.cause import FOUND_WITHIN_S, FOUND_WITHIN_US
from transforms.gold.leader_redirect.client_tries import OF_PARTITION
from transforms.sql import window_s
from transforms.windows import Reach

SILENT_BEFORE_S, SILENT_AFTER_S = 2, 1
"""
A broker without a sign of life for this time before and after a takeover is dead.

A live broker receives or sends follower fetches every 500 ms (`replica.fetch.wait.max.ms`). A dead broker has
been silent for 7 to 9 s at the takeover (`broker.session.timeout.ms`), so clocks may differ by seconds.
"""

RHYTHM, AT_WORK_S = 2, 1
"""A pause of up to twice the client's longest one, or up to a second, is normal for the client."""

TAKEOVER_REACH = Reach(lookahead_s=FOUND_WITHIN_S)
"""The reach for takeovers. All parts of an event are within `FOUND_WITHIN_S`."""

LED = "cluster, topic, partition, old_leader_id"

CHANGES_COLUMNS = (
    *("cluster", "role", "topic_name", "topic_id", "partition_index", "broker_id", "previous_leader_id"),
    "logged_at",
)
CHANGES = """
    SELECT
        * EXCLUDE (topic_name, partition_index, logged_at), topic_name AS topic, partition_index AS partition,
        epoch_us(logged_at) AS changed_us
    FROM rows
"""

SIGNS_COLUMNS = ("cluster", "broker_id", "kind", "follower_id", "logged_at", "started_at")

IS_TAKEOVER = "role = 'leader' AND coalesce(previous_leader_id != broker_id, false)"
"""The condition that a broker takes over from another, on `silver.leadership_changes`."""

TAKEOVERS = f"""
    SELECT DISTINCT
        cluster, topic, topic_id, partition, previous_leader_id AS old_leader_id, changed_us AS taken_us
    FROM changes WHERE {IS_TAKEOVER} AND changed_us IS NOT NULL
"""

SIGNS_OF_LIFE = """
    WITH signs AS (
        SELECT cluster, unnest([
            {'sign_of': broker_id, 'at_us': epoch_us(logged_at)},
            {'sign_of': CASE WHEN kind = 'follower' THEN follower_id END, 'at_us': epoch_us(started_at)}
        ], max_depth := 2) FROM rows
    )
    SELECT cluster, sign_of, min(at_us) AS first_us, max(at_us) AS last_us FROM signs
    WHERE at_us IS NOT NULL AND sign_of IS NOT NULL GROUP BY cluster, sign_of, at_us // 1000000
"""
"""
The first and the last sign of life of each broker in each second, from all logs.

Signs are the lines of its request log and its follower fetches in the logs of other brokers, which
continue if its own log ends early.
"""

DEAD = f"""
    WITH silent AS (
        SELECT takeovers.*, max(last_us) AS gone_us FROM takeovers JOIN signs
        ON takeovers.cluster = signs.cluster AND old_leader_id = sign_of
            AND last_us > taken_us - {FOUND_WITHIN_S - SILENT_AFTER_S} * 1000000
            AND first_us <= taken_us + {SILENT_AFTER_S} * 1000000
        GROUP BY ALL HAVING gone_us < taken_us - {SILENT_BEFORE_S} * 1000000
    )
    SELECT
        {LED}, gone_us, min(taken_us) AS first_taken_us, max(topic_id) AS topic_id,
        greatest(
            first_taken_us - {FOUND_WITHIN_S - SILENT_AFTER_S} * 1000000,
            lag(gone_us) OVER (PARTITION BY {LED} ORDER BY gone_us)
        ) AS since_us
    FROM silent GROUP BY {LED}, gone_us
"""
"""
Each partition that a broker led which shows no sign of life around the takeover, by the lines so far.

Late lines can only remove takeovers. `gone_us` is the last sign of life, `since_us` the start of the broker's
last life. A broker whose log is not collected or has not arrived has no row.
"""

OF_DEAD = f"""
    EXISTS (
        FROM dead WHERE dead.cluster = each.cluster AND dead.topic = each.topic
            AND dead.partition = each.partition AND abs(answered_us - first_taken_us) <= 2 * {FOUND_WITHIN_US}
    )
"""
"""The condition of the tries of these partitions, at any broker, within two minutes of the takeover."""

LAST_ANSWERS = f"""
    WITH answers AS (
        SELECT
            {OF_PARTITION}, old_leader_id, gone_us, answered_us, position, software_version,
            is_served, answered_us - lag(answered_us) OVER (
                PARTITION BY {OF_PARTITION}, old_leader_id, gone_us ORDER BY answered_us, position
            ) AS pause_us
        FROM tried JOIN dead USING (cluster, topic, partition)
        WHERE kind = '{DISCONNECT}' AND leader_id = old_leader_id
            AND answered_us > since_us AND answered_us <= gone_us
    ),
    clients AS (
        SELECT {OF_PARTITION}, old_leader_id, gone_us,
            greatest({RHYTHM} * max(pause_us), {AT_WORK_S} * 1000000) AS usual_us,
            max((answered_us, position, software_version)) FILTER (is_served) AS last
        FROM answers GROUP BY ALL HAVING max(pause_us) IS NOT NULL
    )
    SELECT
        '{DISCONNECT}' AS kind, {OF_PARTITION}, last[1] AS errored_us, {window_s("errored_us")} AS window_s,
        errored_us AS asked_us, NULL AS asked_as, old_leader_id, last[3] AS software_version,
        NULL AS error_code, NULL AS hinted, NULL AS leader_epoch, usual_us
    FROM clients WHERE gone_us - errored_us <= usual_us
"""
"""The last success of each client that was active when its leader died, with its usual pause."""
