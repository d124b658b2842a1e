"""Tables as relations of DuckDB: the files of a warehouse, or rows that were just built."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from deltalake.exceptions import TableNotFoundError

from answers.gold.columns import duck_types
from schemas.delta_log import open_log, read_on
from schemas.fields import Table
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.requests import REQUESTS

if TYPE_CHECKING:
    from deltalake import DeltaTable

CUT = timedelta(milliseconds=1)
"""Delta Spark truncates the instants in its statistics to milliseconds."""

BY_LOGGED_AT = (REQUESTS, CLIENT_EVENTS, LEADERSHIP_CHANGES)
"""Large tables of silver. A query with `$since` or `$until` restricts their `logged_at` to this span."""

FILE = "filename"
"""The column with the file of a row, as DuckDB's reader names it."""

FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


def now_of_answers() -> datetime:
    """Return the end of the current minute, so that a query with it is the same one for a minute."""
    return datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)


class Relation(Protocol):
    """One table that queries name."""

    def version(self) -> str:
        """Return a text that changes with the table; empty if the table does not exist."""

    def sql(self, since: datetime, until: datetime) -> str:
        """Return the table as a part of a FROM clause; rows outside the span may be left out."""

    def extent(self) -> tuple[datetime, datetime] | None:
        """Return the oldest and the newest instant, from statistics; None without any."""


@dataclass(frozen=True, slots=True)
class BuiltTable:
    """Rows that were just built, as a table of the database."""

    table: Table
    name: str  # empty without rows

    def version(self) -> str:
        """Return a constant: the rows do not change."""
        return self.name

    def sql(self, since: datetime, until: datetime) -> str:  # noqa: ARG002 (of every relation)
        """Return the name of the table."""
        return self.name or _no_rows(self.table)

    def extent(self) -> None:
        """Return None: the rows have no statistics."""


class StoredTable:
    """
    A Delta table on disk. DuckDB reads the files of its newest version that overlap a span.

    The span is that of a gold table's instant, or of `logged_at` for the tables in `BY_LOGGED_AT`. A column
    that an older table or file lacks is NULL; partition columns are left out.
    """

    def __init__(self, root: Path, table: Table) -> None:
        """Open nothing yet."""
        self._where, self._table = root / table.layer / table.name, table
        self._lock = threading.RLock()
        self._instant = table.instant if table.layer == "gold" else "logged_at" * (table in BY_LOGGED_AT)
        self._read, self._columns, self._no_rows = "", "", ""
        self._files: list[tuple[str, datetime | None, datetime | None]] = []  # with the ends of its instants
        self._log: DeltaTable | None = None
        self._newest = 0, 0  # number of the newest entry of the log, and when it was written

    def version(self) -> str:
        """Return the newest commit and its time: a table that is created again counts from 0 again."""
        with self._lock:
            number, written_ns = self._newest
            if not written_ns or self._written_ns(number) != written_ns:
                entries = (self._where / "_delta_log").glob(f"{'[0-9]' * 20}.json")
                number = max((int(path.stem) for path in entries), default=0)
                self._log = None
            # Only the first time is the log listed: after two days it has tens of thousands of entries.
            while self._written_ns(number + 1):
                number += 1
            self._newest = number, self._written_ns(number)
            return f"{number}.{self._newest[1]}" if self._newest[1] else ""

    def _written_ns(self, number: int) -> int:
        """Return when an entry of the log was written; 0 without this entry."""
        try:
            return (self._where / "_delta_log" / f"{number:020}.json").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def sql(self, since: datetime, until: datetime) -> str:
        """Return the rows of the files that overlap the span, as a subquery."""
        with self._lock:
            files = self.files(since, until)
            return self.sql_of(files) if files else _no_rows(self._table)

    def files(self, since: datetime, until: datetime) -> list[str]:
        """Return the paths of the files that overlap the span; another version of a file has another path."""
        with self._lock:
            self._refresh()
            return self._overlapping(since, until)

    def sql_of(self, files: Sequence[str], *more: str) -> str:
        """Return the rows of at least one file, as a subquery; `more` are columns of DuckDB's reader."""
        paths = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
        rows = f"SELECT {', '.join(('*', *more))} FROM read_parquet([{paths}], union_by_name = true)"
        return f"(SELECT {', '.join((self._columns, *more))} FROM ({self._no_rows} UNION ALL BY NAME {rows}))"

    def extent(self) -> tuple[datetime, datetime] | None:
        """Return the oldest and the newest instant up to now, without reading a data file."""
        with self._lock:
            self._refresh()
            spans = [(first, last) for _, first, last in self._files if first is not None and last]
        now = now_of_answers()
        past = [(first, min(last, now)) for first, last in spans if first <= now] or spans
        return (min(first for first, _ in past), max(last for _, last in past)) if past else None

    def _refresh(self) -> None:
        version = self.version()
        if self._read != version or not version:
            self._open()
            self._read = version

    def _open(self) -> None:
        try:
            if self._log is None:
                self._log = open_log(self._where)
            else:
                read_on(self._log)
        except TableNotFoundError:
            self._files = []
            return
        log = self._log
        files = log.get_add_actions(flatten=True)
        paths = [str(self._where / unquote(path)) for path in files["path"].to_pylist()]
        ends = (f"{end}.{self._instant}" for end in ("min", "max"))
        known = [files[end].to_pylist() if end in files.column_names else [None] * len(paths) for end in ends]
        self._files = list(zip(paths, *known, strict=True))
        # With column mapping, the files have other names than the table.
        stored = {
            field.name: field.metadata.get("delta.columnMapping.physicalName", field.name)
            for field in log.schema().fields
        }
        types = duck_types(self._table)
        self._columns = ", ".join(
            f'"{stored[name]}"::{kind} AS "{name}"' if name in stored else f'NULL::{kind} AS "{name}"'
            for name, kind in types.items()
        )
        # Files that are older than a column lack it; these are its name and type if no other file is read.
        self._no_rows = _nothing({stored[name]: kind for name, kind in types.items() if name in stored})

    def _overlapping(self, since: datetime, until: datetime) -> list[str]:
        """Return the paths of the files that may have rows in the span; a file without statistics may."""
        since = max(since, FIRST + CUT) - CUT
        return [
            path
            for path, first, last in self._files
            if first is None or last is None or (first < until and last >= since)
        ]


def _no_rows(table: Table) -> str:
    return f"({_nothing(duck_types(table))})"


def _nothing(types: Mapping[str, str]) -> str:
    """Return the query of columns without rows."""
    columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in types.items())
    return f"SELECT {columns} WHERE false"
