"""The clusters of gold, with the oldest and the newest window of each."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from weakref import WeakKeyDictionary

import duckdb

from answers.gold.reader import FILE, FIRST, LAST, GoldReader, StoredTable, now_of_answers
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.rows import Row

EDGES = """
    SELECT {file} AS file, cluster, min({at}) AS oldest,
        max({at}) FILTER ({at} <= $now::TIMESTAMPTZ) AS newest, max({at}) AS last
    FROM {rows} WHERE cluster IS NOT NULL GROUP BY ALL"""

FileEdges = Mapping[str, list[Row]]
"""The rows of `EDGES` by file."""

_known: WeakKeyDictionary[GoldReader, dict[Table, FileEdges]] = WeakKeyDictionary()
"""What was read from files. A data file never changes, so it is read once."""


def edges_of_clusters(gold: GoldReader) -> list[Row]:
    """
    Return one row per cluster: `cluster`, `oldest`, `newest` and `has_future`, in the order of the names.

    A window in the future is of a wrong clock: it is not the newest one, and `has_future` is true. If all
    windows are in the future, the clock of this machine is wrong, and the last window is the newest.
    """
    found: dict[str, list[Row]] = {}
    for table in GOLD:
        if "cluster" in table.schema.names:
            for row in _of_table(gold, table, now_of_answers()):
                found.setdefault(row["cluster"], []).append(row)
    return [_merged(cluster, found[cluster]) for cluster in sorted(found)]


def clusters_of(gold: GoldReader) -> list[str]:
    """Return the names of the clusters that have gold."""
    return [row["cluster"] for row in edges_of_clusters(gold)]


def _merged(cluster: str, rows: list[Row]) -> Row:
    oldest, newest, last = (
        [row[name] for row in rows if row[name] is not None] for name in ("oldest", "newest", "last")
    )
    return {
        "cluster": cluster,
        "oldest": min(oldest, default=None),
        "newest": max(newest or last, default=None),
        "has_future": bool(newest) and max(last) > max(newest),
    }


def _of_table(gold: GoldReader, table: Table, now: datetime) -> Iterator[Row]:
    relation = gold.relations[f"gold.{table.name}"]
    at = "window_start" if "window_start" in table.schema.names else "NULL::TIMESTAMPTZ"
    if not isinstance(relation, StoredTable):
        query = EDGES.format(file="NULL", at=at, rows=f"gold.{table.name}")
        yield from gold.fetched(query, {"now": now})
        return
    by_table = _known.setdefault(gold, {})
    try:
        known = _of_files(gold, relation, at, now, by_table.get(table, {}))
    except duckdb.IOException:  # VACUUM deleted a file that an older version of the log names
        known = _of_files(gold, relation, at, now, by_table.get(table, {}))
    by_table[table] = {file: rows for file, rows in known.items() if not _has_future(rows, now)}
    for rows in known.values():
        yield from rows


def _has_future(rows: list[Row], now: datetime) -> bool:
    """Return whether a window is in the future: the next time it may be in the past."""
    return any(row["last"] is not None and row["last"] > now for row in rows)


def _of_files(gold: GoldReader, stored: StoredTable, at: str, now: datetime, known: FileEdges) -> FileEdges:
    files = stored.files(FIRST, LAST)
    found: dict[str, list[Row]] = {file: list(known.get(file, ())) for file in files}
    if new := [file for file in files if file not in known]:
        query = EDGES.format(file=FILE, at=at, rows=stored.sql_of(new, FILE))
        for row in gold.fetched(query, {"now": now}):
            found[row["file"]].append(row)
    return found
