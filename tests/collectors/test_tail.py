"""How a log is followed: lines, rotation, truncation, restarts."""

import gzip
import logging
import os
import shutil
from dataclasses import replace

import pytest

from collectors.log_files.siblings import LogPathError
from collectors.log_files.tail import Tailer
from tests.collectors.made_log import Log, compress


def test_a_log_that_is_not_there_yet_is_waited_for(log):
    assert log.poll() == []
    log.append(b"one\n")
    assert log.poll() == [b"one"]


def test_a_partial_line_waits_for_its_newline(log):
    log.append(b"one\ntw")
    assert log.poll() == [b"one"]
    log.append(b"o\n")
    assert log.poll() == [b"two"]


def test_a_first_line_without_newline_waits_too(log):
    log.append(b"on")
    assert log.poll() == []
    log.append(b"e\n")
    assert log.poll() == [b"one"]


def test_a_renamed_file_is_read_to_its_end_before_the_new_one(log):
    log.append(b"one\n")
    log.poll()
    log.append(b"two\nthree without newline")
    log.rename_to("kafka-request.log.1")
    log.append(b"four\n")

    assert log.poll() == [b"two", b"three without newline", b"four"]


def test_a_writer_may_go_on_in_the_renamed_file_until_it_opens_the_new_one(log):
    log.append(b"one\n")
    log.poll()
    renamed = log.rename_to("kafka-request.log.1")
    with renamed.open("ab") as out:
        out.write(b"tw")
    assert log.tailer.poll().lines == []
    assert log.tailer.poll() is None  # the writer may still be there
    with renamed.open("ab") as out:
        out.write(b"o\n")

    assert log.poll() == [b"two"]


def test_several_rotations_between_two_looks_lose_nothing(log):
    log.append(b"one\n")
    log.poll()
    for number, line in enumerate([b"two\n", b"three\n", b"four\n"]):
        log.append(line)
        rotated = log.rename_to(f"kafka-request.log.2026-11-21-1{number}")
        os.utime(rotated, ns=(0, 10**18 + number))
        log.append(b"first of %d\n" % number)

    assert log.poll() == [b"two", b"first of 0", b"three", b"first of 1", b"four", b"first of 2"]


def test_a_restart_reads_on_in_a_file_that_was_rotated_and_compressed_meanwhile(log):
    log.append(b"one\ntw")
    log.poll()
    log.append(b"o\nthree\n")
    compress(log.rename_to("kafka-request.log.1"))
    log.append(b"four\n")
    log.restart()

    assert log.poll() == [b"two", b"three", b"four"]
    assert len({position for position, _ in log.read}) == 4


def test_copy_and_truncate_reads_the_rest_of_the_copy(log):
    log.append(b"one\ntw")
    log.poll()
    log.append(b"o\nthree\n")
    shutil.copy(log.live, log.live.with_name("kafka-request.log.1"))
    os.truncate(log.live, 0)
    log.append(b"a new first line, longer than all that was there before\n")

    assert log.poll() == [b"two", b"three", b"a new first line, longer than all that was there before"]
    assert log.lost == []


def test_truncation_without_a_copy_is_reported_when_bytes_were_unread(log, caplog):
    log.append(b"one\ntwo, not finished")
    log.poll()
    os.truncate(log.live, 0)
    log.append(b"three\n")

    assert sorted(log.poll()) == [b"three", b"two, not finished"]  # what was in memory is not thrown away
    assert "all bytes up to there were read" in caplog.text
    assert log.lost == []


def test_a_rotated_file_that_is_gone_unread_is_an_error_that_names_the_bytes(log, caplog):
    log.append(b"one\n")
    log.poll()
    mark = log.read[0][0].split("/")[1]
    log.append(b"two\n")
    log.restart()
    log.live.unlink()
    log.append(b"three\n")

    assert log.poll() == [b"three"]
    assert [(lost.mark, lost.start_offset, lost.end_offset) for lost in log.lost] == [(mark, 4, None)]
    assert [r.levelno for r in caplog.records] == [logging.ERROR]
    assert (
        f"{log.live}: a rotated file is gone before it was read; its bytes 4 to the end, if any, are lost"
        in caplog.text
    )


def test_a_file_deleted_while_it_is_read_is_read_to_its_end(log):
    log.append(b"one\n")
    log.poll()
    log.append(b"two\n")
    log.live.unlink()
    log.append(b"three\n")

    assert log.poll() == [b"two", b"three"]
    assert log.lost == []


def test_half_a_line_of_a_renamed_file_waits_for_its_writer_after_a_restart_too(log):
    log.append(b"one\ntw")
    log.poll()
    renamed = log.rename_to("kafka-request.log.1")
    log.restart()
    assert log.tailer.poll().lines == []
    assert log.tailer.poll() is None
    with renamed.open("ab") as out:
        out.write(b"o\n")

    assert log.poll() == [b"two"]


def test_of_two_files_that_begin_alike_the_longer_one_is_read(log):
    """A copy that a full disk cut short, or one that somebody made by hand."""
    log.append(b"one\n")
    log.poll()
    for number in range(2, 10):
        shutil.copy(log.live, log.live.with_name(f"kafka-request.log.{number}"))
    log.append(b"two\n")
    log.rename_to("kafka-request.log.1")
    log.restart()

    assert log.poll() == [b"two"]


def test_a_copy_that_ends_before_what_was_seen_is_told_with_its_bytes(log, caplog):
    log.append(b"one\ntw")
    log.poll()
    log.live.with_name("kafka-request.log.1").write_bytes(b"one\n")
    log.tailer._reader.seen_bytes = 100  # a look at the size found that much
    os.truncate(log.live, 0)

    assert log.poll() == [b"tw"]  # what was in memory is not thrown away
    assert [(lost.start_offset, lost.end_offset) for lost in log.lost] == [(6, 100)]
    assert "was truncated at 100, but its copy kafka-request.log.1 is shorter: bytes from 6 on" in caplog.text


def test_an_inode_that_is_used_again_is_not_taken_for_the_old_file(log):
    log.append(b"one\n")
    log.poll()
    log.rename_to("kafka-request.log.1")
    log.restart()  # nobody holds the old file
    with log.live.with_name("kafka-request.log.1").open("r+b") as reused:
        reused.write(b"two\n")
    log.live.with_name("kafka-request.log.1").rename(log.live)

    assert log.poll() == [b"two"]


def test_a_file_missing_in_one_look_is_looked_for_again_however_late(log):
    """The collector may be stopped, or wait for room in its queue, just after the look."""
    log.append(b"one\n")
    log.poll()
    log.append(b"two\n")
    log.restart()
    away = log.rename_to("away")
    assert log.tailer.poll() is None
    log.now += 100.0
    compress(away.rename(log.live.with_name("kafka-request.log.1")))

    assert log.poll() == [b"two"]
    assert log.lost == []


def test_the_first_run_leaves_older_files_alone_unless_a_glob_asks_for_them(tmp_path):
    (tmp_path / "kafka-request.log.1").write_bytes(b"old\n")
    (tmp_path / "kafka-request.log.2.gz").write_bytes(gzip.compress(b"older\n"))
    (tmp_path / "kafka-request.log").write_bytes(b"new\n")

    assert Log(tmp_path).poll() == [b"new"]
    assert sorted(Log(tmp_path, "kafka-request.log*").poll()) == [b"new", b"old", b"older"]


def test_a_glob_in_a_folder_is_an_error(tmp_path):
    with pytest.raises(LogPathError, match="list each node's log by itself"):
        Log(tmp_path, "broker-*/kafka-request.log")


def test_an_oversized_line_comes_in_chunks_while_it_is_still_written(log):
    log.tailer = log.tailing(None, chunk_bytes=4)
    log.append(b"one\n")
    log.append(b"x" * 10)
    first = log.tailer.poll()
    assert [(line.value, line.chunk) for line in first.lines] == [
        (b"one", None),
        (b"xxxx", "1/?"),
        (b"xxxx", "2/?"),
    ]
    assert first.end_offset == 4  # the oversized line is not safe before its end is
    log.append(b"y\n")
    last = log.tailer.poll()
    assert [(line.value, line.chunk, line.end_offset) for line in last.lines] == [(b"xxy", "3/3", 16)]


@pytest.mark.parametrize("name", ["kafka-request.log", "kafka-request.log.1"])
def test_a_link_out_of_the_folder_is_read_only_if_it_is_allowed(log, tmp_path_factory, caplog, name):
    """A user who may write into the folder must not choose what else is published."""
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_bytes(b"secret\n")
    log.live.with_name(name).symlink_to(secret)
    refused, allowed = (
        Tailer(replace(log.file, path=f"{log.live}*", follow_links=is_allowed))
        for is_allowed in (False, True)
    )

    assert [refused.poll(), refused.poll()] == [None, None]
    named = [record.getMessage() for record in caplog.records if str(secret) in record.getMessage()]
    assert len(named) == 1
    assert f"{log.live.with_name(name)}: is a link to {secret}" in named[0]
    assert "follow_links = true" in named[0]
    assert [line.value for line in allowed.poll().lines] == [b"secret"]
    allowed.close()


def test_links_within_the_folder_and_a_folder_that_is_a_link_are_read(log, tmp_path_factory):
    log.live.with_name("2026-11-27.log").write_bytes(b"one\n")
    log.live.symlink_to("2026-11-27.log")
    folder = tmp_path_factory.mktemp("links") / "logs"
    folder.symlink_to(log.live.parent)
    tailer = Tailer(replace(log.file, path=str(folder / log.live.name)))

    assert [line.value for line in tailer.poll().lines] == [b"one"]
    tailer.close()
