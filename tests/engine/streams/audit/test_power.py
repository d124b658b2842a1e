"""The audit after a power cut: several torn entries, and torn data files of a whole entry."""

import pytest
from deltalake import DeltaTable

from engine.delta.log_state import REWRITING, entry_file, log_state
from tests.engine.streams.made_stream import Stream, tear

TEARS = ["empty", "half", "nul", "gone"]


@pytest.fixture
def stream(tmp_path):
    return Stream(tmp_path)


def newest_file(where):
    """Return the data file that the newest entry adds."""
    newest = DeltaTable(str(where))
    before = DeltaTable(str(where), version=newest.version() - 1)
    (added,) = set(newest.file_uris()) - set(before.file_uris())
    return where / added.rpartition("/")[2]


@pytest.mark.parametrize("how", TEARS)
@pytest.mark.parametrize("table", ["bronze", "silver"])
@pytest.mark.parametrize("until", ["silver", "committed"])
def test_the_newest_batch_is_retried_if_a_data_file_of_it_is_torn(stream, table, how, until):
    """Else every reader fails at the file, and no job would say why."""
    where = getattr(stream.write(3, until=until), table)
    tear(newest_file(where), how)

    messages = stream.audit()

    assert any("00000000000000000002.json is torn, or its files are" in message for message in messages)
    assert (log_state(where).version, DeltaTable(str(where)).count()) == (1, 20)
    assert stream.log.commits == [0, 1]


def test_several_torn_entries_are_set_aside_if_their_batch_is_retried(stream):
    """Two queries write the same table, so two entries may be the newest of their writers."""
    stream.write(3, until="silver")
    tear(stream.entry(stream.silver), "empty")
    entry_file(stream.silver / "_delta_log", 3).write_bytes(bytes(700))

    stream.audit()

    assert (log_state(stream.silver).version, log_state(stream.silver).torn) == (1, ())


def test_several_torn_entries_of_finished_batches_stop_the_job(stream):
    stream.write(4)
    for version in (2, 3):
        tear(stream.entry(stream.silver, version), "empty")

    assert "silver/requests/_delta_log ends with batch 1 of" in stream.refused()


def test_a_torn_data_file_of_another_job_stops_the_job(stream):
    stream.write(3)
    stream.append(stream.silver, 0, app_id="replay-1")
    tear(newest_file(stream.silver), "empty")

    assert "is torn or its files are, and no retried batch would write it again" in stream.refused()


@pytest.mark.parametrize("how", TEARS)
def test_a_merge_whose_file_is_torn_is_undone_because_the_merged_files_are_there(stream, how):
    stream.write(3)
    DeltaTable(stream.bronze).optimize.compact()
    (merged,) = DeltaTable(stream.bronze).file_uris()
    tear(stream.bronze / merged.rpartition("/")[2], how)

    (message,) = stream.audit()

    assert "00000000000000000003.json is torn or left over; bronze.request_log is whole without it" in message
    assert DeltaTable(stream.bronze).count() == 30


def test_a_merge_whose_file_is_torn_stops_the_job_if_a_merged_file_is_gone(stream):
    stream.write(3)
    before = DeltaTable(stream.bronze).file_uris()
    DeltaTable(stream.bronze).optimize.compact()
    (merged,) = DeltaTable(stream.bronze).file_uris()
    for file in (merged, before[0]):
        (stream.bronze / file.rpartition("/")[2]).unlink()

    assert "00000000000000000003.json" in stream.refused()


@pytest.mark.parametrize("how", ["empty", "half", "nul"])
def test_a_torn_commit_of_an_interrupted_rewrite_is_undone(stream, how):
    """No batch would write it again; the next `maintain` or `replay` does."""
    stream.write(3)
    DeltaTable(stream.bronze).optimize.compact()
    tear(stream.entry(stream.bronze), how)
    (stream.bronze / REWRITING).touch()

    (message,) = stream.audit()

    assert "00000000000000000003.json is torn, or its files are; a `maintain` or `replay` was" in message
    assert DeltaTable(stream.bronze).count() == 30


@pytest.mark.parametrize("how", TEARS)
@pytest.mark.parametrize("torn", ["entry", "file", "both"])
def test_a_checkpoint_does_not_hide_a_torn_commit_of_an_interrupted_rewrite(stream, torn, how):
    """delta-rs writes it before the merged file is synced, and a disk may keep one of the two."""
    stream.write(3)
    log = DeltaTable(stream.bronze)
    log.optimize.compact()
    log.create_checkpoint()
    merged, entry = newest_file(stream.bronze), stream.entry(stream.bronze)
    for each in {"entry": [entry], "file": [merged], "both": [entry, merged]}[torn]:
        tear(each, how)
    (stream.bronze / REWRITING).touch()

    messages = stream.audit()

    assert any("00000000000000000003.checkpoint.parquet is torn or left over" in each for each in messages)
    assert (log_state(stream.bronze).version, DeltaTable(stream.bronze).count()) == (2, 30)


def test_a_checkpoint_of_an_interrupted_rewrite_that_is_whole_is_used(stream):
    stream.write(3)
    log = DeltaTable(stream.bronze)
    log.optimize.compact()
    log.create_checkpoint()
    (stream.bronze / REWRITING).touch()

    assert stream.audit() == []
    assert (log_state(stream.bronze).version, DeltaTable(stream.bronze).count()) == (3, 30)


def test_a_torn_commit_that_no_rewrite_was_under_way_for_stops_the_job(stream):
    """It may hold rows of a finished `replay`, which have left the quarantine."""
    stream.write(3)
    DeltaTable(stream.bronze).optimize.compact()
    tear(stream.entry(stream.bronze), "empty")

    assert "no retried batch would write it again" in stream.refused()


def test_a_marked_rewrite_does_not_excuse_a_lost_batch(stream):
    stream.write(3)
    (stream.silver / REWRITING).touch()
    for version in (1, 2):
        tear(stream.entry(stream.silver, version), "empty")

    assert "silver/requests/_delta_log ends with batch 0 of" in stream.refused()
