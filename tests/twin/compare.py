"""
Compare the parsers in Python with the ones they replace, which were Spark column expressions.

The old parsers ran once over each corpus and left `ROOT/CORPUS/old/KIND/CHUNK/TABLE.parquet` for each
`ROOT/CORPUS/bronze/KIND/CHUNK.parquet`: rows of silver, quarantine, skipped counts, and the outcome of each
line. This program parses the same bronze rows and compares every cell. It prints Markdown: rows by table, and
differences grouped by what the old and the new parser made of a line.

    python -m tests.twin.compare /tmp/twin data mutated:request-log,cluster
"""

import argparse
import importlib
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from transforms.parse.record import DAY_US, Kept, Outcome, Quarantined, Record, Skipped

Parse = Callable[[Record], Outcome]
Rows = dict[str, list[Any]]

KINDS: Mapping[str, tuple[str, ...]] = {
    "request-log": ("requests", "topics", "throttle_changes", "reassignments", "isr_changes"),
    "client-log": ("client_events",),
    "state-change": ("leadership_changes",),
    "cluster": ("cluster_polls", "throttle_changes"),
    "perf-test": ("perf_windows", "perf_summaries", "client_metrics", "runs"),
    "metrics": ("metric_scrapes", "metric_series", "metric_samples"),
}
MODULES = {
    "request-log": "transforms.parse.requests",
    "client-log": "transforms.parse.client_events",
    "state-change": "transforms.parse.leadership_changes",
    "cluster": "transforms.parse.cluster_polls",
    "perf-test": "transforms.parse.perf",
}
SEVERAL = {"topics", "throttle_changes", "reassignments", "isr_changes"}
"""Tables that may have several rows of a line: compared line by line, as bags of rows."""

NOT_COMPARED = {"parser_version"}
BRONZE = [name for name in Record._fields if name != "headers"]
EXAMPLES, SHOWN_BYTES, BATCH_ROWS = 3, 240, 20_000
DETAILS = 12
DIGITS, SHOWN_TEXT = re.compile(r"\d+"), re.compile(r"(?:starts|ends) with: .*|; \d+ characters.*", re.DOTALL)
UNEXPECTED = "raised an exception"


@dataclass(slots=True)
class Difference:
    """Lines on which the parsers differ in the same way."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    details: Counter[str] = field(default_factory=Counter)

    def add(self, example: Callable[[], str], detail: str | None = None) -> None:
        """Count one; the first few are shown."""
        self.count += 1
        if detail:
            self.details[DIGITS.sub("N", SHOWN_TEXT.sub("", detail))[:SHOWN_BYTES]] += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example())


@dataclass(slots=True)
class Report:
    """What was compared: rows by table (old, new, equal), and differences by (kind, old, new)."""

    rows: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    differences: dict[tuple[str, str, str], Difference] = field(
        default_factory=lambda: defaultdict(Difference)
    )
    parse_s: float = 0.0
    lines: Counter[str] = field(default_factory=Counter)

    def count(self, kind: str, table: str, *, old: int, new: int, equal: int) -> None:
        """Add the rows of one chunk."""
        self.rows[kind, table].update(old=old, new=new, equal=equal)


@dataclass(slots=True)
class Parsed:
    """What the new parser makes of one chunk."""

    outcomes: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    details: list[str | None] = field(default_factory=list)
    rows: Rows = field(default_factory=lambda: defaultdict(list))
    rejected: list[tuple[int, str, bytes, str]] = field(default_factory=list)


def records(bronze: pa.Table) -> Iterator[Record]:
    """Yield the records of a chunk; instants as microseconds."""
    instants = pc.cast(bronze["timestamp"], pa.int64())
    bronze = bronze.set_column(bronze.schema.get_field_index("timestamp"), "timestamp", instants)
    for batch in bronze.to_batches(BATCH_ROWS):
        columns = [batch.column(name).to_pylist() for name in BRONZE]
        headers = batch.column("headers").to_pylist()
        for headers_of, *cells in zip(headers, *columns, strict=True):
            pairs = None if headers_of is None else [(one["key"], one["value"]) for one in headers_of]
            yield Record(**dict(zip(BRONZE, cells, strict=True)), headers=pairs)


def parser_of(kind: str) -> Parse:
    """Return the new parser of a kind; one with a memory begins anew."""
    if kind == "metrics":
        parse: Parse = importlib.import_module("transforms.parse.scrapes.parser").ScrapeParser().parse
    else:
        parse = importlib.import_module(MODULES[kind]).parse
    return parse


def parsed(kind: str, bronze: pa.Table) -> tuple[Parsed, float]:
    """Parse a chunk with the new parser; return what it says, and the CPU-seconds."""
    parse, told = parser_of(kind), Parsed()
    every = list(records(bronze))
    began = time.process_time()
    outcomes = [_guarded(parse, record) for record in every]
    took_s = time.process_time() - began
    for record, outcome in zip(every, outcomes, strict=True):
        told.details.append(outcome.detail if isinstance(outcome, Quarantined) else None)
        if isinstance(outcome, Kept):
            told.outcomes.append(("kept", None, None))
            for table, rows in outcome.rows.items():
                told.rows[table].extend(rows)
            offset = -1 if record.offset is None else record.offset
            told.rejected += [(offset, one.position, one.value, one.reason) for one in outcome.rejected]
        elif isinstance(outcome, Skipped):
            told.outcomes.append(("skipped", outcome.reason, outcome.logger))
        else:
            told.outcomes.append(("quarantined", outcome.reason, None))
    return told, took_s


def _guarded(parse: Parse, record: Record) -> Outcome:
    try:
        return parse(record)
    except Exception as error:  # noqa: BLE001 - counted as a difference, whatever it is
        return Quarantined(f"{UNEXPECTED} {type(error).__name__}", repr(error)[:SHOWN_BYTES])


def as_integers(rows: pa.Table) -> pa.Table:
    """Return instants as microseconds and dates as days: Python has no year 0 to write an example of."""
    for nth, of in enumerate(rows.schema):
        if pa.types.is_timestamp(of.type):
            rows = rows.set_column(nth, of.name, rows[of.name].cast(pa.timestamp("us")).cast(pa.int64()))
        elif pa.types.is_date32(of.type):
            rows = rows.set_column(nth, of.name, rows[of.name].cast(pa.int32()))
    return rows


def table_of(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as columns of the old table's types."""
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    assert len(cells) == len(schema), (len(cells), schema.names)
    return pa.table(
        [pa.array(column, of.type) for column, of in zip(cells, schema, strict=True)], schema=schema
    )


class Chunk:
    """One chunk: its bronze rows, what the old parser left, what the new one says."""

    def __init__(self, corpus: Path, kind: str, name: str, report: Report) -> None:
        """Read and parse it."""
        self.kind, self.report = kind, report
        self.bronze = pq.read_table(corpus / "bronze" / kind / f"{name}.parquet")
        self.folder = corpus / "old" / kind / name
        self.new, took_s = parsed(kind, self.bronze)
        report.parse_s += took_s
        report.lines[kind] += len(self.bronze)
        self.values = self.bronze["value"]
        first = self.bronze["offset"][0].as_py()
        assert pc.all(
            pc.equal(self.bronze["offset"], pa.array(np.arange(first, first + len(self.bronze))))
        ).as_py()
        self.first = first

    def old(self, table: str) -> pa.Table | None:
        """Return a table as the old parser left it; None where it has no rows."""
        path = self.folder / f"{table}.parquet"
        return as_integers(pq.read_table(path)) if path.exists() else None

    def example(self, offset: int, more: str = "") -> str:
        """Show the start of a line."""
        value = self.values[offset - self.first].as_py()
        shown = repr(value[:SHOWN_BYTES])[1:] if value is not None else "NULL"
        size = f" ({len(value)} bytes)" if value and len(value) > SHOWN_BYTES else ""
        return f"{offset}: {shown}{size}{more}"

    def differ(self, old: str, new: str, offset: int, more: str = "", detail: str | None = None) -> None:
        """Note a difference of one line; `detail` is why the new parser does not keep it."""
        self.report.differences[self.kind, old, new].add(lambda: self.example(offset, more), detail)

    # What became of each line

    def compare_outcomes(self) -> set[int]:
        """Compare outcome, reason and logger of each line; return the offsets where they differ."""
        old = self.old("outcomes")
        assert old is not None
        old = old.sort_by("offset")
        assert len(old) == len(self.bronze), (len(old), len(self.bronze))
        before = list(zip(*(old[name].to_pylist() for name in ("outcome", "reason", "logger")), strict=True))
        loggers = [logger if outcome == "skipped" else None for outcome, _, logger in before]
        bad, counts, details = set[int](), Counter[str](), self._old_details()
        for nth, ((was, why, _), logger, (now, reason, of)) in enumerate(
            zip(before, loggers, self.new.outcomes, strict=True)
        ):
            counts[f"old {was}"] += 1
            counts[f"new {now}"] += 1
            if (was, why) != (now, reason):
                bad.add(self.first + nth)
                more = f" [old: {details.get(self.first + nth)}; new: {self.new.details[nth]}]"
                self.differ(
                    _named(was, why), _named(now, reason), self.first + nth, more, self.new.details[nth]
                )
                continue
            counts[f"equal {was}"] += 1
            if logger != of:
                bad.add(self.first + nth)
                self.differ(
                    f"{was}: {why}", "skipped with another logger", self.first + nth, f" [{logger} -> {of}]"
                )
        for outcome in ("quarantined", "skipped"):
            told = {name: counts[f"{name} {outcome}"] for name in ("old", "new", "equal")}
            self.report.count(self.kind, outcome, **told)
        self._compare_details(details)
        self._compare_skipped()
        return bad

    def _old_details(self) -> dict[int, str | None]:
        old = self.old("quarantine")
        if old is None:
            return {}
        return dict(zip(old["offset"].to_pylist(), old["detail"].to_pylist(), strict=True))

    def _compare_details(self, details: Mapping[int, str | None]) -> None:
        for offset, detail in details.items():
            if self.new.outcomes[offset - self.first][0] == "quarantined":
                now = self.new.details[offset - self.first]
                self.report.rows[self.kind, "details"].update(old=1, new=1, equal=int(now == detail))

    def _compare_skipped(self) -> None:
        old, by = (
            self.old("skipped"),
            ("kind", "cluster", "node", "source", "logger", "reason", "ingest_date"),
        )
        before = Counter[Any]()
        if old is not None:
            keys = zip(*(old[name].to_pylist() for name in by), strict=True)
            before = Counter(dict(zip(keys, old["lines"].to_pylist(), strict=True)))
        now = Counter[Any]()
        columns = [
            self.bronze[name].to_pylist() for name in ("kind", "cluster", "node", "source", "ingest_date")
        ]
        columns[-1] = self.bronze["ingest_date"].cast(pa.int32()).to_pylist()
        for (outcome, reason, logger), *cells, date in zip(self.new.outcomes, *columns, strict=True):
            if outcome == "skipped":
                now[(*cells, logger, reason, date)] += 1
        equal = sum(before[key] == now[key] for key in before)
        self.report.count(self.kind, "skipped counts", old=len(before), new=len(now), equal=equal)

    # Rows of silver

    def compare_rows(self, table: str, bad: set[int]) -> None:
        """Compare the rows of a table; those of lines in `bad`, whose outcomes differ, are counted only."""
        old = self.old(table)
        if old is None:
            rows = self.new.rows.get(table, [])
            self.report.count(self.kind, table, old=0, new=len(rows), equal=0)
            for row in rows:
                if row.offset not in bad:
                    self.differ("kept", f"kept: {table} has a row that was not there", row.offset)
            return
        new = table_of(self.new.rows.get(table, []), old.schema)
        equal = self._bags(table, old, new, bad) if table in SEVERAL else self._rows(table, old, new, bad)
        self.report.count(self.kind, table, old=len(old), new=len(new), equal=equal)

    def _rows(self, table: str, old: pa.Table, new: pa.Table, bad: set[int]) -> int:
        old, new = old.sort_by("offset"), new.sort_by("offset")
        if not old["offset"].equals(new["offset"]):
            both = np.intersect1d(old["offset"].to_numpy(), new["offset"].to_numpy())
            for name, of in (("old", old), ("new", new)):
                for offset in np.setdiff1d(of["offset"].to_numpy(), both).tolist():
                    if offset not in bad:
                        self.differ("kept", f"kept: {table} has a row of the {name} parser alone", offset)
            old, new = (of.filter(pc.is_in(of["offset"], pa.array(both))) for of in (old, new))
        different = differing_cells(old, new)
        for nth, names in different.items():
            cells = (f"{name}: {_cell(old[name][nth])} -> {_cell(new[name][nth])}" for name in names)
            self.differ(
                "kept",
                f"kept: {table}.{', '.join(names)}",
                old["offset"][nth].as_py(),
                f" [{'; '.join(cells)}]"[:900],
            )
        return len(old) - len(different)

    def _bags(self, table: str, old: pa.Table, new: pa.Table, bad: set[int]) -> int:
        names = [name for name in old.schema.names if name not in NOT_COMPARED]
        place = names.index("position")
        before, now = (_by_position(of.select(names), place) for of in (old, new))
        offsets = dict(
            zip(self.bronze["position"].to_pylist(), self.bronze["offset"].to_pylist(), strict=True)
        )
        equal = 0
        for position in before.keys() | now.keys():
            was, is_ = before.get(position, Counter()), now.get(position, Counter())
            equal += sum((was & is_).values())
            if was != is_ and offsets[position] not in bad:
                more = f" [{list((was - is_).elements())[:2]} -> {list((is_ - was).elements())[:2]}]"[:900]
                how = (
                    f"{sum(was.values())} rows -> {sum(is_.values())}"
                    if sum(was.values()) != sum(is_.values())
                    else "cells"
                )
                self.differ("kept", f"kept: {table}, {how}", offsets[position], more)
        return equal

    # Scrapes

    def compare_scrapes(self) -> None:
        """Compare pages, rejected lines, series and samples."""
        bad = self._compare_pages()
        self.compare_rows("metric_scrapes", bad)
        self._compare_series()
        self._compare_samples()

    def _compare_pages(self) -> set[int]:
        """Compare what became of each page and of each line that was rejected."""
        old = self.old("quarantine")
        wanted = ("offset", "position", "reason", "value")
        rows = [] if old is None else list(zip(*(old[name].to_pylist() for name in wanted), strict=True))
        places = dict(
            zip(self.bronze["offset"].to_pylist(), self.bronze["position"].to_pylist(), strict=True)
        )
        pages = {offset: reason for offset, position, reason, _ in rows if position == places[offset]}
        before = {
            (offset, position, value): reason
            for offset, position, reason, value in rows
            if position != places[offset]
        }
        now = {(offset, position, value): reason for offset, position, value, reason in self.new.rejected}
        bad, equal, n_new = set[int](), 0, 0
        for nth, (outcome, reason, _) in enumerate(self.new.outcomes):
            was = pages.get(self.first + nth)
            n_new += outcome == "quarantined"
            equal += outcome == "quarantined" and was == reason
            if was != reason:
                bad.add(self.first + nth)
                more = f" [{places[self.first + nth]}; new detail: {self.new.details[nth]}]"
                self.differ(_page(was), _page(reason), self.first + nth, more)
        self.report.count(self.kind, "quarantined pages", old=len(pages), new=n_new, equal=equal)
        same = sum(now.get(key) == reason for key, reason in before.items())
        self.report.count(self.kind, "quarantined lines", old=len(before), new=len(now), equal=same)
        for key in before.keys() | now.keys():
            if before.get(key) != now.get(key) and key[0] not in bad:
                more = f" [line {key[1].rpartition('#')[2]}: {key[2][:SHOWN_BYTES]!r}]"
                self.differ(_line(before.get(key)), _line(now.get(key)), key[0], more)
        return bad

    def _compare_series(self) -> None:
        old = self.old("metric_series")
        if old is None:
            self.report.count(
                self.kind, "metric_series", old=0, new=len(self.new.rows["metric_series"]), equal=0
            )
            return
        new = table_of(self.new.rows.get("metric_series", []), old.schema)
        names = [name for name in old.schema.names if name not in NOT_COMPARED]
        before, now = (_series(of.select(names)) for of in (old, new))
        equal = sum(now.get(key) == cells for key, cells in before.items())
        self.report.count(self.kind, "metric_series", old=len(before), new=len(now), equal=equal)
        for key in before.keys() | now.keys():
            was, is_ = before.get(key), now.get(key)
            if was != is_:
                how = (
                    "only old"
                    if is_ is None
                    else "only new"
                    if was is None
                    else ", ".join(name for name, a, b in zip(names, was, is_, strict=True) if a != b)
                )
                self.report.differences[self.kind, "series", f"series: {how}"].add(
                    lambda was=was, is_=is_: f"{was} -> {is_}"
                )

    def _compare_samples(self) -> None:
        old = self.old("metric_samples")
        schema = old.schema if old is not None else None
        blocks = self.new.rows.get("metric_samples", [])
        if schema is None or old is None:
            self.report.count(
                self.kind, "metric_samples", old=0, new=sum(len(b.series_id) for b in blocks), equal=0
            )
            return
        before, now = _sorted_samples(old), _sorted_samples(_samples(blocks, schema))
        same = before.equals(now)
        common = len(before) if same else 0
        if not same:
            left, right = (
                Counter(zip(*(t[c].to_pylist() for c in t.schema.names), strict=True)) for t in (before, now)
            )
            common = sum((left & right).values())
            for how, rows in (("only old", left - right), ("only new", right - left)):
                for row, n in rows.items():
                    for _ in range(n):
                        self.report.differences[self.kind, "samples", f"sample {how}"].add(
                            lambda row=row: str(row)
                        )
        self.report.count(self.kind, "metric_samples", old=len(before), new=len(now), equal=common)


def _cell(cell: pa.Scalar) -> str:
    return repr(cell.cast(pa.binary()).as_py() if pa.types.is_string(cell.type) else cell.as_py())


def _named(outcome: str, reason: str | None) -> str:
    return f"{outcome}: {reason}" if reason else outcome


def _page(reason: str | None) -> str:
    return f"page quarantined: {reason}" if reason else "page kept"


def _line(reason: str | None) -> str:
    return f"line quarantined: {reason}" if reason else "line read"


def _by_position(rows: pa.Table, place: int) -> dict[str, Counter[Any]]:
    found: dict[str, Counter[Any]] = defaultdict(Counter)
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        found[row[place]][repr(row)] += 1
    return found


def _series(rows: pa.Table) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Return each series once; where two pages named it, with the first instant of both."""
    names = rows.schema.names
    first, labels = names.index("first_at"), names.index("labels")
    found: dict[tuple[str, int], tuple[Any, ...]] = {}
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        cells = list(row)
        cells[labels] = tuple(sorted(cells[labels]))
        key = (cells[0], cells[1])
        if key in found:
            cells[first] = min(cells[first], found[key][first])
        found[key] = tuple(cells)
    return found


def _samples(blocks: Sequence[Any], schema: pa.Schema) -> pa.Table:
    if not blocks:
        return schema.empty_table()
    columns: list[Any] = [[], [], [], []]
    for block in blocks:
        n = len(block.series_id)
        at = np.full(n, block.at, np.int64) if isinstance(block.at, int) else block.at
        for column, cells in zip(
            columns, (np.full(n, block.cluster, object), block.series_id, at, block.value), strict=True
        ):
            column.append(cells)
    cluster, series_id, at, value = (np.concatenate(column) for column in columns)
    arrays = [
        pa.array(cluster, pa.string()),
        pa.array(series_id, pa.int64()),
        pa.array(at, pa.int64()),
        pa.array(value, pa.float64()),
        pa.array(at.astype(np.int64) // DAY_US, pa.int64()).cast(pa.int32()),
    ]
    return pa.table(arrays, schema=schema)


def _sorted_samples(rows: pa.Table) -> pa.Table:
    bits = rows["value"].combine_chunks()
    bits = (
        bits.view(pa.int64())
        if not isinstance(bits, pa.ChunkedArray)
        else pa.concat_arrays(bits.chunks).view(pa.int64())
    )
    rows = rows.set_column(rows.schema.get_field_index("value"), "value", bits)
    order = [(name, "ascending") for name in ("series_id", "at", "value", "cluster")]
    return rows.sort_by(order).combine_chunks()


def differing_cells(old: pa.Table, new: pa.Table) -> dict[int, list[str]]:
    """Return the columns that differ, by row; the tables have the same rows in the same order."""
    found: dict[int, list[str]] = defaultdict(list)
    for name in old.schema.names:
        if name in NOT_COMPARED:
            continue
        before, now = old[name].combine_chunks(), new[name].combine_chunks()
        if pa.types.is_float64(before.type):  # bit for bit
            before, now = (column.view(pa.int64()) for column in (before, now))
        if before.equals(now):
            continue
        if pa.types.is_string(before.type):  # Spark's strings may hold any bytes
            before, now = (column.cast(pa.binary()) for column in (before, now))
        for nth, (was, is_) in enumerate(zip(before.to_pylist(), now.to_pylist(), strict=True)):
            if was != is_:
                found[nth].append(name)
    return found


def compare(root: Path, corpus: str, kinds: Iterable[str]) -> Report:
    """Compare all chunks of a corpus that the old parser has read."""
    report = Report()
    for kind in kinds:
        for folder in sorted((root / corpus / "old" / kind).glob("*/.done")):
            chunk = Chunk(root / corpus, kind, folder.parent.name, report)
            if kind == "metrics":
                chunk.compare_scrapes()
                continue
            bad = chunk.compare_outcomes()
            for table in KINDS[kind]:
                chunk.compare_rows(table, bad)
    return report


def markdown(corpus: str, report: Report) -> str:
    """Return a report as Markdown."""
    lines = sum(report.lines.values())
    text = [
        f"## {corpus}: {lines:,} records, parsed in {report.parse_s:.1f} CPU-s",
        "",
        "| kind | table | rows old | rows new | equal |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    text += [
        f"| {kind} | {table} | {n['old']:,} | {n['new']:,} | {n['equal']:,} |"
        for (kind, table), n in sorted(report.rows.items())
    ]
    text += ["", "| kind | old | new | lines |", "| --- | --- | --- | ---: |"]
    every = sorted(report.differences.items(), key=lambda one: -one[1].count)
    text += [f"| {kind} | {old} | {new} | {one.count:,} |" for (kind, old, new), one in every]
    for (kind, old, new), one in every:
        text += ["", f"### {kind}: {old} -> {new} ({one.count:,})", ""]
        text += [f"- {n:,}: {detail}" for detail, n in one.details.most_common(DETAILS)] + [""]
        text += [f"    {example}" for example in one.examples]
    return "\n".join(text) + "\n"


def main() -> None:
    """Compare the corpora named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path, help="folder of the corpora")
    parser.add_argument("corpora", nargs="+", help="CORPUS or CORPUS:KIND,KIND")
    told = parser.parse_args()
    for name in told.corpora:
        corpus, _, kinds = name.partition(":")
        print(markdown(corpus, compare(told.root, corpus, kinds.split(",") if kinds else KINDS)), flush=True)


if __name__ == "__main__":
    main()
