"""Rows of small data files, kept in memory."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from engine.delta import small_files, tables
from schemas.arrow import arrow_schema
from schemas.silver.requests import REQUESTS
from transforms.spans import Span
from transforms.sql import connect

AT = datetime(2026, 11, 21, tzinfo=UTC)
SPAN = Span(int(AT.timestamp()), int(AT.timestamp()) + 60)


@pytest.fixture
def near(tmp_path):
    """Append three files, one of each second; return a function that reads their rows near."""
    for second in range(3):
        at = AT + timedelta(seconds=second)
        row = {"position": str(second), "logged_at": at, "logged_date": AT.date()}
        rows = pa.Table.from_pylist([row], schema=arrow_schema(REQUESTS))
        tables.append_rows(rows, tmp_path, REQUESTS, txn_app_id=str(second))

    def read(spans=(SPAN,)):
        columns = ("position", "logged_date")
        return tables.snapshot(tmp_path, REQUESTS).near(columns, spans)

    return read


def test_a_small_file_is_opened_once(near, tmp_path):
    def read():
        with connect({"rows": near()}) as db:
            return set(db.sql("FROM rows").fetchall())

    first = read()
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()

    assert first == {(str(second), AT.date()) for second in range(3)} == read()


def test_a_small_file_of_large_rows_is_not_kept_in_memory(tmp_path):
    rows = pa.Table.from_pylist(
        [{"position": "0", "logged_at": AT, "logged_date": AT.date(), "topics_asked": ["t" * 249] * 3_000}],
        schema=arrow_schema(REQUESTS),
    )
    tables.append_rows(rows, tmp_path, REQUESTS, txn_app_id="0")
    snapshot = tables.snapshot(tmp_path, REQUESTS)
    allocated = pa.total_allocated_bytes()

    rows_near = snapshot.near(("position", "topics_asked"), (SPAN,))
    with connect({"rows": rows_near}) as db:
        assert db.sql("SELECT position, len(topics_asked) FROM rows").fetchall() == [("0", 3_000)]

    assert small_files.are_small(snapshot.files["size_bytes"])
    assert rows.nbytes > small_files.MAX_ROWS_BYTES
    assert pa.total_allocated_bytes() - allocated < small_files.MAX_ROWS_BYTES


def test_only_a_few_small_files_are_read_from_memory(near, monkeypatch):
    assert isinstance(near().source, pa.Table)
    assert not isinstance(near(spans=None).source, pa.Table)

    monkeypatch.setattr(small_files, "MAX_READ", 2)
    assert len(near().source) == 3

    monkeypatch.undo()
    monkeypatch.setattr(small_files, "SMALL_BYTES", 1_000)
    assert len(near().source) == 3
