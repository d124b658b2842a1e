"""Appends with one log entry: exactly once, with concurrent writers, without reading the file list."""

import json
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.transaction import AddAction, CommitProperties, Transaction
from pyspark.sql.types import LongType, StringType, StructType

from benchmarks.faults import oracles
from engine.delta import appends, log_entries
from schemas.fields import Table, column

ROWS = Table(
    layer="silver",
    name="rows",
    about="Rows",
    key=("n",),
    schema=StructType([column("n", LongType(), "number"), column("kind", StringType(), "partition")]),
    partition_by=("kind",),
)


@pytest.fixture
def where(tmp_path):
    where = tmp_path / "silver" / "rows"
    log_entries.create(where, ROWS, {"delta.checkpointInterval": "1000"})
    return where


def add(where, n, kind="a"):
    """Write a file with one row; return its add action."""
    file = where / f"kind={kind}" / f"{n}.parquet"
    file.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"n": pa.array([n], pa.int64())}), file)
    path = str(file.relative_to(where))
    return AddAction(path, file.stat().st_size, {"kind": kind}, 0, data_change=True, stats='{"numRecords":1}')


def append(where, n, *, app="app", version=None, kind="a"):
    batch = n if version is None else version
    return appends.append(where, [add(where, n, kind)], Transaction(app, batch))


def numbers(where):
    return sorted(DeltaTable(where).to_pyarrow_table()["n"].to_pylist())


def test_a_batch_is_written_once_and_an_older_one_never(where):
    assert append(where, 1, version=7)
    assert not append(where, 2, version=7)
    assert not append(where, 3, version=6)
    assert append(where, 4, app="other", version=7)

    assert numbers(where) == [1, 4]
    assert DeltaTable(where).transaction_version("app") == 7


def test_an_entry_is_equal_to_that_of_delta_rs(where):
    append(where, 0, kind="b c=d%")
    entry, log = where / "_delta_log" / f"{1:020}.json", log_entries.opened(where)
    of_batch = CommitProperties(app_transactions=[Transaction("app", 1)])
    log.create_write_transaction(
        [add(where, 1, "b c=d%")],
        mode="append",
        schema=log.schema(),
        partition_by=log.metadata().partition_columns,
        commit_properties=of_batch,
    )
    ours, theirs = (
        {key: of for line in file.read_text().splitlines() for key, of in json.loads(line).items()}
        for file in (entry, entry.with_name(f"{2:020}.json"))
    )

    assert ours["add"]["path"] == theirs["add"]["path"].replace("1.parquet", "0.parquet")
    for action in ("commitInfo", "add", "txn"):
        left_out = {name for name, of in theirs[action].items() if of is None} | {"clientVersion"}
        assert theirs[action].keys() - left_out <= ours[action].keys()
    assert numbers(where) == [0, 1]


def test_concurrent_writers_lose_and_duplicate_nothing(where):
    writers, batches = 4, 40

    def write(writer):
        return [append(where, writer * batches + n, app=f"app-{writer}", version=n) for n in range(batches)]

    with ThreadPoolExecutor(writers) as pool:
        assert all(map(all, pool.map(write, range(writers))))

    assert numbers(where) == list(range(writers * batches))
    assert DeltaTable(where).version() == writers * batches
    assert oracles.bad_log(where.parent.parent, [ROWS]) == []


def test_a_batch_that_several_writers_try_to_write_exists_once(where):
    def write(n):
        return [append(where, 100 * n + version, version=version) for version in range(30)]

    with ThreadPoolExecutor(4) as pool:
        written = [sum(of) for of in zip(*pool.map(write, range(4)), strict=True)]

    assert max(written) == 1
    assert len(numbers(where)) == sum(written)


def test_the_list_of_files_is_read_once(where, monkeypatch):
    append(where, 0)
    monkeypatch.setattr(appends, "open_log", Mock(side_effect=AssertionError))
    for n in range(1, 5):
        append(where, n)

    assert numbers(where) == list(range(5))


def test_commits_of_others_are_read(where):
    append(where, 0)
    DeltaTable(where).delete("n = 0")
    append(where, 1)
    DeltaTable(where).alter.set_table_properties({"delta.checkpointInterval": "3"})
    append(where, 2)

    assert numbers(where) == [1, 2]
    assert list((where / "_delta_log").glob(f"{5:020}.checkpoint.parquet"))


def test_a_log_that_was_cleaned_up_or_set_back_is_read_again(where):
    for n in range(3):
        append(where, n)
    entry = where / "_delta_log" / f"{3:020}.json"
    entry.unlink()  # set back: its batch is retried
    entry.with_suffix(".crc").unlink()

    assert append(where, 9, version=2)
    assert numbers(where) == [0, 1, 9]


def test_a_draft_of_an_entry_is_ignored(where):
    append(where, 0)
    (where / "_delta_log" / f"{2:020}.json#123456").write_text("{")

    append(where, 1)

    assert numbers(where) == [0, 1]


def test_a_table_with_a_later_protocol_is_refused(where):
    DeltaTable(where).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})

    with pytest.raises(ValueError, match="writer version 4; Plumbline supports 2"):
        append(where, 0)
