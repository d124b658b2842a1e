"""The partitions of request lines, one row each, with the name of the topic, as SQL."""

from schemas.silver.topics import TOPICS
from transforms.gold.build import Touch
from transforms.windows import HOUR_S, Reach

TOPICS_COLUMNS = ("cluster", "topic_id", "topic_name", "seen_at")

IS_OTHERS = "logged_at IS NOT NULL AND is_own_traffic IS DISTINCT FROM true"
"""The condition of lines with an instant that are not Plumbline's own traffic."""

NO_ERROR = 0

UNNAMED_S = 300
"""`metadata.max.age.ms`: a client asks for the names of its topics at least this often."""

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
