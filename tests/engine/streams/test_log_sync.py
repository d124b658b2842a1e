"""Which files are forced to disk before a batch's first commit, and before a commit on top of another's."""

import os
import zlib
from datetime import date
from pathlib import Path
from unittest.mock import MagicMock

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import Transaction

from conf import atomic_file
from conf.settings import Settings, WarehouseSettings
from engine.delta import appends, log_entries
from engine.delta.file_writer import FileWriter
from engine.delta.log_state import REWRITING
from engine.gold.stream import STREAM
from engine.ingest.positions import checkpoint_of
from engine.ingest.sources import LINES
from engine.maintain import actions
from engine.process.gate import Gate
from engine.process.hadoop_files import MAGIC, crc_of
from engine.streams.log import StreamLog
from jobs import ingest
from schemas.arrow import arrow_schema
from schemas.bronze import REQUEST_LOG


@pytest.fixture
def synced(monkeypatch):
    """Return the files and folders that were synced, in order."""
    paths, fsync = list[Path](), os.fsync

    def noted(handle):
        paths.append(Path(f"/proc/self/fd/{handle}").readlink())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    atomic_file.sync_name.cache_clear()
    return paths


def test_a_batch_syncs_its_offsets_their_checksum_and_their_folders(tmp_path, synced):
    """Spark syncs neither file, and a torn checksum makes a whole file count as torn."""
    log = StreamLog(tmp_path / "checkpoint")
    log.write_ends(3, {("t", 0): 10})
    crc_of(log.offsets_file(3)).write_bytes(b"crc\x00")
    synced.clear()

    log.sync(3)

    of_batch = {log.offsets_file(3), crc_of(log.offsets_file(3)), log.folder / "offsets"}
    assert {*of_batch, log.folder, tmp_path} <= set(synced)


def test_a_later_batch_syncs_its_file_and_one_folder(tmp_path, synced):
    """The names of the folders above are on disk since the first batch of the process."""
    log = StreamLog(tmp_path / "checkpoint")
    for batch in (3, 4):
        log.write_ends(batch, {("t", 0): 10})
    log.sync(3)
    synced.clear()

    log.sync(4)

    assert synced == [log.offsets_file(4), log.folder / "offsets"]


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


def test_an_ingest_syncs_the_offsets_of_a_batch_before_it_writes_the_tables(tmp_path, synced, monkeypatch):
    """Else a power cut could leave a table with a batch that the offset log does not have."""
    warehouse = WarehouseSettings(root=str(tmp_path / "w"), checkpoints=str(tmp_path / "c"))
    settings = Settings(warehouse=warehouse)
    for name in ("tables", "offsets_of", "epochs", "note_written", "note_epochs"):
        monkeypatch.setattr(ingest, name, MagicMock())
    monkeypatch.setattr(ingest, "shared_out", MagicMock(return_value=(None, ())))
    monkeypatch.setattr(ingest, "offsets_stream", MagicMock())
    before = list[Path]()
    monkeypatch.setattr(ingest, "write_batch", lambda *_, **__: before.extend(synced) or MagicMock())
    ingest.writer_of(MagicMock(), settings, LINES, MagicMock(), Gate(), [], once=True)
    configured = ingest.offsets_stream.return_value.writeStream.queryName.return_value.option.return_value
    ((write,), _) = configured.foreachBatch.call_args
    log = StreamLog(checkpoint_of(settings, LINES))
    log.write_ends(3, {("t", 0): 10})
    synced.clear()

    write(MagicMock(), 3)

    assert {log.offsets_file(3), log.folder / "offsets", log.folder} <= set(before)


def test_the_files_of_a_task_are_synced_with_all_their_folders_before_it_reports_them(tmp_path, synced):
    """Their commit may follow at once."""
    days = [date(2026, 11, 21), date(2026, 11, 22)]
    schema = arrow_schema(REQUEST_LOG)
    writer = FileWriter(tmp_path, "attempt")
    for day in days:
        writer.write(REQUEST_LOG, pa.RecordBatch.from_pylist([{"ingest_date": day}], schema))
    where = tmp_path / REQUEST_LOG.layer / REQUEST_LOG.name

    reported = writer.closed()
    files = [where / next(reported).path]
    before = set(synced)
    files += [where / file.path for file in reported]

    assert len({file.parent for file in files}) == len(days)
    assert before == {*files, *(file.parent for file in files), where / "attempt", where}


def test_what_gold_notes_is_on_disk_before_the_note(tmp_path, synced):
    """Else a note could know a version that a power cut took, and all of gold would be built again."""
    warehouse = WarehouseSettings(root=str(tmp_path / "w"), checkpoints=str(tmp_path / "c"))
    settings = Settings(warehouse=warehouse)
    where = tmp_path / "w" / "gold" / STREAM.gold[0].name
    write_deltalake(where, pa.table({"n": [1]}))

    STREAM.note(settings)

    entry, note = where / "_delta_log" / f"{0:020}.json", STREAM.checkpoint(settings)
    assert synced.index(entry) < synced.index(note)


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
    assert before[-3:] == [log / f"{0:020}.checkpoint.parquet", log / "_last_checkpoint", log]


@pytest.fixture(params=[True, False])
def left(tmp_path, request):
    """Return a table that a killed `maintain` left: it had merged files and changed a property."""
    where = tmp_path / "w" / "silver" / STREAM.read[0].name
    for n in range(2):
        write_deltalake(where, pa.table({"n": [n]}), mode="append")
    DeltaTable(str(where)).optimize.compact()
    if request.param:  # delta-rs writes one when it is due
        DeltaTable(str(where)).create_checkpoint()
    DeltaTable(str(where)).alter.set_table_properties({"a.b": "c"}, raise_if_not_exists=False)
    (where / REWRITING).touch()
    return where


def left_by_the_kill(where):
    (merged,) = DeltaTable(str(where)).file_uris()
    entries = [where / "_delta_log" / f"{version:020}.json" for version in (2, 3)]
    return {Path(merged.removeprefix("file://")), *entries}


def test_a_delta_checkpoint_first_syncs_what_a_killed_maintain_left(left, synced):
    """Else a power cut could leave a checkpoint that names a lost file, and no reader would look further."""
    log_entries.write_checkpoint(left, DeltaTable(str(left)))

    checkpoint = left / "_delta_log" / f"{3:020}.checkpoint.parquet"
    assert left_by_the_kill(left) <= set(synced[: synced.index(checkpoint)])


def test_an_append_first_syncs_all_that_a_killed_maintain_left(left, synced):
    """Else an empty entry could be below a whole one."""
    assert appends.append(left, [], Transaction("app", 0))

    draft = next(file for file in synced if file.name.startswith(f"{4:020}.json#"))
    assert left_by_the_kill(left) <= set(synced[: synced.index(draft)])


def test_a_batch_of_gold_syncs_what_a_killed_maintain_left_of_its_inputs(left, tmp_path, synced):
    """Else a power cut could take a version that gold has read, and gold would miss the next one."""
    warehouse = WarehouseSettings(root=str(tmp_path / "w"), checkpoints=str(tmp_path / "c"))

    STREAM.note(Settings(warehouse=warehouse))

    assert left_by_the_kill(left) <= set(synced)


def test_an_append_syncs_nothing_of_the_log_twice(tmp_path, synced):
    where = tmp_path / "silver" / "t"
    write_deltalake(where, pa.table({"n": [1]}))
    assert appends.append(where, [], Transaction("app", 0))
    synced.clear()

    assert appends.append(where, [], Transaction("app", 1))

    draft, folder = synced
    assert draft.name.startswith(f"{2:020}.json#")
    assert folder == where / "_delta_log"


def test_a_commit_of_delta_is_marked_until_it_is_on_disk(tmp_path, synced):
    """The marker is on disk before the commits, and all of them before the marker goes."""
    where = tmp_path / "silver" / "t"
    rows = pa.table({"n": [1]})
    write_deltalake(where, rows)
    marker = where / REWRITING
    with log_entries.rewriting(DeltaTable(str(where))):
        assert marker.exists()
        assert synced[-1] == where
        for _ in range(2):  # a block may commit several versions
            write_deltalake(where, rows, mode="append")

    assert not marker.exists()
    for version in (1, 2):
        assert synced.index(where / "_delta_log" / f"{version:020}.json") < len(synced) - 1
    assert synced[-1] == where


def test_the_checksums_of_delta_spark_are_synced_with_its_files(tmp_path, synced):
    """Spark refuses a whole file whose checksum is torn."""
    where = tmp_path / "silver" / "t"
    write_deltalake(where, pa.table({"n": [1]}))
    (file,) = where.glob("*.parquet")
    entry = where / "_delta_log" / f"{0:020}.json"
    for each in (file, entry):
        content = each.read_bytes()
        crc_of(each).write_bytes(MAGIC + len(content).to_bytes(4) + zlib.crc32(content).to_bytes(4))
    entry.with_suffix(".crc").write_text("{}")

    log_entries.settle(where, 0)

    assert {crc_of(file), crc_of(entry), entry.with_suffix(".crc")} <= set(synced)


def test_a_commit_is_on_disk_before_it_has_its_name(tmp_path, synced, monkeypatch):
    """Else `maintain` could commit on top of an entry that a power cut takes."""
    where, names, link = tmp_path / "gold" / "t", list[Path](), os.link
    write_deltalake(where, pa.table({"n": [1]}))
    monkeypatch.setattr(os, "link", lambda draft, entry: (names.extend(synced), link(draft, entry)))

    log_entries.commit(DeltaTable(str(where)), where, [])

    assert names[-1].name.startswith(f"{1:020}.json#")
    assert synced[-1] == where / "_delta_log"


def test_files_are_deleted_without_an_entry_of_the_log(tmp_path):
    """VACUUM writes two, unsynced, and a power cut could take the first one alone."""
    where = tmp_path / "silver" / "t"
    for n in (1, 2):
        write_deltalake(where, pa.table({"n": [n]}), mode="overwrite")
    (old,) = {*where.glob("*.parquet")} - {where / file for file in DeltaTable(str(where)).file_uris()}

    actions.vacuum(DeltaTable(str(where)), [old.name], 0)

    assert not old.exists()
    assert DeltaTable(str(where)).version() == 1


def test_files_are_deleted_when_the_log_that_no_longer_names_them_is_on_disk(left, synced, monkeypatch):
    """A `maintain` that was killed had merged them; after a power cut the log could still need them."""
    before, unlink = list[Path](), Path.unlink
    gone = sorted({*left.glob("*.parquet")} - left_by_the_kill(left))

    def noted(file, **options):
        before.extend(synced)
        unlink(file, **options)

    monkeypatch.setattr(Path, "unlink", noted)
    actions.vacuum(DeltaTable(str(left)), [file.name for file in gone], 0)

    assert len(gone) == 2
    assert not any(file.exists() for file in gone)
    assert left_by_the_kill(left) <= set(before)
