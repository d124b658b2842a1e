"""Keys that the tables of `WRITTEN_ONCE` already contain, so that each row is written once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.delta_log import open_log
from schemas.silver.brokers import BROKERS
from schemas.silver.listeners import LISTENERS
from schemas.silver.metrics import METRIC_SERIES
from schemas.silver.topics import TOPICS

WRITTEN_ONCE = {
    TOPICS.name: ("cluster", "topic_id", "topic_name"),
    BROKERS.name: ("cluster", "broker_id", "rack", "logged_date"),
    LISTENERS.name: ("cluster", "listener", "role", "logged_date"),
    METRIC_SERIES.name: ("series_id",),
}
"""Key columns of the tables that the driver writes, because it knows which keys exist."""

PLACES = {
    table.name: tuple(table.schema.names.index(name) for name in WRITTEN_ONCE[table.name])
    for table in (TOPICS, BROKERS, LISTENERS, METRIC_SERIES)
}


class KnownRows:
    """The keys that exist in each table: read once, then updated by the table's only writer."""

    def __init__(self, where: Callable[[str], Path] | None = None) -> None:
        """Read tables from the folder that `where` returns; without it no key is known."""
        self._where, self._keys = where, dict[str, set[tuple[Any, ...]]]()

    def unknown(self, table: str, rows: Sequence[Any]) -> list[Any]:
        """Return the first row of each key that is not known yet."""
        known, seen, unknown = self._of(table), set[tuple[Any, ...]](), []
        for row in rows:
            key = tuple(row[at] for at in PLACES[table])
            if key not in known and key not in seen:
                seen.add(key)
                unknown.append(row)
        return unknown

    def add(self, table: str, rows: Sequence[Any]) -> None:
        """Add the keys of committed rows."""
        self._of(table).update(tuple(row[at] for at in PLACES[table]) for row in rows)

    def _of(self, table: str) -> set[tuple[Any, ...]]:
        if table not in self._keys:
            self._keys[table] = _read(self._where(table), WRITTEN_ONCE[table]) if self._where else set()
        return self._keys[table]


def _read(where: Path, key: Sequence[str]) -> set[tuple[Any, ...]]:
    rows = pa.table(open_log(where).to_pyarrow_dataset().to_table(columns=list(key)))
    return set(zip(*(_cells(rows[name]) for name in key), strict=True))


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return the values as parsers write them: a date is days since 1970."""
    is_date = pa.types.is_date32(column.type)
    cells: list[Any] = (column.cast(pa.int32()) if is_date else column).to_pylist()
    return cells
