"""The audit of a checkpoint and tables that do not agree; it needs no broker and no Spark."""

import json
import shutil
from dataclasses import replace
from uuid import UUID

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.transaction import Transaction

from engine.delta import commits
from engine.process.hadoop_files import ASIDE, crc_of, is_as_written
from engine.streams.log import is_json
from engine.streams.writer_id import WRITER_ID, known_writer_id
from tests.engine.streams.made_stream import BATCH, QUERY, TEARS, TOPIC, Stream, tear
from transforms.parse.record import PARSER_VERSION


@pytest.fixture
def stream(tmp_path):
    return Stream(tmp_path)


@pytest.mark.parametrize("until", ["offsets", "bronze", "silver", "noted", "committed"])
def test_a_stream_that_broke_off_anywhere_needs_no_mending(stream, until):
    assert stream.write(3, until=until).audit() == []


@pytest.mark.parametrize("how", TEARS)
def test_a_torn_last_commit_makes_spark_retry_its_batch(stream, how):
    stream.write(3)
    tear(stream.log.commits_file(2), how)

    assert len(stream.audit()) == (0 if how == "gone" else 1)
    assert (stream.log.commits, stream.log.offsets) == ([0, 1], [0, 1, 2])


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("how", TEARS[:3])
def test_torn_offsets_of_a_batch_that_no_table_has_are_planned_again(stream, how, batches):
    stream.write(batches, until="offsets")
    tear(stream.log.offsets_file(batches - 1), how)

    assert "nothing of its batch was written" in stream.audit()[0]
    assert stream.log.offsets == list(range(batches - 1))


@pytest.mark.parametrize("how", TEARS)
@pytest.mark.parametrize("until", ["bronze", "silver", "committed"])
def test_torn_offsets_of_a_batch_that_bronze_has_are_derived_from_its_rows(stream, how, until):
    """If Spark planned the batch again, its id would get other lines, and bronze would skip them."""
    stream.write(3, until=until)
    expected = stream.log.ends(2)
    tear(stream.log.offsets_file(2), how)

    assert "written again from the batch's rows in bronze" in stream.audit()[0]
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
    """A partition without a row is then unknown to Spark, which starts it at its first offset."""
    stream.write(1)
    stream.log.offsets_file(0).unlink()
    (stream.checkpoint / "sources" / "0" / "0").unlink()
    stream.audit()

    assert stream.log.ends(0) == {(TOPIC, 0): 10}


def test_offsets_that_are_in_no_file_and_no_log_stop_the_job(stream):
    """OPTIMIZE moved the rows into other files, so the log no longer has the batch of a row."""
    stream.write(3)
    stream.log.offsets_file(2).unlink()
    table = DeltaTable(str(stream.bronze))
    table.optimize.compact()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    assert f"reading the offset log: {stream.log.offsets_file(2)} is torn or missing" in stream.refused()


@pytest.mark.parametrize("how", ["empty", "half", "nul", "gone"])
def test_a_lost_writer_id_stops_the_job_and_the_message_names_the_id_in_bronze(stream, how):
    stream.write(3)
    known = known_writer_id(stream.checkpoint)
    tear(stream.checkpoint / WRITER_ID, how)

    assert known in stream.refused()


def test_a_lost_checkpoint_stops_the_job_since_every_line_would_be_written_twice(stream):
    stream.write(3)
    shutil.rmtree(stream.checkpoint)

    assert "all would be written twice" in stream.refused()


def test_a_new_checkpoint_for_another_topic_may_begin(stream):
    stream.append(stream.bronze, 0, app_id=f"{QUERY}-of-another-topic")
    table = DeltaTable(str(stream.bronze))
    table.update(updates={"topic": "'other.request-log'"})
    (stream.checkpoint / WRITER_ID).unlink()

    assert stream.audit() == []


def test_spark_s_own_small_files_are_written_again(stream):
    """Spark writes `sources/0/0`; `metadata` is written here, because Spark 4.2 refuses to start without."""
    stream.write(2)
    for file in (stream.checkpoint / "metadata", stream.checkpoint / "sources" / "0" / "0"):
        tear(file, "half")

    assert len(stream.audit()) == 3
    assert {file.name for file in stream.checkpoint.rglob(f"{ASIDE}/*")} == {"metadata.0", "0.0"}
    assert is_json(stream.checkpoint / "metadata")


def test_a_lost_metadata_file_is_written_with_a_new_query_id(stream):
    stream.write(2)
    (stream.checkpoint / "metadata").unlink()
    crc_of(stream.checkpoint / "metadata").write_bytes(b"crc\x00")

    assert [line.partition(" ")[2] for line in stream.audit()] == [
        f"{crc_of(stream.checkpoint / 'metadata')} is a checksum without its file",
        f"{stream.checkpoint / 'metadata'} is torn or missing; it is written with a new query id",
    ]
    UUID(json.loads((stream.checkpoint / "metadata").read_text())["id"])


def test_a_checkpoint_without_a_batch_needs_no_metadata_file(stream):
    (stream.checkpoint / "metadata").unlink()

    assert stream.audit() == []


def test_a_checksum_that_does_not_fit_its_file_counts_as_torn_and_one_without_a_file_is_removed(stream):
    stream.write(3)
    crc_of(stream.log.offsets_file(2)).write_bytes(b"crc\x00\x00\x00\x02\x00\x01\x02\x03\x04")
    crc_of(stream.log.commits_file(7)).write_bytes(b"crc\x00\x00\x00\x02\x00\x01\x02\x03\x04")
    assert not is_as_written(stream.log.offsets_file(2))

    assert len(stream.audit()) == 2
    assert stream.log.ends(2) == {(TOPIC, 0): 30, (TOPIC, 1): 0}


def test_offsets_beyond_the_rows_in_bronze_are_set_back(stream):
    """Bronze skips further rows of that batch id, so the next batch must read them."""
    stream.write(3, until="bronze")
    stream.log.write_ends(2, {(TOPIC, 0): 3 * BATCH + 5, (TOPIC, 1): 0})

    assert "the next batch reads the others" in stream.audit()[0]
    assert stream.log.ends(2) == {(TOPIC, 0): 3 * BATCH, (TOPIC, 1): 0}


def test_torn_offsets_of_a_batch_without_a_row_stop_the_job_for_it_may_be_a_gap(stream):
    stream.write(3)
    stream.log.write_ends(3, {(TOPIC, 0): 500, (TOPIC, 1): 0})
    commits.note_batch(stream.bronze, txn_app_id=stream.app_id, txn_version=3)
    stream.log.write_commit(3)
    assert stream.audit() == []
    tear(stream.log.offsets_file(3), "half")

    assert "no longer has the offsets of its batch" in stream.refused()


def test_a_batch_that_another_parser_began_is_not_finished_by_this_one(stream):
    stream.write(2, until="bronze")
    begun = pa.table({"topic": [TOPIC], "parser_version": pa.array([PARSER_VERSION - 1], pa.int32())})
    noted = CommitProperties(app_transactions=[Transaction(stream.app_id, 1)])
    write_deltalake(stream.silver, begun, mode="append", schema_mode="merge", commit_properties=noted)

    assert f"was begun by parser version {PARSER_VERSION - 1}" in stream.refused()


def test_a_batch_of_another_driver_under_the_same_number_stops_the_job(stream):
    stream.write(3, until="bronze")
    stream.log.write_ends(2, {(TOPIC, 0): 25, (TOPIC, 1): 0})

    assert "another driver wrote it" in stream.refused()


def test_a_checkpoint_of_another_topic_stops_the_job(stream):
    stream.write(1)
    stream.log.write_ends(0, {("other.request-log", 0): 10})

    assert "the settings say telemetry.request-log" in stream.refused()


@pytest.mark.parametrize("has_gaps", [True, False])
def test_a_begun_batch_keeps_its_last_offsets_if_silver_gaps_says_that_they_had_no_record(
    stream, monkeypatch, has_gaps
):
    """Else the next batch would read them again and record them again."""
    stream.write(2, until="silver")
    stream.log.offsets_file(1).unlink()
    stream.log.write_ends(1, {(TOPIC, 0): 25, (TOPIC, 1): 0})
    gaps = stream.checkpoint.parent / "silver" / "gaps"
    stream.append(gaps, 1 if has_gaps else 0)
    writer = replace(stream.writer(), tables=(stream.bronze, stream.silver, gaps))
    monkeypatch.setattr(stream, "writer", lambda: writer)
    stream.audit()

    assert stream.log.ends(1) == {(TOPIC, 0): 25 if has_gaps else 20, (TOPIC, 1): 0}
