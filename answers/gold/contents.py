"""What gold has of a cluster: the oldest and the newest window, and the values of filters."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

from answers.formats import age, instant
from answers.gold.edges import edges_of_clusters
from answers.gold.reader import GoldReader
from answers.gold.relations import LAST
from answers.gold.selection import IN_SPAN, GoldSelection, of_all
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.rows import Row

NAMED = {"broker": ("broker_id", "leader_id", "follower_id"), "topic": ("topic",), "client": ("client_id",)}
"""The columns that hold the values of each filter."""

MOST_VALUES = 100

_IS_LIKE = "($like::VARCHAR IS NULL OR contains(lower(value::VARCHAR), lower($like)))"
VALUES = {
    name: " UNION ".join(
        of_all(
            f"SELECT '{{name}}' AS source, value FROM (SELECT DISTINCT {column} AS value FROM {{table}} "
            f"WHERE {IN_SPAN}) WHERE value IS NOT NULL AND {_IS_LIKE}",
            *("cluster", "window_start", column),
        )
        for column in columns
    )
    for name, columns in NAMED.items()
}
"""The values of each filter, with the tables that they are in."""


OF_REQUEST_LOG = frozenset(
    ("broker_rtt", "fetch_latency", "leader_redirect", "metadata_lookup", "partition_skew", "produce_held")
)
"""Tables whose windows only have rows if a request log was read."""


def _has_row(names: Collection[str]) -> str:
    """Return the query whether one of some tables has a window in the span."""
    windows = (table.name for table in GOLD if {"cluster", "window_start"} <= set(table.schema.names))
    found = (f"EXISTS (FROM gold.{name} WHERE {IN_SPAN})" for name in windows if name in names)
    return f"SELECT {' OR '.join(found)} AS is_read"


READ_FROM_REQUEST_LOG = _has_row(OF_REQUEST_LOG)
READ_AT_ALL = _has_row([table.name for table in GOLD])


def edges(gold: GoldReader, cluster: str | None) -> Row:
    """Return the `oldest` and the `newest` window of a cluster; None without windows."""
    rows = (row for row in edges_of_clusters(gold) if row["cluster"] == cluster)
    return next(rows, {"oldest": None, "newest": None, "has_future": False})


def newest_window(newest: datetime | None, now: datetime) -> str:
    """Return in words when the newest window began: "is" and "open" in an answer mean then, not now."""
    if newest is None:
        return "no window yet"
    return f"newest window {instant(newest)} UTC, {age((now - newest.astimezone(UTC)).total_seconds())} ago"


def too_late(selection: GoldSelection) -> str:
    """Return that the newest window is before the span; empty if it is not."""
    newest = edges(selection.gold, selection.cluster)["newest"]
    is_before = newest is not None and newest < selection.since
    return f"the newest window, {instant(newest)} UTC, is before this span." if is_before else ""


def rows_of_span(selection: GoldSelection, table: Table) -> int:
    """Return the number of rows that a gold table has of a cluster in a span."""
    query = f"""
        SELECT count(*) AS n FROM gold.{table.name}
        WHERE cluster = $cluster AND {table.instant} >= $since AND {table.instant} < $until"""
    return int(selection.rows(query)[0]["n"])


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
    return gold.rows(query, {"cluster": cluster, "since": since, "until": LAST, "like": like or None})


def values_of_span(selection: GoldSelection, name: str, is_source: Callable[[str], bool]) -> list[Any]:
    """Return all values of a filter in a span, in the gold tables whose name `is_source` accepts."""
    sources = [table.name for table in GOLD if is_source(table.name)]
    query = f"""
        SELECT DISTINCT value FROM ({VALUES[name]})
        WHERE list_contains($sources::VARCHAR[], source) ORDER BY value"""
    return [row["value"] for row in selection.rows(query, like=None, sources=sources)]
