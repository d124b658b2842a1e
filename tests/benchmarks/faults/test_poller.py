"""The concurrent reader detects each fault that it is meant to detect."""

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from benchmarks.faults import oracles
from benchmarks.faults.poller import Poller
from schemas.bronze import REQUEST_LOG
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.requests import REQUESTS

TOPIC = "t.request-log"


class Watched:
    """One topic with two partitions, read in two batches of two records per partition."""

    def __init__(self, folder):
        """Write Spark's offset log of the batches."""
        self.root = folder / "warehouse"
        self.offsets = folder / "checkpoints" / "ingest_lines_v1" / "offsets"
        self.offsets.mkdir(parents=True)
        for batch, end in enumerate((2, 4)):
            ends = json.dumps({TOPIC: {"0": end, "1": end}})
            (self.offsets / str(batch)).write_text(f"v1\n{{}}\n{ends}")
        self.poller = Poller(self.root, folder / "checkpoints")

    def add(self, table, *places):
        """Commit records, each a (partition, offset)."""
        rows = [{"topic": TOPIC, "partition": partition, "offset": offset} for partition, offset in places]
        self.write(table, rows)

    def write(self, table, rows):
        """Commit rows, and look."""
        path = oracles.where(self.root, table)
        path.mkdir(parents=True, exist_ok=True)
        write_deltalake(path, pa.Table.from_pylist(rows), mode="append")
        self.poller.look()


@pytest.fixture
def watched(tmp_path):
    return Watched(tmp_path)


def batch(number):
    return [(partition, 2 * number + i) for partition in (0, 1) for i in (0, 1)]


def test_whole_batches_are_no_fault(watched):
    for number in (0, 1):
        watched.add(REQUEST_LOG, *batch(number))
        watched.add(REQUESTS, *batch(number)[number:])  # Silver may lack a line.
    DeltaTable(oracles.where(watched.root, REQUEST_LOG)).optimize.compact()

    assert watched.poller.finish() == []


@pytest.mark.parametrize("table", [REQUEST_LOG, REQUESTS], ids=lambda table: table.name)
@pytest.mark.parametrize("part", [1, 2, 3])
def test_a_part_of_a_batch_is_found_although_the_rest_follows(watched, table, part):
    watched.add(table, *batch(0))
    watched.add(table, *batch(1)[:part])
    watched.add(table, *batch(1)[part:])

    assert any(
        f"{table.name} version 1" in line and "a part of a batch" in line for line in watched.poller.finish()
    )


def test_rows_after_the_last_batch_are_found(watched):
    watched.add(REQUESTS, (0, 7))

    assert any("no batch of Spark's log ends after it" in line for line in watched.poller.finish())


def test_a_hole_that_is_filled_later_is_found(watched):
    watched.add(REQUEST_LOG, *batch(1))
    watched.add(REQUEST_LOG, *batch(0))

    assert any("version 0" in line and "a hole" in line for line in watched.poller.finish())


def test_a_duplicate_that_is_removed_later_is_found(watched):
    watched.add(REQUESTS, *batch(0), (0, 1))
    DeltaTable(oracles.where(watched.root, REQUESTS)).delete("offset = 1")
    watched.add(REQUESTS, (0, 1), (1, 1))

    assert any("version 0" in line and "doubled" in line for line in watched.poller.finish())


@pytest.mark.parametrize("table", [REQUEST_LOG, REQUESTS], ids=lambda table: table.name)
def test_a_count_that_shrinks_is_found(watched, table):
    watched.add(table, *batch(0))
    DeltaTable(oracles.where(watched.root, table)).delete("offset = 1")
    watched.poller.look()

    assert any("it shrank" in line for line in watched.poller.finish())


def test_a_window_that_disappears_is_found(watched):
    windows = [{"cluster": "c", "window_start": start} for start in (10, 20)]
    watched.write(FETCH_LATENCY, windows)
    DeltaTable(oracles.where(watched.root, FETCH_LATENCY)).delete("window_start = 10")
    watched.poller.look()

    assert watched.poller.finish() == ["fetch_latency: version 1 lacks 1 windows, as ('c', 10)"]


def test_a_missing_file_of_the_log_is_found(watched):
    watched.add(REQUESTS, *batch(0))
    log = DeltaTable(oracles.where(watched.root, REQUESTS))
    (oracles.where(watched.root, REQUESTS) / log.get_add_actions().column("path")[0].as_py()).unlink()
    watched.poller._offsets.clear()  # The poller is like a new reader.
    watched.poller._versions.clear()
    watched.poller.look()

    assert any("a concurrent reader failed" in line for line in watched.poller.wrong)


def test_a_torn_file_is_found_at_each_look_and_hides_no_other_table(watched):
    watched.add(REQUESTS, *batch(0))
    watched.add(REQUEST_LOG, *batch(0))
    path = oracles.where(watched.root, REQUESTS)
    write_deltalake(path, pa.table({"topic": [TOPIC], "partition": [0], "offset": [2]}), mode="append")
    newest = max(path.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:50])
    watched.poller.look()
    watched.poller.look()
    for part in (batch(1)[:1], batch(1)[1:]):
        watched.add(REQUEST_LOG, *part)

    failed = "requests: a concurrent reader failed: ArrowInvalid"
    assert sum(line.startswith(failed) for line in watched.poller.wrong) == 4
    in_bronze, in_silver = watched.poller.finish()
    assert in_bronze.startswith("request_log version 1 showed")
    assert in_silver.startswith(failed)


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_an_error_that_ends_the_thread_is_reported(watched, monkeypatch, error):
    watched.add(REQUEST_LOG, *batch(0))
    original = watched.poller.look

    def look():
        monkeypatch.setattr(watched.poller, "look", original)
        raise error(1)

    monkeypatch.setattr(watched.poller, "look", look)
    watched.poller.start()
    watched.poller.join()

    assert watched.poller.finish() == [f"the concurrent reader has died: {error.__name__}(1)"]


def test_an_unreadable_batch_in_spark_s_log_is_reported(watched):
    watched.add(REQUEST_LOG, *batch(0))
    (watched.offsets / "2").write_text("v1\n{}\n[]")
    watched.poller.look()

    failed = "ingest_lines_v1: a concurrent reader failed"
    assert any(line.startswith(failed) for line in watched.poller.finish())


def test_a_poller_that_has_seen_nothing_before_the_end_is_wrong(watched):
    assert watched.poller.finish() == ["the concurrent reader has seen no table"]
