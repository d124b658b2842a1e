"""The first success of a client after it lost a leader, and the causes of its wait, as SQL."""

from transforms.gold.fetch_latency.clocks import clocks
from transforms.gold.fetch_latency.pairing import NEAR_S
from transforms.gold.leader_redirect.cause import (
    FOUND_WITHIN_S,
    FOUND_WITHIN_US,
    LEADS_FROM_US,
    METADATA_REQUESTS,
    MOVED_BY,
)
from transforms.gold.leader_redirect.client_tries import OF_PARTITION

CLOCKS_WITHIN_S = FOUND_WITHIN_S - 2 * NEAR_S
"""The maximum distance of fetches for clock offsets. Pairing them needs lines up to `NEAR_S` further away."""

# The instants of a try are converted to the clock of the old leader.
_NEAR = f"""
    SELECT
        event, errored_us, asked_us, asked_as, tried.leader_id, is_lost, is_served, correlation_id,
        tried.connection, tried.leader_id = old_leader_id AS is_old, clock_bound_ms,
        coalesce(clocks.offset_us, 0) AS ahead_us, arrived_us - ahead_us AS arrived_us,
        answered_us - ahead_us AS answered_us, done_us - ahead_us AS done_us
    FROM lost JOIN tried USING (kind, {OF_PARTITION}) LEFT JOIN clocks
        ON lost.cluster = clocks.cluster AND lost.window_s = clocks.window_s
            AND old_leader_id = from_id AND tried.leader_id = to_id
    WHERE tried.answered_us BETWEEN errored_us - 2 * {FOUND_WITHIN_US} AND errored_us + 2 * {FOUND_WITHIN_US}
"""

# At another broker, the criterion is the arrival of both requests or the client's correlation ids, because a
# late log line makes an arrival look too late. At the old leader, the criterion is the error response.
# Otherwise requests that it was still processing would look like successes after the error.
_IS_LATER = f"""
    coalesce(arrived_us > CASE WHEN is_old THEN errored_us ELSE asked_us END, false)
    OR coalesce(
        correlation_id > asked_as AND arrived_us > asked_us - {NEAR_S} * 1000000 AND NOT is_old, false
    )
"""

_END = f"""
    SELECT event, min((done_us, leader_id, ahead_us, clock_bound_ms)) AS found
    FROM tries WHERE is_served AND is_later AND done_us <= errored_us + {FOUND_WITHIN_US} GROUP BY event
"""

_IS_TIMELY = f"each.arrived_us <= coalesce(succeeded_us, each.errored_us + {FOUND_WITHIN_US})"
_IS_NEW = "each.leader_id = new_leader_id"
_IS_REFUSED = f"is_lost AND answered_us >= each.errored_us AND {_IS_TIMELY}"

# A broker reads the next request of a connection after the response to the previous one (`SocketServer` mutes
# the connection), so these requests never overlap.
_BLOCKED_US = """
    SELECT coalesce(sum(
        least(done_us, tried_us + offset_us) - greatest(arrived_us, errored_us + offset_us)
    ), 0)::BIGINT
    FROM held WHERE held.kind = events.kind AND held.cluster = events.cluster
        AND held.leader_id = new_leader_id AND held.connection = tried_on
        AND arrived_us < tried_us + offset_us AND done_us > errored_us + offset_us
"""
"""How long the new leader processed earlier requests of the first try's connection."""


def found_again() -> str:
    """
    Return the query of the first success after each event in `lost`, and what happened until then.

    It reads `lost`, `tried`, `fetches`, `lookups`, `changes` and `moves`. Added are `succeeded_us`,
    `new_leader_id` and its clock offset, the first try and the errors at the new leader, the errors at the
    old leader, and the causes. Events that end at the old leader are removed.
    """
    return f"""
        WITH clocks AS ({clocks("FROM lost", CLOCKS_WITHIN_S)}),
        tries AS (SELECT *, {_IS_LATER} AS is_later FROM ({_NEAR})),
        ends AS ({_END}),
        ended AS (
            SELECT
                lost.*, CASE WHEN found IS NOT NULL THEN greatest(errored_us, found[1]) END AS succeeded_us,
                found[2] AS new_leader_id, found[3] AS offset_us, found[4] AS clock_bound_ms
            FROM lost LEFT JOIN ends USING (event) WHERE new_leader_id IS DISTINCT FROM old_leader_id
        ),
        counted AS (
            SELECT
                event, count(*) FILTER (is_old AND {_IS_REFUSED}) AS errors_at_old_leader,
                count(*) FILTER ({_IS_NEW} AND {_IS_REFUSED}) AS errors_at_new_leader,
                min((arrived_us, each.connection)) FILTER ({_IS_NEW} AND is_later AND {_IS_TIMELY}) AS first
            FROM ended JOIN tries AS each USING (event) GROUP BY event
        ),
        events AS (
            SELECT
                ended.*, errors_at_old_leader, errors_at_new_leader, first[2] AS tried_on,
                CASE WHEN first IS NOT NULL THEN greatest(errored_us, first[1]) END AS tried_us
            FROM ended JOIN counted USING (event)
        ),
        held AS (SELECT DISTINCT ON (kind, cluster, leader_id, position) * FROM tried)
        SELECT
            events.*, ({_BLOCKED_US}) AS blocked_us, ({METADATA_REQUESTS}) AS metadata_requests,
            ({LEADS_FROM_US}) AS leads_from_us, ({MOVED_BY}) AS moved_by
        FROM events
    """
