"""The rows of gold that metrics are made from, in the reader's database, and the values of all metrics."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Thread

import duckdb
from deltalake.exceptions import DeltaError

from answers.exported.declared import Exported
from answers.exported.metrics import QUESTIONS, WINDOWED, read_columns
from answers.formats import label
from answers.gold.columns import duck_types
from answers.gold.reader import GoldReader
from answers.gold.relations import FILE, FIRST, LAST
from schemas.fields import Table


@dataclass(frozen=True, slots=True)
class SecondsSpan:
    """Seconds since the epoch, the end left out."""

    since: float
    until: float


@dataclass(frozen=True, slots=True)
class ExportedSample:
    """One value of one series."""

    name: str
    labels: tuple[tuple[str, str], ...]
    at: float
    value: float


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Files of a table whose rows of a span are in memory."""

    since: datetime = FIRST
    until: datetime = FIRST
    files: frozenset[str] = frozenset()

    def known(self, files: Iterable[str], since: datetime, until: datetime) -> frozenset[str]:
        """Return the files whose rows of a span need not be read again; a file never changes."""
        is_within = self.since <= since and self.until == until
        return self.files.intersection(files) if is_within else frozenset()


class ExportedGold:
    """Gold for metrics, one per reader; `limits` are those of `[export]` in the settings."""

    def __init__(self, reader: GoldReader, limits: Mapping[str, int]) -> None:
        """Read nothing yet."""
        self.versions: dict[str, str] = {}
        self.failures = 0
        self._reader, self._db, self._columns = reader, reader.connection(), read_columns()
        self._read_files: dict[str, ReadFiles] = {}
        fresh_s, events_s = limits["fresh_s"], limits["events_span_s"]
        self._reach_s = {
            "latest": fresh_s + limits["span_s"],
            "rare": fresh_s + events_s,
            "remembered": limits["remember_s"] + events_s,
        }
        for name, value in limits.items():
            self._db.execute(f"SET VARIABLE {name} = {value:d}")
        for schema in self._reach_s:
            self._db.execute(f"CREATE SCHEMA {schema}")
        for table, read in self._columns.items():
            types = duck_types(table)
            for schema, names in read.items():
                columns = ", ".join(
                    f"{name} {types[name].replace('TIMESTAMPTZ', 'DOUBLE')}" for name in names
                )
                self._db.execute(f"CREATE TABLE {schema}.{table.name} ({columns}, {FILE} VARCHAR)")

    def refresh(self) -> list[str]:
        """Read the tables that have a new version, and name them; after a failure the old rows stay."""
        found = {table: self._reader.relations[f"gold.{table.name}"].version() for table in self._columns}
        due = [table for table, version in found.items() if self.versions.get(table.name) != version]
        are_read = dict.fromkeys(due, False)
        # A second thread reads half of the tables. It is a daemon: a stop does not wait for it.
        second = Thread(target=self._read_newest, args=(due[1::2], are_read), daemon=True)
        second.start()
        self._read_newest(due[::2], are_read)
        second.join()
        changed = [table for table, is_read in are_read.items() if is_read]
        self.versions |= {table.name: found[table] for table in changed}
        self.failures += len(due) - len(changed)
        return [table.name for table in changed]

    def _read_newest(self, tables: Iterable[Table], are_read: dict[Table, bool]) -> None:
        """Read the newest rows of tables, and note which could be read."""
        for table in tables:
            try:
                extent = self._reader.extent(table)
                self._load(table, extent[1].timestamp() if extent else None, LAST)
            except (DeltaError, OSError, duckdb.Error):
                continue
            are_read[table] = True

    def load(self, span: SecondsSpan) -> None:
        """Read the rows for the history of a span."""
        for table in self._columns:
            self._load(table, span.since, datetime.fromtimestamp(span.until, UTC))

    def extent(self) -> SecondsSpan | None:
        """Return the range of the windows; None without any."""
        found = [extent for table in WINDOWED if (extent := self._reader.extent(table))]
        if not found:
            return None
        since, until = min(first for first, _ in found), max(last for _, last in found)
        return SecondsSpan(since.timestamp(), until.timestamp() + 10)

    def samples(self, instants: Iterable[float]) -> list[ExportedSample]:
        """Return the values of all metrics at instants, from the settled gold before each."""
        at = [list(instants)]
        self._db.execute("CREATE OR REPLACE TEMP TABLE instants AS SELECT unnest(?::DOUBLE[]) AS moment", at)
        for question in QUESTIONS:
            for name, query in question.prepared.items():
                self._db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        every = [each for question in QUESTIONS for each in question.exported]
        return [sample for each in every for sample in self._samples(each)]

    def _samples(self, exported: Exported) -> Iterator[ExportedSample]:
        result = self._db.execute(exported.query)
        names = [column[0] for column in result.description or ()]
        for values in result.fetchall():
            row = dict(zip(names, values, strict=True))
            labels = tuple(
                (name, label(row[name])) for name in exported.metrics[0].labels if row[name] is not None
            )
            for metric in exported.metrics:
                if (value := row[metric.name]) is not None:
                    yield ExportedSample(metric.name, labels, row["moment"], float(value))

    def _load(self, table: Table, newest: float | None, until: datetime) -> None:
        """Replace the rows of a table by those from its reach before `newest` on."""
        for schema in self._columns[table]:
            # A baseline is that of an hour, which may have begun an hour before.
            reach_s = self._reach_s[schema] + 3_600 * (table.instant == "hour")
            since = FIRST if newest is None else datetime.fromtimestamp(newest - reach_s, UTC)
            self._read(table, schema, since, until)

    def _read(self, table: Table, schema: str, since: datetime, until: datetime) -> None:
        """Keep the rows of known files that are still in the span, and read the other files."""
        name, stored = f"{schema}.{table.name}", self._reader.stored(table)
        files = stored.files(since, until)
        known = self._read_files.get(name, ReadFiles()).known(files, since, until)
        is_timed = "TIMESTAMPTZ" in {duck_types(table).get(column) for column in table.key}
        query = f"FROM {name} WHERE {FILE} IN (SELECT unnest($known::VARCHAR[]))"
        query += f" AND {table.instant} >= epoch($since::TIMESTAMPTZ)" * is_timed
        if new := [file for file in files if file not in known]:
            distinct = "DISTINCT" * (schema == "remembered")
            query += f"""
                UNION ALL SELECT {distinct} {self._selected(table, schema)}, {FILE}
                FROM {stored.sql_of(new, FILE)}"""
            query += f" WHERE {table.instant} >= $since AND {table.instant} < $until" * is_timed
        values = {"known": sorted(known), "since": since, "until": until}
        used = {key: value for key, value in values.items() if f"${key}" in query}
        with self._reader.connection() as db:  # one connection has one query at a time
            db.execute(f"CREATE OR REPLACE TABLE {name} AS {query}", used)
        self._read_files[name] = ReadFiles(since, until, frozenset(files))

    def _selected(self, table: Table, schema: str) -> str:
        types = duck_types(table)
        return ", ".join(
            f"epoch({name}) AS {name}" if types[name] == "TIMESTAMPTZ" else name
            for name in self._columns[table][schema]
        )
