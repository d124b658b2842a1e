"""A5: how long a client has no leader when a leader moves (KIP-951), from the logs of both leaders."""

from schemas.gold.leader_redirect import DISCONNECT, REDIRECT
from transforms.gold.fetch_latency.pairing import MAX_ELAPSED_S, NEAR_S
from transforms.gold.leader_redirect.cause import FOUND_WITHIN_S, FOUND_WITHIN_US
from transforms.gold.leader_redirect.client_tries import OF_PARTITION
from transforms.gold.leader_redirect.found import found_again
from transforms.gold.runs.of_client import with_run
from transforms.sql import window_s
from transforms.windows import Reach

REQUESTS_REACH = Reach(lookback_s=FOUND_WITHIN_S, lookahead_s=FOUND_WITHIN_S)
CHANGES_REACH = REQUESTS_REACH
CLIENT_EVENTS_REACH = Reach(
    lookback_s=FOUND_WITHIN_S + MAX_ELAPSED_S + NEAR_S, lookahead_s=FOUND_WITHIN_S + NEAR_S
)


def leader_redirect(wanted: str = "true") -> str:
    """
    Return the query of one row per partition whose leader a client lost and found again at another broker.

    It reads `lost` (`FIRST_ERRORS`, `disconnect.LAST_ANSWERS`), `tried` (`client_tries.tries`), `runs`, and
    what `found_again` reads. `wanted` is a condition of the events.

    A redirect begins with the first error of the old leader after its last success. It ends when another
    broker has served a later request: a PRODUCE including replication, or a FETCH without the wait for
    records. A busy broker logs the error late, so the end can be before `errored_at`. Then all durations are
    0.

    Errors of a broker that serves the next request itself are no event, because it was not ready yet. They
    count as `errors_at_new_leader` in the event of the previous leader.

    A disconnect begins with the last response of a dead leader and ends with the first success of its
    successor. An error 6 or 74 of the old leader in between makes it a redirect, even if that leader
    restarted. A client that returns within its usual pause was idle.
    """
    is_disconnect = """
        leads_from_us > errored_us AND errors_at_old_leader = 0 AND succeeded_us - errored_us > usual_us
    """
    between_ms = "({1}_us - {0}_us) / 1e3".format
    blocked_ms = "CASE WHEN tried_us IS NOT NULL THEN blocked_us / 1e3 END"
    rows = f"""
        SELECT
            * REPLACE (CASE WHEN kind = '{REDIRECT}' THEN moved_by END AS moved_by), errored_us AS logged_us,
            NULL::VARCHAR AS connection,
            {blocked_ms} AS blocked_ms, {between_ms("errored", "succeeded")} AS redirect_ms,
            {between_ms("errored", "tried")} - blocked_ms AS client_part_ms,
            {between_ms("tried", "succeeded")} + blocked_ms AS broker_part_ms,
            CASE WHEN leads_from_us > tried_us THEN {between_ms("tried", "leads_from")}
                WHEN leads_from_us <= tried_us THEN 0.0 END AS not_ready_ms
        FROM ({found_again()}) WHERE {wanted} AND (kind <> '{DISCONNECT}' OR {is_disconnect})
    """
    return with_run(rows)


FIRST_ERRORS = f"""
    SELECT
        kind, {OF_PARTITION}, answered_us AS errored_us, {window_s("answered_us")} AS window_s,
        arrived_us AS asked_us, correlation_id AS asked_as, leader_id AS old_leader_id, software_version,
        error_code, hinted_leader_id IS NOT NULL AS hinted,
        hinted_leader_epoch AS leader_epoch, NULL::BIGINT AS usual_us
    FROM (
        SELECT
            *, coalesce(lag(is_lost) OVER at_broker, false) AS was_lost,
            answered_us - lag(answered_us) OVER at_broker AS since_last_us
        FROM tried WHERE kind = '{REDIRECT}'
        WINDOW at_broker AS (PARTITION BY {OF_PARTITION}, leader_id ORDER BY answered_us, position)
    ) WHERE is_lost AND (NOT was_lost OR coalesce(since_last_us > {FOUND_WITHIN_US}, false))
"""
"""The errors that follow a success of the same client at the same broker, or no earlier try."""
