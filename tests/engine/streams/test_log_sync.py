"""Which files are forced to disk before a batch's first commit, and before a commit on top of another's."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import Transaction

from conf import atomic_file
from engine.delta import appends, log_entries
from engine.process.hadoop_files import crc_of
from engine.streams.log import StreamLog
from engine.streams.note import note_versions, note_written


@pytest.fixture
def synced(monkeypatch):
    """Return the files and folders that were synced, in order."""
    paths, fsync = list[Path](), os.fsync

    def noted(handle):
        paths.append(Path(f"/proc/self/fd/{handle}").readlink())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    atomic_file.sync_above.cache_clear()
    return paths


def test_a_batch_syncs_its_offsets_the_commit_before_it_and_their_folders(tmp_path, synced):
    """Spark syncs neither file, and a torn checksum makes a whole file count as torn."""
    log = StreamLog(tmp_path / "checkpoint")
    log.write_ends(3, {("t", 0): 10})
    log.write_commit(2)
    crc_of(log.offsets_file(3)).write_bytes(b"crc\x00")
    synced.clear()

    log.sync(3)

    of_batch = {log.offsets_file(3), crc_of(log.offsets_file(3)), log.commits_file(2)}
    assert {*of_batch, log.folder / "offsets", log.folder / "commits", log.folder} <= set(synced)
    assert tmp_path in synced


def test_the_first_batch_also_syncs_the_id_of_the_query_and_its_first_offsets(tmp_path, synced):
    log = StreamLog(tmp_path / "checkpoint")
    log.write_ends(0, {("t", 0): 10})
    first, metadata = log.folder / "sources" / "0" / "0", log.folder / "metadata"
    first.parent.mkdir(parents=True)
    first.write_text("v1\n{}")
    metadata.write_text("{}")
    synced.clear()

    log.sync(0)

    assert {metadata, first, first.parent, log.folder / "sources"} <= set(synced)


def test_notes_are_synced_before_spark_s_commit_log_has_their_batch(tmp_path, synced):
    note_written(tmp_path, ["bronze.t"], 3)
    note_versions(tmp_path, {"t": 3})

    assert synced.count(tmp_path) == 2


def test_an_append_first_syncs_what_another_process_committed(tmp_path, synced):
    """`maintain` commits with delta-rs, which syncs nothing; an empty entry below a whole one is no log."""
    where = tmp_path / "silver" / "t"
    rows = pa.table({"n": [1]})
    write_deltalake(where, rows)
    assert appends.append(where, [], Transaction("app", 0))
    write_deltalake(where, rows, mode="append")
    (first,) = DeltaTable(str(where), version=0).file_uris()
    (other,) = {*DeltaTable(str(where)).file_uris()} - {first}
    synced.clear()

    assert appends.append(where, [], Transaction("app", 1))

    entry = where / "_delta_log" / f"{2:020}.json"
    assert synced.index(Path(other.removeprefix("file://"))) < synced.index(entry)
    draft = next(path for path in synced if path.name.startswith(f"{3:020}.json#"))
    assert synced.index(entry) < synced.index(draft)
    assert where in synced


def test_a_delta_checkpoint_is_synced_before_older_ones_are_removed(tmp_path, synced, monkeypatch):
    where = tmp_path / "silver" / "t"
    write_deltalake(where, pa.table({"n": [1]}))
    before = list[Path]()
    monkeypatch.setattr(log_entries, "thin_checkpoints", lambda _where: before.extend(synced))

    log_entries.write_checkpoint(where, DeltaTable(str(where)))

    log = where / "_delta_log"
    assert before == [log / f"{0:020}.checkpoint.parquet", log / "_last_checkpoint", log]
