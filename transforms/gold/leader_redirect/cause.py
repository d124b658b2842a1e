"""Context of a leader redirect: metadata lookups, start of the new leader, requester of the move, as SQL."""

from transforms.errors import NO_ERROR

FOUND_WITHIN_S = 60
"""The maximum duration of an event. A longer one has no end."""

FOUND_WITHIN_US = FOUND_WITHIN_S * 1_000_000

LOOKUPS_COLUMNS = ("cluster", "client_id", "started_at", "position")
IS_LOOKUP = "api = 'METADATA'"
LOOKUPS = """
    SELECT DISTINCT ON (cluster, position) cluster, client_id, epoch_us(started_at) AS sought_us FROM rows
"""

MOVES_COLUMNS = ("cluster", "api", "client_id", "principal", "started_at", "partitions")
IS_MOVE = "api IN ('ELECT_LEADERS', 'ALTER_PARTITION_REASSIGNMENTS')"
MOVES = f"""
    SELECT
        cluster, topic_name AS topic, partition, epoch_us(started_at) AS moved_us,
        concat_ws(' ', api, coalesce(client_id, '?'), principal) AS who
    FROM (SELECT * EXCLUDE (partitions), unnest(partitions, max_depth := 2) FROM rows)
    WHERE coalesce(error_code, {NO_ERROR}) = {NO_ERROR} AND started_at IS NOT NULL
"""

METADATA_REQUESTS = """
    SELECT count(*) FROM lookups WHERE lookups.cluster = events.cluster
        AND lookups.client_id = events.client_id AND sought_us BETWEEN errored_us AND succeeded_us
"""
"""The lookups of the client, to any broker, between the error and the success."""

LEADS_FROM_US = f"""
    SELECT max(changed_us - offset_us) FROM changes
    WHERE role = 'leader' AND changes.cluster = events.cluster AND changes.topic = events.topic
        AND changes.partition = events.partition AND changes.broker_id = events.new_leader_id
        AND changed_us - offset_us BETWEEN errored_us - {FOUND_WITHIN_US} AND succeeded_us
"""
"""The last start of the new leader before the success, by its state-change log."""

MOVED_BY = f"""
    SELECT arg_max(who, (moved_us, who)) FROM moves
    WHERE moves.cluster = events.cluster AND moves.topic = events.topic
        AND moves.partition = events.partition
        AND moved_us BETWEEN errored_us - {FOUND_WITHIN_US} AND errored_us
"""
"""The client of the last election or reassignment of the partition before the event."""
