"""
PRODUCE requests without a response (acks=0), whose topics may not exist, as SQL.

A broker that refuses such a request logs it as one that it served. So a client without any right can name
topics and partitions as it likes.
"""

import pyarrow as pa
from duckdb import DuckDBPyConnection

from transforms.gold.clients import OTHERS
from transforms.sql import text

MOST_UNANSWERED = 10_000
"""The most groups of unanswered rows with names of their own, of a cluster in a window of a table."""


def has_too_many(groups: pa.Table) -> bool:
    """Return whether a window has more than `MOST_UNANSWERED` groups with `is_unanswered`, of any cluster."""
    windows = groups.filter(groups["is_unanswered"])["window_s"].value_counts()
    return any(n > MOST_UNANSWERED for n in windows.field("counts").to_pylist())


def limit_unanswered(db: DuckDBPyConnection, table: str, *names: str) -> None:
    """
    Rename the topics of unanswered rows to `OTHERS`, except the `MOST_UNANSWERED` groups with most rows.

    `names` are the columns of a group within a cluster and window, with `topic`; a `partition` becomes NULL.
    The table has `window_s` and `is_unanswered`.
    """
    group = ("cluster", "window_s", *names)
    of_group = ", ".join(group)
    shown = {"topic": text(OTHERS)} | ({"partition": "NULL"} if "partition" in names else {})
    changes = ", ".join(f"{name} = {value}" for name, value in shown.items())
    same = " AND ".join(f"{table}.{name} IS NOT DISTINCT FROM folded.{name}" for name in group)
    db.execute(f"""
        UPDATE {table} SET {changes}
        FROM (
            SELECT {of_group} FROM {table} WHERE is_unanswered GROUP BY {of_group}
            QUALIFY {MOST_UNANSWERED} < row_number() OVER (
                PARTITION BY cluster, window_s ORDER BY count(*) DESC, {", ".join(names)}
            )
        ) AS folded
        WHERE is_unanswered AND {same}
    """)
