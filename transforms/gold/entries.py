"""Which request lines count, and their partitions, one row each, with the name of the topic, as SQL."""

from schemas.silver.listeners import CLIENT, FOLLOWER, LISTENERS
from schemas.silver.topics import TOPICS
from transforms.errors import NEW_LEADER_ELECTED, NO_ERROR
from transforms.gold.build import Silver, Touch
from transforms.sql import connect, text
from transforms.windows import HOUR_S, Reach

TOPICS_COLUMNS = ("cluster", "topic_id", "topic_name", "seen_at")

IS_OTHERS = "logged_at IS NOT NULL AND is_own_traffic IS DISTINCT FROM true"
"""The condition of lines with an instant that are not Plumbline's own traffic."""

IS_SERVED = f"{IS_OTHERS} AND coalesce(error_code, {NO_ERROR}) = {NO_ERROR}"
"""The condition of a fetch that was served; the text form of a line has no error code."""

IS_FOLLOWER = f"kind = 'follower' AND {IS_SERVED}"
"""The condition of a follower's fetch that was served."""

IS_ACCEPTED = f"coalesce(error_code, {NO_ERROR}) IN ({NO_ERROR}, {NEW_LEADER_ELECTED})"
"""The condition of an accepted ISR change."""

LOGGED_DATE = "DATE '1970-01-01' + (epoch_us(logged_at) // 86400000000)::INT"
"""The UTC date of a request; a reader of data files alone does not have the column."""

LISTENERS_COLUMNS = ("cluster", "listener", "role", "logged_date")


UNNAMED_S = 300
"""`metadata.max.age.ms`: a client asks for the names of its topics at least this often."""


def foreign(listeners: str) -> str:
    """Return the query of the listeners of clients with replica ids, where another serves followers alone."""
    return f"""
        SELECT cluster, listener, logged_date FROM (
            SELECT
                cluster, listener, logged_date, bool_or(role = '{CLIENT}') AS has_clients,
                bool_or(role = '{FOLLOWER}') AS has_followers
            FROM {listeners} WHERE listener IS NOT NULL GROUP BY ALL
        )
        QUALIFY has_clients AND has_followers
            AND bool_or(has_followers AND NOT has_clients) OVER (PARTITION BY cluster, logged_date)
    """


def is_follower(silver: Silver) -> str:
    """
    Return the condition of the follower fetches that count: served, and over a listener of the brokers.

    A client can send a replica id too. On a listener that also serves clients it is not believed, if the
    brokers have a listener of their own (`silver.listeners`). With one listener for all it always is.
    """
    return f"{IS_FOLLOWER} AND {is_over_brokers(silver)}"


def is_raft(silver: Silver) -> str:
    """
    Return the condition of the raft fetches that count: served, and over a listener that serves no clients.

    The listeners of controllers are none of the brokers' (`controller.listener.names`), so no client produces
    or consumes over them.
    """
    clients = f"SELECT DISTINCT cluster, listener, logged_date FROM listeners WHERE role = '{CLIENT}'"
    return f"kind = 'raft' AND {IS_SERVED} AND {_is_over_others(silver, clients)}"


def is_over_brokers(silver: Silver) -> str:
    """Return the condition that a replica id over the listener of a request is believed."""
    return _is_over_others(silver, foreign("listeners"))


def _is_over_others(silver: Silver, unbelieved: str) -> str:
    """Return the condition that a request came over a listener which the query does not return."""
    with connect({"listeners": silver.rows(LISTENERS, LISTENERS_COLUMNS)}) as db:
        found = sorted(db.sql(f"FROM ({unbelieved}) WHERE listener IS NOT NULL").fetchall())
    if not found:
        return "true"
    rows = ", ".join(f"({text(cluster)}, {text(name)}, DATE '{day}')" for cluster, name, day in found)
    return f"coalesce((cluster, listener, {LOGGED_DATE}) NOT IN ({rows}), true)"


_NAMES = "SELECT cluster, topic_id, arg_max(topic_name, seen_at) AS known_name FROM topics GROUP BY ALL"


def names_touch(requests: Reach) -> Touch:
    """
    Return the touch of a new topic name: from `UNNAMED_S` before its METADATA response to an hour after it.

    When Plumbline begins to read a running cluster, the lines before the first response have only topic ids.
    The lines after a response may arrive before it. `requests` is the reach of the lines.
    """
    reach = Reach(lookback_s=HOUR_S + requests.lookback_s, lookahead_s=UNNAMED_S + requests.lookahead_s)
    return Touch(table=TOPICS, reach=reach)


def entries(requests: str) -> str:
    """
    Return the query of one row per partition of each request line, without duplicates.

    `requests` is a query with `cluster`, `position`, `partitions` and the columns to keep. `topic` is added
    from `topics` (`TOPICS_COLUMNS`, `named`).
    """
    each = f"SELECT * EXCLUDE (partitions), unnest(partitions, max_depth := 2) FROM ({requests})"
    return f"""
        SELECT DISTINCT ON (cluster, position, topic_id, topic_name, partition) * FROM ({named(each)})
    """


def named(rows: str) -> str:
    """Return the query of rows with `topic`: the row's name, else the newest one in `topics`, else the id."""
    return f"""
        SELECT each.*, coalesce(topic_name, known_name, topic_id) AS topic
        FROM ({rows}) AS each LEFT JOIN ({_NAMES}) AS names USING (cluster, topic_id)
    """
