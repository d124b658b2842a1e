"""Gold in memory: Delta tables through delta-rs into DuckDB, each read anew once it has a new version."""

import re
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

from dashboards.columns import TABLES, declared, has_windows, read_columns
from dashboards.queries.histogram import MACROS
from schemas.fields import Table
from schemas.rows import Row
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS

NAMED = re.compile(r"\b(gold\.\w+)")
PAGE_MEMORY = "1GB"
MOST_TOLD = 128
"""Answers that are kept while their tables have no new version: most of a page hangs on no filter."""


class NoGoldError(Exception):
    """There is nothing to show; the message says what to do."""


class DashboardWarehouse:
    """The gold tables of one warehouse, those of their windows that lie within `reach` of the newest one."""

    def __init__(self, root: Path, reach: timedelta) -> None:
        """
        Open a warehouse; tables are read when they are first asked for.

        Raises:
            NoGoldError: the folder holds no gold table.

        """
        self.root, self._reach = root, reach
        self._lock = threading.Lock()
        self._read: dict[str, str] = {}
        self._told: dict[tuple[str, ...], list[Row]] = {}
        if not self.version():
            message = (
                f"no gold table in {root}: fill it with `plumbline ingest` and `plumbline build-gold`, "
                "or see `plumbline demo`"
            )
            raise NoGoldError(message)
        self._duck = duckdb.connect(":memory:", config={"memory_limit": PAGE_MEMORY, "threads": 2})
        self._duck.execute("SET TimeZone = 'UTC'")
        self._duck.execute("CREATE SCHEMA gold")
        self._duck.execute(MACROS)
        for name, table in TABLES.items():
            self._duck.execute(f"CREATE TABLE {name} ({declared(table)})")

    def version(self) -> str:
        """Name the newest commit of every table there is: it changes whenever any of them does."""
        commits = {name: _newest_commit(self._path(table)) for name, table in TABLES.items()}
        return " ".join(f"{name}:{commit}" for name, commit in commits.items() if commit)

    def is_there(self, name: str) -> bool:
        """Tell whether a table was ever made."""
        return bool(_newest_commit(self._path(TABLES[name])))

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Ask a query of our own; the tables that it names are read anew first where they have changed."""
        names = list(dict.fromkeys(NAMED.findall(query)))
        for name in names:
            self._refresh(name)
        asked = (query, repr(parameters), *(self._read.get(name, "") for name in names))
        told = self._told.get(asked)
        if told is None:
            with self._duck.cursor() as cursor:
                told = cursor.sql(query, params=dict(parameters or {})).to_arrow_table().to_pylist()
            if len(self._told) >= MOST_TOLD:
                self._told.clear()
            self._told[asked] = told
        return list(told)

    def fetches(self, since: datetime, until: datetime, leader: int, follower: int) -> pa.Table | None:
        """Read a follower's fetches out of the leader's log in silver; None where there is no silver."""
        return self._of_silver(
            REQUESTS,
            "cluster, position, logged_at, correlation_id, client_id, total_ms, remote_ms, "
            "total_ms - remote_ms AS leader_local_ms, request_queue_ms, local_ms, response_queue_ms, send_ms",
            f"broker_id = {int(leader)} AND follower_id = {int(follower)} AND kind = 'follower'",
            (since, until),
        )

    def events(self, since: datetime, until: datetime, leader: int, follower: int) -> pa.Table | None:
        """Read what a follower's NetworkClient sent to the leader and got from it, out of silver."""
        return self._of_silver(
            CLIENT_EVENTS,
            "cluster, logged_at, logged_mono_ns, direction, client_id, correlation_id",
            f"node_id = {int(follower)} AND destination_id = {int(leader)} AND api = 'FETCH'",
            (since, until),
        )

    def _of_silver(
        self, table: Table, columns: str, of: str, span: tuple[datetime, datetime]
    ) -> pa.Table | None:
        """Read a short span; numbers and instants alone stand in the query, no text of a user."""
        where = self._path(table)
        if not _newest_commit(where):
            return None
        since, until = span
        query = (
            f"SELECT {columns} FROM asked WHERE {of} "
            f"AND logged_date >= DATE '{since:%Y-%m-%d}' AND logged_date <= DATE '{until:%Y-%m-%d}' "
            f"AND logged_at >= {_literal(since)} AND logged_at < {_literal(until)}"
        )
        return _asked(DeltaTable(where), query)

    def _refresh(self, name: str) -> None:
        commit = _newest_commit(self._path(TABLES[name]))
        if self._read.get(name, "") == commit:
            return
        with self._lock:
            if self._read.get(name, "") != commit:
                self._load(name, TABLES[name])
                self._read[name] = commit

    def _load(self, name: str, table: Table) -> None:
        try:
            delta = DeltaTable(self._path(table))
        except TableNotFoundError:
            rows = None
        else:
            rows = _asked(delta, _recent(delta, table, self._reach))
        with self._duck.cursor() as cursor:
            cursor.begin()
            cursor.execute(f"DELETE FROM {name}")
            if rows is not None:
                cursor.register("incoming", rows)
                cursor.execute(f"INSERT INTO {name} BY NAME SELECT * FROM incoming")
            cursor.commit()

    def _path(self, table: Table) -> Path:
        return self.root / table.layer / table.name


def _newest_commit(table: Path) -> str:
    """Name the last commit and when it was written: a warehouse made anew begins to count from 0 again."""
    try:
        last = max((table / "_delta_log").glob("[0-9]*.json"), key=lambda path: path.name, default=None)
        return f"{last.stem.lstrip('0') or '0'}.{last.stat().st_mtime_ns}" if last else ""
    except FileNotFoundError:  # maintenance took it away in this very moment
        return ""


def _recent(delta: DeltaTable, table: Table, reach: timedelta) -> str:
    there = {field.name for field in delta.schema().fields}
    columns = ", ".join(f'"{name}"' for name in read_columns(table) if name in there)
    query = f"SELECT {columns} FROM asked"
    if not has_windows(table):
        return query
    newest = _asked(delta, "SELECT max(window_start) AS newest FROM asked").column("newest")[0].as_py()
    return query if newest is None else f"{query} WHERE window_start >= {_literal(newest - reach)}"


def _asked(delta: DeltaTable, query: str) -> pa.Table:
    """Ask by delta-rs' own engine: its other ways read a table whose columns are mapped as NULL."""
    return pa.table(QueryBuilder().register("asked", delta).execute(query).read_all())


def _literal(instant: datetime) -> str:
    return f"TIMESTAMP '{instant:%Y-%m-%dT%H:%M:%S.%f}Z'"
