"""What gold has of a cluster: the oldest and the newest window, and the values of filters."""

from datetime import datetime

from answers.gold.reader import GoldReader, now_of_answers
from answers.gold.selection import of_all
from schemas.rows import Row

_EDGES = of_all(
    "SELECT min(window_start) AS oldest, max(window_start) FILTER (window_start <= $now) AS newest, "
    "max(window_start) AS last FROM {table} WHERE cluster = $cluster",
    "cluster",
    "window_start",
)
EDGES = f"""
    SELECT min(oldest) AS oldest, coalesce(max(newest), max(last)) AS newest,
           coalesce(max(last) > max(newest), false) AS has_future
    FROM ({_EDGES})"""

NAMED = {"broker": ("broker_id", "leader_id", "follower_id"), "topic": ("topic",), "client": ("client_id",)}
"""The columns that hold the values of each filter."""

MOST_VALUES = 100

_IN_SPAN = "cluster = $cluster AND window_start >= $since AND value IS NOT NULL"
_IS_LIKE = "($like::VARCHAR IS NULL OR contains(lower(value::VARCHAR), lower($like)))"
VALUES = {
    name: " UNION ".join(
        of_all(
            f"SELECT '{{name}}' AS source, {column} AS value FROM {{table}} WHERE {_IN_SPAN} AND {_IS_LIKE}",
            *("cluster", "window_start", column),
        )
        for column in columns
    )
    for name, columns in NAMED.items()
}
"""The values of each filter, with the tables that they are in."""


def edges(gold: GoldReader, cluster: str | None) -> Row:
    """
    Return the `oldest` and the `newest` window of any table; None without windows.

    A window in the future is of a wrong clock: it is not the newest one, and `has_future` is true. If all
    windows are in the future, the clock of this machine is wrong, and the last window is the newest.
    """
    return gold.rows(EDGES, {"cluster": cluster, "now": now_of_answers()})[0]


def values(
    gold: GoldReader, name: str, cluster: str | None, since: datetime, like: str | None = None
) -> list[Row]:
    """
    Return the first `MOST_VALUES` values of a filter since an instant, each with the tables it is in.

    `name` is broker, topic or client; `like` is a text that the value contains, in any case of letters.
    """
    query = f"""
        SELECT value, list(DISTINCT source ORDER BY source) AS sources FROM ({VALUES[name]})
        GROUP BY value ORDER BY value LIMIT {MOST_VALUES}"""
    return gold.rows(query, {"cluster": cluster, "since": since, "like": like or None})
