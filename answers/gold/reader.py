"""Queries of the tables that answers are made from, within bounds; results are used until a table changes."""

import math
import re
import textwrap
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from answers.gold.histogram import MACROS
from answers.gold.relations import BY_LOGGED_AT, FIRST, LAST, BuiltTable, Relation, StoredTable
from answers.gold.result_cache import CacheKey, ResultCache
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.rows import Row
from schemas.silver import SILVER

NAMED = re.compile(r"'(?:[^']|'')*'|\b(?:gold|silver)\.\w+")
"""A text, or a table: a text may contain the name of a table."""

SETTINGS: dict[str, str | int] = {"memory_limit": "1GB", "threads": 2, "default_null_order": "nulls_first"}

LARGE = frozenset(f"silver.{table.name}" for table in BY_LOGGED_AT)

QueryResult = TypeVar("QueryResult")


class NoGoldError(Exception):
    """There is no gold; the message says what to do."""


class QueryBoundError(Exception):
    """A query exceeds a bound; the message says which, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBounds:
    """What the queries of all users of a server may take together."""

    rows: int = 200_000  # of one result
    cached_rows: int = 200_000  # of all results that are in memory to be used again
    at_once: int = 2  # queries that run; they share the memory and threads of `SETTINGS`
    wait_s: float = 30.0  # for another query to end
    silver_s: float = 60.0  # how long a result from large tables of silver is used, whatever is committed


class QueryRows(list[Row]):
    """The rows of a query, with the statement that returned them."""

    query = ""

    def replaced(self, rows: Iterable[Row]) -> "QueryRows":
        """Return rows that were computed from these, with the same statement."""
        computed = QueryRows(rows)
        computed.query = self.query
        return computed


class GoldReader:
    """Tables by name (`gold.broker_rtt`); queries of any thread are answered."""

    def __init__(
        self,
        relations: Mapping[str, Relation],
        built: Mapping[str, pa.Table] | None = None,
        bounds: QueryBounds | None = None,
    ) -> None:
        """Use these tables; `built` are the rows of those that are in no warehouse. A server sets bounds."""
        self.relations = relations
        self._bounds = bounds
        self._running = threading.BoundedSemaphore(bounds.at_once) if bounds else None
        self._results = ResultCache(bounds.cached_rows if bounds else math.inf)
        scratch = TemporaryDirectory(prefix="plumbline-answers-")  # for results larger than the memory
        weakref.finalize(self, scratch.cleanup)
        self._db = duckdb.connect(config={**SETTINGS, "temp_directory": scratch.name})
        self._db.execute("SET GLOBAL TimeZone = 'UTC'")  # also for its cursors
        self._db.execute("SET GLOBAL parquet_metadata_cache = true")  # no file ever changes
        self._db.execute(MACROS)
        for name, rows in (built or {}).items():
            self._db.register("rows", rows)
            self._db.execute(f"CREATE TABLE {name} AS FROM rows")
            self._db.unregister("rows")

    @classmethod
    def of_warehouse(cls, root: Path, bounds: QueryBounds | None = None) -> "GoldReader":
        """
        Open a warehouse.

        Raises:
            NoGoldError: the folder has no gold table.

        """
        gold = cls.in_folder(root, bounds)
        if not gold.version():
            message = (
                f"no gold table in {root}: fill it with `plumbline ingest` and `plumbline build-gold`, "
                "or see `plumbline demo`"
            )
            raise NoGoldError(message)
        return gold

    @classmethod
    def in_folder(cls, root: Path, bounds: QueryBounds | None = None) -> "GoldReader":
        """Use the tables of a folder, which may have none yet."""
        return cls({_name(table): StoredTable(root, table) for table in (*GOLD, *SILVER)}, bounds=bounds)

    @classmethod
    def of_rows(cls, rows: Mapping[Table, pa.Table]) -> "GoldReader":
        """Use rows that were just built; a table without rows may be left out."""
        names = {table: f"built_{table.layer}_{table.name}" for table, of in rows.items() if of.num_rows}
        relations = {_name(table): BuiltTable(table, names.get(table, "")) for table in (*GOLD, *SILVER)}
        return cls(relations, {name: rows[table] for table, name in names.items()})

    def version(self) -> str:
        """Return a text that changes with any gold table; empty if there is none."""
        versions = {name: of.version() for name, of in self.relations.items() if name.startswith("gold.")}
        return " ".join(f"{name}:{version}" for name, version in versions.items() if version)

    def has(self, table: Table) -> bool:
        """Return whether a table exists."""
        return bool(self.relations[_name(table)].version())

    def extent(self, table: Table) -> tuple[datetime, datetime] | None:
        """Return the oldest and the newest instant of a stored table; None without rows."""
        return self.relations[_name(table)].extent()

    def stored(self, table: Table) -> "StoredTable":
        """
        Return a table of a warehouse.

        Raises:
            TypeError: the reader has rows that were just built.

        """
        relation = self.relations[_name(table)]
        if not isinstance(relation, StoredTable):
            message = f"{_name(table)} is in no warehouse"
            raise TypeError(message)
        return relation

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> QueryRows:
        """
        Return the rows of a query; parameters are those that it names.

        Raises:
            QueryBoundError: the query exceeds a bound of this reader.

        """
        used = {name: value for name, value in (parameters or {}).items() if f"${name}" in query}
        names = [name for name in dict.fromkeys(NAMED.findall(query)) if not name.startswith("'")]
        read, key = partial(self.fetched, query, used), (query, repr(used))
        if self._bounds and not LARGE.isdisjoint(names):  # each commit adds files to these tables
            rows = QueryRows(self._results.rows(key, read, self._bounds.silver_s))
        else:
            versions = (self.relations[name].version() for name in names)
            rows = QueryRows(self._results.rows((*key, *versions), read))
        rows.query = statement(query, used)
        return rows

    def computed(self, key: CacheKey, compute: Callable[[], list[Row]]) -> list[Row]:
        """Return rows computed from large tables of silver, which are used again as those of a query."""
        return self._results.rows(key, compute, self._bounds.silver_s) if self._bounds else compute()

    def fetched(self, query: str, parameters: Mapping[str, Any]) -> list[Row]:
        """
        Return the rows of a query, read again.

        Raises:
            QueryBoundError: the query exceeds a bound of this reader.

        """
        with self._db.cursor() as db:
            # For an Arrow table, DuckDB would bind the query twice, which takes longer than to read few rows.
            found = self._run(
                db,
                self._limited(query),
                parameters,
                lambda text: db.execute(text, dict(parameters)).fetchall(),
            )
            names = [column[0] for column in db.description]
        self._check_rows(len(found))
        return [dict(zip(names, row, strict=True)) for row in found]

    def arrow(self, query: str, parameters: Mapping[str, Any]) -> pa.Table:
        """
        Return the result of a query as an Arrow table.

        Raises:
            QueryBoundError: the query exceeds a bound of this reader.

        """
        with self._db.cursor() as db:
            found = self._run(
                db,
                self._limited(query),
                parameters,
                lambda text: db.sql(text, params=dict(parameters)).to_arrow_table(),
            )
        self._check_rows(found.num_rows)
        return found

    def _limited(self, query: str) -> str:
        """Return a query that ends one row after the bound."""
        return f"FROM ({query}) LIMIT {self._bounds.rows + 1}" if self._bounds else query

    def _check_rows(self, rows: int) -> None:
        if self._bounds and rows > self._bounds.rows:
            message = f"A query returns more than {self._bounds.rows:,} rows: choose a shorter span."
            raise QueryBoundError(message)

    def export(self, statement: str, path: Path) -> None:
        """
        Write the result of a statement to a file, as its suffix says: .csv or .parquet.

        Raises:
            QueryBoundError: the statement exceeds a bound of this reader; the file is not whole.

        """
        target = f"TO '{path}' (FORMAT {path.suffix.removeprefix('.')})"
        with self._db.cursor() as db:
            copied = self._run(
                db,
                self._limited(statement),
                {},
                lambda text: db.execute(f"COPY ({text}) {target}").fetchall(),
            )
        self._check_rows(copied[0][0] if copied else 0)

    def _run(
        self,
        db: duckdb.DuckDBPyConnection,
        query: str,
        parameters: Mapping[str, Any],
        run: Callable[[str], QueryResult],
    ) -> QueryResult:
        """Run a query whose tables are replaced by the files that overlap its span, within the bounds."""
        if self._bounds is None or self._running is None:
            return self._read(db, query, parameters, run)
        if not self._running.acquire(timeout=self._bounds.wait_s):
            message = f"The server is busy: no query ended within {self._bounds.wait_s:.0f} s. Try again."
            raise QueryBoundError(message)
        try:
            return self._read(db, query, parameters, run)
        except duckdb.OutOfMemoryException as error:
            message = f"A query needs more than {SETTINGS['memory_limit']} of memory: choose a shorter span."
            raise QueryBoundError(message) from error
        finally:
            self._running.release()

    def _read(
        self,
        db: duckdb.DuckDBPyConnection,
        query: str,
        parameters: Mapping[str, Any],
        run: Callable[[str], QueryResult],
    ) -> QueryResult:
        since, until = parameters.get("since") or FIRST, parameters.get("until") or LAST
        for is_last_try in (False, True):
            text = NAMED.sub(lambda found: self._sql(found[0], since, until), query)
            try:
                return _interruptible(db, partial(run, text))
            except duckdb.IOException:  # VACUUM deleted a file that an older version of the log names
                if is_last_try:
                    raise
        raise AssertionError

    def _sql(self, found: str, since: datetime, until: datetime) -> str:
        """Return what replaces a table in a query; texts stay as they are."""
        return found if found.startswith("'") else self.relations[found].sql(since, until)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the database of the reader, for tables that are kept in memory."""
        return self._db.cursor()


def _interruptible(db: duckdb.DuckDBPyConnection, run: Callable[[], QueryResult]) -> QueryResult:
    """
    Run a query that Ctrl-C ends at once.

    Python handles signals in its main thread. If that thread works for DuckDB, it may return only when the
    whole query has ended, so it waits for another one.
    """
    if threading.current_thread() is not threading.main_thread():
        return run()
    with ThreadPoolExecutor(1) as worker:
        result = worker.submit(run)
        try:
            return result.result()
        except KeyboardInterrupt:
            db.interrupt()
            raise


def statement(query: str, parameters: Mapping[str, Any]) -> str:
    """Return a query with its parameters written out, as DuckDB accepts it (`docs/sql.md`)."""
    names = sorted(parameters, key=len, reverse=True)
    pattern = re.compile(rf"\$({'|'.join(map(re.escape, names))})\b") if names else None
    text = textwrap.dedent(query).strip()
    return pattern.sub(lambda found: literal(parameters[found[1]]), text) if pattern else text


def literal(value: object) -> str:
    """
    Return a value as SQL.

    >>> print(literal("it's"), literal(None), literal([1, 2]), literal(True))
    'it''s' NULL [1, 2] true
    >>> literal(datetime(2026, 11, 21, 11, tzinfo=UTC))
    "TIMESTAMPTZ '2026-11-21 11:00:00+00:00'"
    """
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ '{value.astimezone(UTC)}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"'{name}': {literal(part)}" for name, part in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name(table: Table) -> str:
    return f"{table.layer}.{table.name}"
