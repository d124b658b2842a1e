"""What gold has of a cluster: the oldest and the newest window, and the values of filters."""

from datetime import datetime
from typing import Any

from answers.gold.reader import GoldReader
from answers.gold.selection import of_all
from schemas.rows import Row

_EDGES = of_all(
    "SELECT min(window_start) AS oldest, max(window_start) AS newest FROM {table} WHERE cluster = $cluster",
    "cluster",
    "window_start",
)
EDGES = f"SELECT min(oldest) AS oldest, max(newest) AS newest FROM ({_EDGES})"

_SINCE = "cluster = $cluster AND window_start >= $since"
VALUES = {
    "broker": f"""
        SELECT leader_id AS value FROM gold.broker_rtt WHERE {_SINCE}
        UNION SELECT follower_id FROM gold.broker_rtt WHERE {_SINCE}
        UNION SELECT leader_id FROM gold.fetch_latency WHERE {_SINCE}
        UNION SELECT broker_id FROM gold.throttle_compliance WHERE {_SINCE}""",
    "topic": f"""
        SELECT topic AS value FROM gold.partition_skew WHERE {_SINCE}
        UNION SELECT topic FROM gold.leader_redirect WHERE {_SINCE}""",
    "client": f"""
        SELECT client_id AS value FROM gold.fetch_latency WHERE {_SINCE}
        UNION SELECT client_id FROM gold.partition_skew WHERE {_SINCE}
        UNION SELECT client_id FROM gold.leader_redirect WHERE {_SINCE}
        UNION SELECT client_id FROM gold.metadata_lookup WHERE {_SINCE}""",
}


def edges(gold: GoldReader, cluster: str | None) -> Row:
    """Return the `oldest` and the `newest` window of any table; None without windows."""
    return gold.rows(EDGES, {"cluster": cluster})[0]


def values(gold: GoldReader, name: str, cluster: str | None, since: datetime) -> list[Any]:
    """Return the values of the filter `broker`, `topic` or `client` since an instant."""
    rows = gold.rows(VALUES[name], {"cluster": cluster, "since": since})
    return sorted(row["value"] for row in rows if row["value"] is not None)
