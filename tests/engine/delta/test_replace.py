"""Replaced spans of a table: the rows outside of the spans stay, whatever file they are in."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import CommitFailedError
from pyspark.sql.types import LongType, StructType, TimestampType

from engine.delta import commits, log_entries, tables
from schemas.arrow import arrow_schema
from schemas.fields import HISTOGRAM, Table, column
from transforms.spans import MAX_SPANS, Span

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
START_S = int(START.timestamp())

WINDOWS = Table(
    layer="gold",
    name="windows",
    about="Windows of a test.",
    key=("at", "n"),
    schema=StructType(
        [
            column("at", TimestampType(), "window"),
            column("n", LongType(), "number"),
            column("hist", HISTOGRAM, "histogram"),
        ]
    ),
)


def rows(numbers, *, n=0):
    values = [{"at": START + timedelta(seconds=10 * nth), "n": n, "hist": [(nth, 1)]} for nth in numbers]
    return pa.Table.from_pylist(values, schema=arrow_schema(WINDOWS))


def span(first, end):
    return Span(START_S + 10 * first, START_S + 10 * end)


class WindowTable:
    """One table, and the values of its windows."""

    def __init__(self, spark, root):
        """Create the table with the windows 0 to 9 in one file."""
        self.spark, self.root, self.where = spark, root, root / "gold" / "windows"
        tables.ensure(spark, root, WINDOWS)
        self.replace(rows(range(10)), span(0, 10))

    def replace(self, values, *spans, note=""):
        """Replace spans."""
        tables.replace(values, self.root, WINDOWS, column="at", spans=spans, note=note)

    def numbers(self):
        """Return `n` of each window, as Spark reads it."""
        found = tables.read(self.spark, self.root, WINDOWS).collect()
        assert all(
            row.hist == {(row.at - START.replace(tzinfo=None)).total_seconds() // 10: 1} for row in found
        )
        return {int((row.at - START.replace(tzinfo=None)).total_seconds()) // 10: row.n for row in found}


@pytest.fixture
def site(spark, tmp_path):
    return WindowTable(spark, tmp_path)


def test_other_rows_of_a_rewritten_file_stay(site):
    site.replace(rows([3, 7], n=1), span(2, 5), span(7, 8))

    assert site.numbers() == {0: 0, 1: 0, 3: 1, 5: 0, 6: 0, 7: 1, 8: 0, 9: 0}


def test_a_file_without_a_newer_column_is_read_with_nulls(site):
    grown = dataclasses.replace(
        WINDOWS, schema=StructType([*WINDOWS.schema, column("more", LongType(), "a newer column")])
    )
    tables.ensure(site.spark, site.root, grown)
    new = rows([3], n=1).append_column("more", pa.array([7], pa.int64()))

    tables.replace(new, site.root, grown, column="at", spans=[span(3, 4)])

    found = {row.at: row.more for row in tables.read(site.spark, site.root, grown).collect()}
    assert [more for _, more in sorted(found.items())] == [None] * 3 + [7] + [None] * 6


def test_a_span_can_be_read_without_spark(site):
    site.replace(rows([3], n=1), span(3, 4))

    found = tables.snapshot(site.root, WINDOWS).arrow(["at", "n"], "at", [span(2, 5)])

    assert found.column_names == ["at", "n"]
    assert sorted(found["n"].to_pylist()) == [0, 0, 1]


def test_many_spans_are_as_exact_as_few(site):
    """Above `MAX_SPANS` spans the condition has another form; spans need not be whole windows."""
    site.replace(rows(range(10, 100)), span(10, 100))
    starts = range(1, 40 * (MAX_SPANS + 1), 40)
    spans = [Span(START_S + start, START_S + start + 10) for start in starts]

    found = tables.snapshot(site.root, WINDOWS).arrow(["at"], "at", spans)

    assert sorted(found["at"].to_pylist()) == [START + timedelta(seconds=start + 9) for start in starts]


def test_nothing_to_replace_is_no_commit_unless_it_has_a_note(site):
    before = log_entries.opened(site.where).version()

    site.replace(rows([]), span(20, 30))
    assert log_entries.opened(site.where).version() == before

    site.replace(rows([]), span(20, 30), note="built")
    entry = (site.where / "_delta_log" / f"{before + 1:020}.json").read_text().splitlines()
    assert [json.loads(line)["commitInfo"]["userMetadata"] for line in entry if "commitInfo" in line] == [
        "built"
    ]


def test_a_file_that_is_rewritten_again_and_again_has_few_row_groups(site):
    for nth in range(5):
        site.replace(rows([nth], n=1), span(nth, nth + 1))

    files = [pq.ParquetFile(site.where / path) for path in tables.snapshot(site.root, WINDOWS).paths()]
    assert max(file.num_row_groups for file in files) == 2
    assert site.numbers() == dict.fromkeys(range(5), 1) | dict.fromkeys(range(5, 10), 0)


def test_rows_that_fill_a_row_group_are_not_rewritten_with_each_new_window(site, monkeypatch):
    monkeypatch.setattr(commits, "ROW_GROUP", 4)
    written = []
    for nth in range(10, 20):
        before = set(tables.snapshot(site.root, WINDOWS).paths())
        site.replace(rows([nth - 1, nth], n=1), span(nth - 1, nth + 1))
        added = set(tables.snapshot(site.root, WINDOWS).paths()) - before
        written.append(sum(pq.read_metadata(site.where / path).num_rows for path in added))

    assert written[0] == 11  # once: the file is older
    assert max(written[1:]) <= 4 + 3
    assert site.numbers() == dict.fromkeys(range(9), 0) | dict.fromkeys(range(9, 20), 1)


def test_a_full_row_group_has_the_rows_of_one_key_together(site, monkeypatch):
    monkeypatch.setattr(commits, "ROW_GROUP", 4)
    before = set(tables.snapshot(site.root, WINDOWS).paths())
    mixed = pa.concat_tables([rows([nth], n=nth % 2) for nth in range(20, 30)])
    site.replace(mixed, span(20, 30))
    added = [
        pq.ParquetFile(site.where / path)
        for path in set(tables.snapshot(site.root, WINDOWS).paths()) - before
    ]

    full, newest = sorted(added, key=lambda file: -file.metadata.num_rows)
    groups = [full.read_row_group(nth).to_pylist() for nth in range(full.num_row_groups)]
    assert [[row["hist"] for row in group] for group in groups] == [
        [[(20, 1)], [(22, 1)], [(21, 1)], [(23, 1)]],
        [[(24, 1)], [(26, 1)], [(25, 1)], [(27, 1)]],
    ]
    assert newest.read()["n"].to_pylist() == [0, 1]


def test_rows_with_other_columns_are_refused(site):
    with pytest.raises(ValueError, match=r"gold\.windows has the schema"):
        site.replace(rows([1]).drop_columns("n"), span(1, 2))

    assert len(site.numbers()) == 10


def test_a_commit_that_came_first_is_replaced_too(site, monkeypatch):
    """`maintain` may rewrite the same file between the snapshot and the commit."""
    commit, calls = log_entries.commit, []

    def late(log, *arguments, **more):
        calls.append(log)
        if len(calls) == 1:
            monkeypatch.setattr(log_entries, "commit", commit)
            site.replace(rows([4], n=2), span(4, 5))
            monkeypatch.setattr(log_entries, "commit", late)
        commit(log, *arguments, **more)

    monkeypatch.setattr(log_entries, "commit", late)
    site.replace(rows([5], n=1), span(5, 6))

    assert len(calls) == 2
    assert site.numbers() == dict.fromkeys(range(10), 0) | {4: 2, 5: 1}


def test_commits_that_always_come_first_end_the_attempts(site, monkeypatch):
    def refuse(*_, **__):
        raise CommitFailedError

    monkeypatch.setattr(log_entries, "commit", refuse)
    with pytest.raises(CommitFailedError):
        commits.replace(rows([1]), site.where, WINDOWS, column="at", spans=[span(1, 2)], note="")
