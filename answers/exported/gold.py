"""The rows of gold that metrics are made from, in a database in memory, and the values of all metrics."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from answers.columns import duck_types
from answers.exported.declared import Exported
from answers.exported.metrics import QUESTIONS, WINDOWED, read_columns
from answers.gold import FIRST, LAST, GoldReader
from answers.histogram import MACROS
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


class ExportedGold:
    """Gold for metrics; `limits` are those of `[export]` in the settings."""

    def __init__(self, reader: GoldReader, limits: Mapping[str, int]) -> None:
        """Read nothing yet."""
        self.versions: dict[str, str] = {}
        self.failures = 0
        self._reader, self._columns = reader, read_columns()
        self._reach_s = {
            "gold": limits["fresh_s"] + max(limits["span_s"], limits["events_span_s"]),
            "remembered": limits["remember_s"] + limits["events_span_s"],
        }
        self._db = duckdb.connect(config={"threads": 1})  # small tables: threads cost more than they give
        self._db.execute(f"{MACROS}; CREATE SCHEMA gold; CREATE SCHEMA remembered")
        for name, value in limits.items():
            self._db.execute(f"SET VARIABLE {name} = {value:d}")
        nothing = GoldReader.of_rows({})
        for table in self._columns:
            self._load(nothing, table, None, LAST)

    def refresh(self) -> list[str]:
        """Read the tables that have a new version, and name them; after a failure the old rows stay."""
        changed = []
        for table in self._columns:
            version = self._reader.relations[f"gold.{table.name}"].version()
            if self.versions.get(table.name) == version:
                continue
            try:
                extent = self._reader.extent(table)
                self._load(self._reader, table, extent[1].timestamp() if extent else None, LAST)
            except (DeltaError, OSError, duckdb.Error):
                self.failures += 1
                continue
            self.versions[table.name] = version
            changed.append(table.name)
        return changed

    def load(self, span: SecondsSpan) -> None:
        """Read the rows for the history of a span."""
        for table in self._columns:
            self._load(self._reader, table, span.since, datetime.fromtimestamp(span.until, UTC))

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
                (name, str(row[name])) for name in exported.metrics[0].labels if row[name] is not None
            )
            for metric in exported.metrics:
                if (value := row[metric.name]) is not None:
                    yield ExportedSample(metric.name, labels, row["moment"], float(value))

    def _load(self, reader: GoldReader, table: Table, newest: float | None, until: datetime) -> None:
        """Replace the rows of a table, if all can be read."""
        read = {reach: self._read(reader, table, reach, newest, until) for reach in self._columns[table]}
        for reach, rows in read.items():
            self._db.register("read_rows", rows)
            self._db.execute(f"CREATE OR REPLACE TABLE {reach}.{table.name} AS FROM read_rows")
            self._db.unregister("read_rows")

    def _read(
        self, reader: GoldReader, table: Table, reach: str, newest: float | None, until: datetime
    ) -> pa.Table:
        types = duck_types(table)
        columns = ", ".join(
            f"epoch({name}) AS {name}" if types[name] == "TIMESTAMPTZ" else name
            for name in self._columns[table][reach]
        )
        query = f"SELECT {'DISTINCT' * (reach == 'remembered')} {columns} FROM gold.{table.name}"
        if "TIMESTAMPTZ" not in {types.get(name) for name in table.key}:  # rows without a time
            return reader.arrow(query, {})
        # A baseline is that of an hour, which may have begun an hour before.
        reach_s = self._reach_s[reach] + 3_600 * (table.instant == "hour")
        since = FIRST if newest is None else datetime.fromtimestamp(newest - reach_s, UTC)
        bounds = f"{table.instant} >= $since AND {table.instant} < $until"
        return reader.arrow(f"{query} WHERE {bounds}", {"since": since, "until": until})
