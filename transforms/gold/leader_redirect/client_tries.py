"""Client requests by partition and their results, one row per try, as SQL."""

from transforms.errors import NO_ERROR, NOT_LEADER
from transforms.gold.entries import IS_OTHERS, entries

FENCED_EPOCH = 74
LOST = (NOT_LEADER, FENCED_EPOCH)
"""The errors of an old leader: 6 for a producer, usually 74 for a consumer."""

OF_PARTITION = "cluster, api, client_id, topic, partition"

APIS = ("PRODUCE", "FETCH")
IS_CLIENT = f"(api = 'PRODUCE' OR kind = 'consumer') AND {IS_OTHERS}"
"""The condition of the requests of producers and consumers."""

REQUESTS_COLUMNS = (
    *("cluster", "api", "client_id", "broker_id", "connection", "correlation_id", "software_version"),
    *("started_at", "logged_at", "remote_ms", "position", "partitions"),
)


IS_REFUSED = f"""
    api IN {APIS} AND list_has_any(list_transform(partitions, lambda entry: entry.error_code), {list(LOST)})
"""
"""The condition that the broker refused a PRODUCE or FETCH: it is not the leader of a partition."""

IS_CLIENT_REFUSED = f"({IS_REFUSED}) AND (api = 'PRODUCE' OR kind = 'consumer')"
"""The same of a client: a controller also refuses FETCH requests of the metadata quorum."""


def refused(requests: str) -> str:
    """Return the query of the clients that received an error of an old leader; `requests` are of clients."""
    return f"""
        SELECT DISTINCT cluster, api, client_id
        FROM (SELECT cluster, api, client_id, unnest(partitions, max_depth := 2) FROM {requests})
        WHERE api IN {APIS} AND error_code IN {LOST} AND client_id IS NOT NULL
    """


def tries(requests: str) -> str:
    """
    Return the query of the result of each partition in a response, from a query of clients' requests.

    It reads `topics` (`entries`). A fetch is done without its wait for records.
    """
    waited_us = "CASE WHEN api = 'FETCH' THEN round(remote_ms * 1000)::BIGINT END"
    return f"""
        SELECT
            {OF_PARTITION}, broker_id AS leader_id, connection, correlation_id, software_version,
            epoch_us(started_at) AS arrived_us, epoch_us(logged_at) AS answered_us,
            epoch_us(logged_at) - coalesce({waited_us}, 0) AS done_us, position, error_code,
            error_code IN {LOST} AS is_lost, error_code = {NO_ERROR} AS is_served,
            hinted_leader_id, hinted_leader_epoch
        FROM ({entries(requests)}) WHERE error_code IS NOT NULL
    """
