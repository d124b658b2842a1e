"""The audit of table logs with torn, missing, cut and left-over files."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.transaction import RemoveAction

from engine.delta import log_entries, tables
from engine.delta.log_state import entry_file, log_state
from schemas.silver.requests import REQUESTS
from tests.engine.streams.made_stream import TEARS, Stream, tear


@pytest.fixture
def stream(tmp_path):
    return Stream(tmp_path)


@pytest.mark.parametrize("how", TEARS[:3])
def test_a_table_whose_only_entry_is_torn_is_created_again_in_an_empty_folder(stream, how):
    """Delta creates no table in a folder with files."""
    DeltaTable.create(stream.silver, schema=pa.schema([("offset", pa.int64())]))
    (stream.silver / "of-no-version.parquet").touch()
    stream.write(1, until="bronze")
    tear(stream.entry(stream.silver), how)

    assert "the table is created again" in stream.audit()[0]
    assert not stream.silver.exists()
    stream.append(stream.silver, 0)
    assert stream.audit() == []


@pytest.mark.parametrize("lines", [1, 2])
def test_a_first_entry_that_is_cut_at_the_end_of_a_line_is_torn(tmp_path, lines):
    """Each of its lines is valid JSON, but without the schema no reader opens the table."""
    tables.make(tmp_path, REQUESTS)
    where = Path(tables.path(tmp_path, REQUESTS))
    first = entry_file(where / "_delta_log", 0)
    whole = first.read_text().splitlines(keepends=True)
    assert (len(whole), log_state(where).version) == (3, 0)

    first.write_text("".join(whole[:lines]))

    assert (log_state(where).version, log_state(where).torn) == (-1, (first,))


def test_a_table_whose_only_entry_is_gone_is_created_again_if_nothing_was_written(stream):
    DeltaTable.create(stream.silver, schema=pa.schema([("offset", pa.int64())]))
    stream.entry(stream.silver).with_suffix(".crc").touch()  # as Delta writes it
    stream.write(1, until="bronze")
    stream.entry(stream.silver).unlink()

    assert "has no entry; the table is created again" in stream.audit()[0]
    assert not stream.silver.exists()


def test_a_table_whose_only_entry_is_gone_stops_the_job_if_its_files_are_there(stream):
    stream.write(1)
    stream.entry(stream.silver).unlink()

    assert "has no entry, but the folder has files of the table" in stream.refused()


@pytest.mark.parametrize("how", TEARS[:3])
def test_a_table_whose_only_entry_is_torn_and_held_a_batch_gets_that_batch_again(stream, how):
    stream.write(1)
    tear(stream.entry(stream.silver), how)

    assert len(stream.audit()) == 2
    assert (stream.silver.exists(), stream.log.commits) == (False, [])


def test_a_table_whose_only_entry_is_torn_and_held_an_old_batch_stops_the_job(stream):
    stream.write(1)
    stream.silver.rename(stream.silver.with_name("kept"))
    stream.write(2)
    shutil.rmtree(stream.silver)
    stream.silver.with_name("kept").rename(stream.silver)
    tear(stream.entry(stream.silver), "half")

    assert "but batch 2 was written into it" in stream.refused()


def test_a_table_that_was_set_back_by_more_than_a_batch_stops_the_job(stream):
    stream.write(4)
    for version in (3, 2):
        stream.entry(stream.silver, version).unlink()

    assert "ends with batch 1" in stream.refused()
    assert "batch 3 was written into it" in stream.refused()


@pytest.mark.parametrize("layer", ["bronze", "silver"])
@pytest.mark.parametrize("how", TEARS)
def test_a_table_that_lost_the_newest_entry_of_its_log_gets_that_batch_again(stream, layer, how):
    stream.write(3)
    where = stream.bronze if layer == "bronze" else stream.silver
    tear(stream.entry(where), how)
    stream.audit()

    assert stream.log.commits == [0, 1]
    assert log_state(where).txns == {stream.app_id: 1}


def test_silver_ahead_of_the_checkpoint_stops_the_job(stream):
    """The batch id would be reused for other lines, and silver would skip them."""
    stream.write(2)
    stream.append(stream.silver, 5)

    assert "has batch 5" in stream.refused()


@pytest.mark.parametrize("how", TEARS)
def test_an_entry_in_the_middle_of_a_log_that_is_torn_stops_the_job(stream, how):
    stream.write(3)
    damaged = stream.entry(stream.silver, 1)
    tear(damaged, how)

    assert str(damaged) in stream.refused()


def test_an_entry_cut_at_a_line_end_is_torn(stream):
    stream.write(3)
    file = stream.entry(stream.silver, 1)
    actions = file.read_text().splitlines()
    # The ingest writes its files into a folder named after the writer.
    kept = [line.replace('"path":"', f'"path":"{stream.app_id}/') for line in actions]
    file.write_text("\n".join(line for line in kept if "txn" not in json.loads(line)))

    assert str(file) in stream.refused()


@pytest.mark.parametrize("how", TEARS)
@pytest.mark.parametrize("what", ["checkpoint", "hint"])
def test_a_torn_delta_checkpoint_is_set_aside_when_the_entries_contain_the_same(stream, what, how):
    stream.write(3)
    DeltaTable(str(stream.bronze)).create_checkpoint()
    log = stream.bronze / "_delta_log"
    tear(next(log.glob("*.checkpoint.parquet")) if what == "checkpoint" else log / "_last_checkpoint", how)
    stream.audit()

    assert DeltaTable(str(stream.bronze)).count() == 30
    assert log_state(stream.bronze).txns == {stream.app_id: 2}


def test_a_torn_delta_checkpoint_whose_entries_are_gone_stops_the_job(stream):
    stream.write(3)
    DeltaTable(str(stream.bronze)).create_checkpoint()
    stream.entry(stream.bronze, 0).unlink()
    assert stream.audit() == []
    checkpoint = next((stream.bronze / "_delta_log").glob("*.checkpoint.parquet"))
    tear(checkpoint, "half")

    assert checkpoint.name in stream.refused()


def test_a_torn_entry_of_another_job_is_not_mistaken_for_the_batch_in_flight(stream):
    """The batch in flight already has its entry, so another job wrote the torn one."""
    stream.write(3, until="silver")
    stream.append(stream.silver, 0, app_id="replay-1")
    tear(stream.entry(stream.silver), "half")

    assert "no retried batch would write it again" in stream.refused()


@pytest.mark.parametrize("kept", [1, 2, 3, 4])
def test_an_entry_of_optimize_cut_at_a_line_end_is_torn(stream, kept):
    stream.write(3)
    DeltaTable(stream.bronze).optimize.compact()
    entry = stream.entry(stream.bronze)
    entry.write_text("".join(entry.read_text().splitlines(keepends=True)[:kept]))

    assert str(entry) in stream.refused()


def test_an_entry_of_delta_spark_s_optimize_is_whole_despite_other_metric_names(stream):
    stream.write(3)
    DeltaTable(stream.bronze).optimize.compact()
    entry = stream.entry(stream.bronze)
    renamed = entry.read_text().replace("numFilesAdded", "numAddedFiles")
    entry.write_text(renamed.replace("numFilesRemoved", "numRemovedFiles"))

    assert stream.audit() == []


@pytest.mark.parametrize("kept", [1, 2])
def test_an_entry_of_plumbline_cut_at_a_line_end_is_torn(stream, kept):
    stream.write(3)
    log = DeltaTable(stream.bronze)
    names = [Path(path).name for path in log.file_uris()[:2]]
    gone = [RemoveAction(name, data_change=True, deletion_timestamp=1) for name in names]
    log_entries.commit(log, stream.bronze, gone)
    assert log_state(stream.bronze).version == 3
    entry = stream.entry(stream.bronze)
    entry.write_text("".join(entry.read_text().splitlines(keepends=True)[:kept]))

    assert log_state(stream.bronze).torn == (entry,)


def test_a_missing_entry_of_the_newest_checkpoint_is_named(stream):
    """Readers open the table, but the next commit fails."""
    stream.write(3)
    DeltaTable(stream.bronze).create_checkpoint()
    stream.entry(stream.bronze).unlink()

    assert "00000000000000000002.json" in stream.refused()


@pytest.mark.parametrize("zeroed", [(4, 300), (4, 1_500), (2_000, 4_000)])
def test_a_delta_checkpoint_with_zeroed_pages_counts_as_torn(stream, zeroed):
    stream.write(3)
    DeltaTable(stream.bronze).create_checkpoint()
    checkpoint = next((stream.bronze / "_delta_log").glob("*.checkpoint.parquet"))
    content = bytearray(checkpoint.read_bytes())
    begin, end = zeroed
    content[begin:end] = bytes(len(content[begin:end]))
    checkpoint.write_bytes(content)

    assert any(checkpoint.name in message for message in stream.audit())


def test_checksums_of_entries_that_maintenance_removed_are_no_damage(stream):
    """delta-rs removes expired entries and leaves their Hadoop checksum files."""
    stream.write(3)
    DeltaTable(stream.silver).create_checkpoint()
    for name in (".00000000000000000000.json.crc", ".00000000000000000003.json.crc"):
        (stream.silver / "_delta_log" / name).write_bytes(b"crc\x00")
    entry_file(stream.silver / "_delta_log", 0).unlink()

    messages = stream.audit()

    assert len(messages) == 1
    assert ".00000000000000000003.json.crc is torn or left over" in messages[0]
