"""What an audit makes of a checkpoint and tables that do not agree: no broker and no Spark are needed."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.transaction import RemoveAction, Transaction

from jobs import light_commit, light_log
from jobs.delta_log import log_state
from jobs.hadoop_files import ASIDE, crc_of, is_as_written
from jobs.state import StateError, Writer, mend
from jobs.state_audit import repairs_of
from jobs.state_note import note_written
from jobs.stream_log import StreamLog
from jobs.writer_id import WRITER_ID, known_writer_id, writer_id
from transforms.parse import PARSER_VERSION

TOPIC, QUERY = "telemetry.request-log", "ingest_request_log"
BATCH = 10


class Stream:
    """A query that wrote so many batches of ten records of one partition into bronze and silver."""

    def __init__(self, root: Path) -> None:
        """Begin."""
        self.checkpoint, self.log = root / "checkpoint", StreamLog(root / "checkpoint")
        self.app_id = f"{QUERY}-{writer_id(self.checkpoint)}"
        self.bronze, self.silver = root / "bronze" / "request_log", root / "silver" / "requests"
        (self.checkpoint / "metadata").write_text('{"id":"d4110d41-a810-4184-8eb7-6ddf0261c033"}')
        first = self.checkpoint / "sources" / "0" / "0"
        first.parent.mkdir(parents=True)
        first.write_text(f'\x00v1\n{{"{TOPIC}":{{"0":0,"1":0}}}}')
        self.wrote = -1

    def writer(self) -> Writer:
        """Give what the ingest hands to an audit."""
        known = known_writer_id(self.checkpoint)
        return Writer(
            query_name=QUERY,
            checkpoint=self.checkpoint,
            app_id=f"{QUERY}-{known}" if known else None,
            topic=TOPIC,
            tables=(self.bronze, self.silver),
        )

    def append(self, where: Path, batch: int, app_id: str = "") -> None:
        """Append a batch to a table."""
        where.mkdir(parents=True, exist_ok=True)
        offsets = range(batch * BATCH, (batch + 1) * BATCH)
        columns = {
            "topic": [TOPIC] * BATCH,
            "partition": pa.array([0] * BATCH, pa.int32()),
            "offset": list(offsets),
        }
        noted = CommitProperties(app_transactions=[Transaction(app_id or self.app_id, batch)])
        write_deltalake(where, pa.table(columns), mode="append", commit_properties=noted)

    def write(self, batches: int, *, until: str = "committed") -> "Stream":
        """Write batches; the last one ends where `until` says."""
        for left in reversed(range(batches)):
            self.wrote += 1
            steps = ("offsets", "bronze", "silver", "noted", "committed")
            last = steps.index("committed" if left else until)
            self.log.write_ends(self.wrote, {(TOPIC, 0): (self.wrote + 1) * BATCH, (TOPIC, 1): 0})
            if last >= 1:
                self.append(self.bronze, self.wrote)
            if last >= 2:
                self.append(self.silver, self.wrote)
            if last >= 3:
                note_written(self.checkpoint, ["bronze.request_log", "silver.requests"], self.wrote)
            if last >= 4:
                self.log.write_commit(self.wrote)
        return self

    def audit(self) -> list[str]:
        """Audit and mend; give what was told. A second audit must find nothing more."""
        told: list[str] = []
        mend(repairs_of([self.writer()]), told.append)
        assert repairs_of([self.writer()]) == []
        return told

    def refused(self) -> str:
        """Audit what must be refused; nothing may have been touched."""
        before = self.files()
        with pytest.raises(StateError) as stopped:
            repairs_of([self.writer()])
        assert self.files() == before
        return str(stopped.value)

    def files(self) -> dict[Path, bytes]:
        """Give every file with what is in it."""
        return {file: file.read_bytes() for file in self.checkpoint.parent.rglob("*") if file.is_file()}

    def entry(self, where: Path, version: int = -1) -> Path:
        """Give an entry of a table's log, the newest by default."""
        return sorted((where / "_delta_log").glob("*.json"))[version]


@pytest.fixture
def stream(tmp_path):
    return Stream(tmp_path)


def tear(file: Path, how: str) -> None:
    content = file.read_bytes()
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "half": content[: len(content) // 2], "nul": b"\x00" * 40}[how])


TEARS = ["empty", "half", "nul", "gone"]


@pytest.mark.parametrize("until", ["offsets", "bronze", "silver", "noted", "committed"])
def test_a_stream_that_broke_off_anywhere_needs_no_mending(stream, until):
    assert stream.write(3, until=until).audit() == []


@pytest.mark.parametrize("how", TEARS)
def test_a_torn_last_commit_lets_its_batch_be_given_again(stream, how):
    stream.write(3)
    tear(stream.log.commits_file(2), how)

    assert len(stream.audit()) == (0 if how == "gone" else 1)
    assert (stream.log.commits, stream.log.offsets) == ([0, 1], [0, 1, 2])


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("how", TEARS[:3])
def test_torn_offsets_of_a_batch_that_no_table_has_are_made_anew(stream, how, batches):
    stream.write(batches, until="offsets")
    tear(stream.log.offsets_file(batches - 1), how)

    assert "nothing of its batch was written" in stream.audit()[0]
    assert stream.log.offsets == list(range(batches - 1))


@pytest.mark.parametrize("how", TEARS[:3])
def test_a_table_whose_only_entry_is_torn_is_made_anew_with_all_that_lies_beside(stream, how):
    """Delta makes no table where anything lies."""
    DeltaTable.create(stream.silver, schema=pa.schema([("offset", pa.int64())]))
    (stream.silver / "of-no-version.parquet").touch()
    stream.write(1, until="bronze")
    tear(stream.entry(stream.silver), how)

    assert "the table is made anew" in stream.audit()[0]
    assert not stream.silver.exists()
    stream.append(stream.silver, 0)
    assert stream.audit() == []


def test_a_table_whose_only_entry_is_gone_is_made_anew_if_nothing_was_written(stream):
    DeltaTable.create(stream.silver, schema=pa.schema([("offset", pa.int64())]))
    stream.entry(stream.silver).with_suffix(".crc").touch()  # as Delta writes it
    stream.write(1, until="bronze")
    stream.entry(stream.silver).unlink()

    assert "holds no entry; the table is made anew" in stream.audit()[0]
    assert not stream.silver.exists()


def test_a_table_whose_only_entry_is_gone_stops_the_job_if_its_files_are_there(stream):
    stream.write(1)
    stream.entry(stream.silver).unlink()

    assert "holds no entry, and files of the table lie beside it" in stream.refused()


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

    assert "and batch 2 was written into it" in stream.refused()


@pytest.mark.parametrize("how", TEARS)
@pytest.mark.parametrize("until", ["bronze", "silver", "committed"])
def test_torn_offsets_of_a_batch_that_bronze_has_are_derived_from_its_rows(stream, how, until):
    """Were they made anew, their number would be given to other lines, and bronze would leave these out."""
    stream.write(3, until=until)
    expected = stream.log.ends(2)
    tear(stream.log.offsets_file(2), how)

    assert "tells its end" in stream.audit()[0]
    assert stream.log.ends(2) == expected


def test_an_offset_log_that_was_set_back_by_some_batches_is_derived_up_to_the_newest(stream):
    stream.write(6, until="bronze")
    for batch in (3, 4, 5):
        stream.log.offsets_file(batch).unlink()
    for batch in (3, 4):
        stream.log.commits_file(batch).unlink()
    stream.audit()

    assert stream.log.offsets == [0, 1, 2, 4, 5]
    assert stream.log.ends(4) == {(TOPIC, 0): 50, (TOPIC, 1): 0}
    assert stream.log.ends(5) == {(TOPIC, 0): 60, (TOPIC, 1): 0}


def test_a_whole_offset_log_that_is_gone_is_derived_from_where_the_stream_began(stream):
    stream.write(3)
    shutil.rmtree(stream.checkpoint / "offsets")
    shutil.rmtree(stream.checkpoint / "commits")
    stream.audit()

    assert stream.log.ends(2) == {(TOPIC, 0): 30, (TOPIC, 1): 0}


def test_without_a_beginning_the_first_batch_is_derived_from_its_rows_alone(stream):
    """A partition that it had no row of is then unknown to Spark, which lets it begin at its start."""
    stream.write(1)
    stream.log.offsets_file(0).unlink()
    (stream.checkpoint / "sources" / "0" / "0").unlink()
    stream.audit()

    assert stream.log.ends(0) == {(TOPIC, 0): 10}


def test_offsets_that_no_file_and_no_log_tell_stop_the_job(stream):
    """The rows were put into other files, so the log no longer tells which batch they came with."""
    stream.write(3)
    stream.log.offsets_file(2).unlink()
    table = DeltaTable(str(stream.bronze))
    table.optimize.compact()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    assert f"reading the offset log: {stream.log.offsets_file(2)} is torn or missing" in stream.refused()


@pytest.mark.parametrize("how", ["empty", "half", "nul", "gone"])
def test_a_lost_writer_id_stops_the_job_and_the_line_names_the_id_that_bronze_knows(stream, how):
    stream.write(3)
    known = known_writer_id(stream.checkpoint)
    tear(stream.checkpoint / WRITER_ID, how)

    assert known in stream.refused()


def test_a_lost_checkpoint_stops_the_job_since_every_line_would_come_twice(stream):
    stream.write(3)
    shutil.rmtree(stream.checkpoint)

    assert "they would be doubled" in stream.refused()


def test_a_new_checkpoint_for_another_topic_is_let_begin(stream):
    stream.append(stream.bronze, 0, app_id=f"{QUERY}-of-another-topic")
    table = DeltaTable(str(stream.bronze))
    table.update(updates={"topic": "'other.request-log'"})
    (stream.checkpoint / WRITER_ID).unlink()

    assert stream.audit() == []


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
    """Its number would be given to other lines, and silver would leave them out."""
    stream.write(2)
    stream.append(stream.silver, 5)

    assert "has batch 5" in stream.refused()


@pytest.mark.parametrize("how", TEARS)
def test_an_entry_in_the_middle_of_a_log_that_is_torn_stops_the_job(stream, how):
    stream.write(3)
    damaged = stream.entry(stream.silver, 1)
    tear(damaged, how)

    assert str(damaged) in stream.refused()


def test_an_entry_that_lost_its_end_at_a_line_s_end_is_found_out(stream):
    stream.write(3)
    file = stream.entry(stream.silver, 1)
    actions = file.read_text().splitlines()
    # As the ingest names its files: by the writer.
    kept = [line.replace('"path":"', f'"path":"{stream.app_id}/') for line in actions]
    file.write_text("\n".join(line for line in kept if "txn" not in json.loads(line)))

    assert str(file) in stream.refused()


@pytest.mark.parametrize("how", TEARS)
@pytest.mark.parametrize("what", ["checkpoint", "hint"])
def test_a_torn_delta_checkpoint_is_set_aside_when_the_entries_tell_the_same(stream, what, how):
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


def test_spark_s_own_small_files_are_made_anew_by_spark(stream):
    stream.write(2)
    for file in (stream.checkpoint / "metadata", stream.checkpoint / "sources" / "0" / "0"):
        tear(file, "half")

    assert len(stream.audit()) == 2
    assert {file.name for file in stream.checkpoint.rglob(f"{ASIDE}/*")} == {"metadata.0", "0.0"}


def test_a_checksum_that_does_not_fit_its_file_counts_as_torn_and_one_without_a_file_is_removed(stream):
    stream.write(3)
    crc_of(stream.log.offsets_file(2)).write_bytes(b"crc\x00\x00\x00\x02\x00\x01\x02\x03\x04")
    crc_of(stream.log.commits_file(7)).write_bytes(b"crc\x00\x00\x00\x02\x00\x01\x02\x03\x04")
    assert not is_as_written(stream.log.offsets_file(2))

    assert len(stream.audit()) == 2
    assert stream.log.ends(2) == {(TOPIC, 0): 30, (TOPIC, 1): 0}


def test_offsets_that_tell_more_than_bronze_has_are_set_back_to_it(stream):
    """Bronze takes nothing more under that number, so what is beyond must come with the next one."""
    stream.write(3, until="bronze")
    stream.log.write_ends(2, {(TOPIC, 0): 3 * BATCH + 5, (TOPIC, 1): 0})

    assert "the others come behind it" in stream.audit()[0]
    assert stream.log.ends(2) == {(TOPIC, 0): 3 * BATCH, (TOPIC, 1): 0}


def test_torn_offsets_of_a_batch_without_a_row_stop_the_job_for_it_may_be_a_gap(stream):
    stream.write(3)
    stream.log.write_ends(3, {(TOPIC, 0): 500, (TOPIC, 1): 0})
    light_commit.note_batch(stream.bronze, txn_app_id=stream.app_id, txn_version=3)
    stream.log.write_commit(3)
    assert stream.audit() == []
    tear(stream.log.offsets_file(3), "half")

    assert "does not tell what its batch read" in stream.refused()


def test_a_torn_entry_of_another_job_is_not_taken_for_the_batch_in_flight(stream):
    """The batch in flight has its entry already, so the torn one is another's."""
    stream.write(3, until="silver")
    stream.append(stream.silver, 0, app_id="replay-1")
    tear(stream.entry(stream.silver), "half")

    assert "no batch that is given again would write it" in stream.refused()


def test_a_batch_that_another_parser_began_is_not_ended_by_this_one(stream):
    stream.write(2, until="bronze")
    begun = pa.table({"topic": [TOPIC], "parser_version": pa.array([PARSER_VERSION - 1], pa.int32())})
    noted = CommitProperties(app_transactions=[Transaction(stream.app_id, 1)])
    write_deltalake(stream.silver, begun, mode="append", schema_mode="merge", commit_properties=noted)

    assert f"was begun by parser version {PARSER_VERSION - 1}" in stream.refused()


@pytest.mark.parametrize("kept", [1, 2, 3, 4])
def test_an_entry_of_optimize_that_lost_its_end_at_a_line_s_end_counts_as_torn(stream, kept):
    stream.write(3)
    DeltaTable(stream.bronze).optimize.compact()
    entry = stream.entry(stream.bronze)
    entry.write_text("".join(entry.read_text().splitlines(keepends=True)[:kept]))

    assert str(entry) in stream.refused()


def test_an_entry_of_delta_s_own_optimize_is_whole_though_it_counts_under_other_names(stream):
    stream.write(3)
    DeltaTable(stream.bronze).optimize.compact()
    entry = stream.entry(stream.bronze)
    told = entry.read_text().replace("numFilesAdded", "numAddedFiles")
    entry.write_text(told.replace("numFilesRemoved", "numRemovedFiles"))

    assert stream.audit() == []


@pytest.mark.parametrize("kept", [1, 2])
def test_an_entry_of_ours_that_lost_files_at_a_line_s_end_counts_as_torn(stream, kept):
    stream.write(3)
    log = DeltaTable(stream.bronze)
    names = [Path(path).name for path in log.file_uris()[:2]]
    gone = [RemoveAction(name, data_change=True, deletion_timestamp=1) for name in names]
    light_log.commit(log, stream.bronze, gone, CommitProperties())
    assert log_state(stream.bronze).version == 3
    entry = stream.entry(stream.bronze)
    entry.write_text("".join(entry.read_text().splitlines(keepends=True)[:kept]))

    assert log_state(stream.bronze).torn == entry


def test_a_missing_entry_beside_the_newest_checkpoint_is_named(stream):
    """Readers open the table, and the first who commits fails."""
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

    assert any(checkpoint.name in told for told in stream.audit())


def test_a_batch_of_another_driver_under_the_same_number_stops_the_job(stream):
    stream.write(3, until="bronze")
    stream.log.write_ends(2, {(TOPIC, 0): 25, (TOPIC, 1): 0})

    assert "another driver wrote it" in stream.refused()


def test_a_checkpoint_of_another_topic_stops_the_job(stream):
    stream.write(1)
    stream.log.write_ends(0, {("other.request-log", 0): 10})

    assert "the settings say telemetry.request-log" in stream.refused()
