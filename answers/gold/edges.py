"""The clusters of gold, with the oldest and the newest window of each."""

from collections.abc import Mapping
from datetime import datetime
from itertools import chain
from weakref import WeakKeyDictionary

import duckdb

from answers.gold.reader import GoldReader
from answers.gold.relations import FILE, FIRST, LAST, StoredTable, now_of_answers
from schemas.gold import GOLD
from schemas.rows import Row

EDGES = """
    SELECT {file} AS file, cluster, min({at}) AS oldest,
        max({at}) FILTER ({at} <= $now::TIMESTAMPTZ) AS newest, max({at}) AS last
    FROM {rows} WHERE cluster IS NOT NULL GROUP BY ALL"""

FileEdges = Mapping[str, list[Row]]
"""The rows of `EDGES` by file; those of rows that are in no file are under an empty name."""

_known: WeakKeyDictionary[GoldReader, FileEdges] = WeakKeyDictionary()
"""What was read from files. A data file never changes, so it is read once."""


def edges_of_clusters(gold: GoldReader) -> list[Row]:
    """
    Return one row per cluster: `cluster`, `oldest`, `newest` and `has_future`, in the order of the names.

    A window in the future is of a wrong clock: it is not the newest one, and `has_future` is true. If all
    windows are in the future, the clock of this machine is wrong, and the last window is the newest.
    """
    now = now_of_answers()
    found: dict[str, list[Row]] = {}
    try:
        by_file = _by_file(gold, now)
    except duckdb.IOException:  # VACUUM deleted a file that an older version of the log names
        by_file = _by_file(gold, now)
    _known[gold] = {file: rows for file, rows in by_file.items() if file and not _has_future(rows, now)}
    for row in chain.from_iterable(by_file.values()):
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


def _has_future(rows: list[Row], now: datetime) -> bool:
    """Return whether a window is in the future: the next time it may be in the past."""
    return any(row["last"] is not None and row["last"] > now for row in rows)


def _by_file(gold: GoldReader, now: datetime) -> FileEdges:
    """Return the rows of all files; one query reads those that are new."""
    known, queries = _known.get(gold, {}), []
    found: dict[str, list[Row]] = {"": []}
    for table in (table for table in GOLD if "cluster" in table.schema.names):
        at = "window_start" if "window_start" in table.schema.names else "NULL::TIMESTAMPTZ"
        relation = gold.relations[f"gold.{table.name}"]
        if not isinstance(relation, StoredTable):
            queries.append(EDGES.format(file="''", at=at, rows=f"gold.{table.name}"))
            continue
        files = relation.files(FIRST, LAST)
        found |= {file: list(known.get(file, ())) for file in files}
        if new := [file for file in files if file not in known]:
            queries.append(EDGES.format(file=FILE, at=at, rows=relation.sql_of(new, FILE)))
    for row in gold.fetched(" UNION ALL ".join(queries), {"now": now}) if queries else ():
        found[row["file"]].append(row)
    return found
