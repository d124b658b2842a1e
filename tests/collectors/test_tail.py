# ruff: noqa: D102, D107 (a step of a test is named by what it does)
import gzip
import logging
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.positions import copied
from collectors.siblings import LogPathError, Siblings
from collectors.tail import Tailer
from conf.settings import TailedFile


class Log:
    """A log as a broker writes it, and everything a tailer has read of it."""

    def __init__(self, folder: Path, pattern: str = "kafka-request.log") -> None:
        self.live = folder / "kafka-request.log"
        self.file = TailedFile(path=str(folder / pattern), kind="request-log", node="broker-1")
        self.now = 0.0
        self.lost = []
        self.read: list[tuple[str, bytes]] = []
        self.tailer = self.tailing(None)

    def tailing(self, saved, **options):
        return Tailer(self.file, saved, settle_s=1.0, clock=lambda: self.now, **options)

    def restart(self) -> None:
        self.tailer.close()
        self.tailer = self.tailing(copied(self.tailer.known))

    def append(self, content: bytes) -> None:
        with self.live.open("ab") as out:
            out.write(content)

    def rename_to(self, name: str) -> Path:
        return self.live.rename(self.live.with_name(name))

    def poll(self) -> list[bytes]:
        """Read until nothing comes; then let the settling time pass and read again."""
        before = len(self.read)
        for _ in range(3):
            while batch := self.tailer.poll():
                self.read += [(line.position, line.value) for line in batch.lines]
                self.lost += [batch.lost] if batch.lost else []
            self.now += 1.0
        return [value for _, value in self.read[before:]]


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path)
    yield log
    log.tailer.close()


def compress(path: Path) -> None:
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


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
    assert "all that was seen of it was read" in caplog.text
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


def test_a_file_compressed_by_another_program_is_told_and_not_sent_as_lines(log, caplog):
    log.append(b"one\n")
    log.poll()
    log.live.with_name("kafka-request.log.1.xz").write_bytes(b"\xfd7zXZ\x00no line\n")
    log.restart()

    assert log.poll() == []
    assert [r.getMessage() for r in caplog.records] == [
        f"{log.live}.1.xz: is compressed, and not by gzip; let the rotation use gzip"
    ]


def test_a_copy_that_ends_before_what_was_seen_is_told_with_its_bytes(log, caplog):
    log.append(b"one\ntw")
    log.poll()
    log.live.with_name("kafka-request.log.1").write_bytes(b"one\n")
    log.tailer._reader.seen_bytes = 100  # a look at the size found that much
    os.truncate(log.live, 0)

    assert log.poll() == [b"tw"]  # what was in memory is not thrown away
    assert [(lost.start_offset, lost.end_offset) for lost in log.lost] == [(6, 100)]
    assert "was truncated at 100, its copy kafka-request.log.1 ends before: bytes from 6 on" in caplog.text


def test_an_inode_that_is_used_again_is_not_taken_for_the_old_file(log):
    log.append(b"one\n")
    log.poll()
    log.rename_to("kafka-request.log.1")
    log.restart()  # nobody holds the old file
    with log.live.with_name("kafka-request.log.1").open("r+b") as reused:
        reused.write(b"two\n")
    log.live.with_name("kafka-request.log.1").rename(log.live)

    assert log.poll() == [b"two"]


def test_a_gzip_in_the_making_is_waited_for(log):
    log.append(b"one\n")
    log.poll()
    rest = b"".join(os.urandom(30).hex().encode() + b"\n" for _ in range(3000))
    log.append(rest)
    log.restart()
    packed = gzip.compress(log.live.read_bytes())
    log.live.unlink()
    half = log.live.with_name("kafka-request.log.1.gz")
    half.write_bytes(packed[: len(packed) // 2])
    first = log.tailer.poll()  # what can be read of it is good already
    assert first
    log.read += [(line.position, line.value) for line in first.lines]
    while batch := log.tailer.poll():
        log.read += [(line.position, line.value) for line in batch.lines]
    assert log.tailer.is_waiting
    half.write_bytes(packed)
    log.poll()

    assert [value for _, value in log.read] == [b"one", *rest.splitlines()]
    assert log.lost == []


def test_a_gzip_that_was_written_to_while_it_was_read_is_not_given_up(log):
    log.append(b"one\n" + b"".join(os.urandom(30).hex().encode() + b"\n" for _ in range(3000)))
    packed = gzip.compress(log.live.read_bytes())
    log.poll()
    log.tailer.known[next(iter(log.tailer.known))].offset = 4
    log.restart()
    log.live.unlink()
    half = log.live.with_name("kafka-request.log.1.gz")
    half.write_bytes(packed[: len(packed) // 2])
    os.utime(half, (0, 0))  # long ago, when it was listed
    assert log.tailer.poll()
    half.touch()
    while log.tailer.poll():
        pass

    assert log.tailer.is_waiting
    assert log.lost == []


def test_a_gzip_that_moved_on_between_listing_and_opening_is_not_taken_for_its_successor(log, monkeypatch):
    """Every rotation renames all older files: `.1.gz` is another file a moment later."""
    log.append(b"one\n")
    log.poll()
    for lines in (b"two\nthree\n", b"four\n"):
        log.append(lines)
        compress(log.rename_to("kafka-request.log.1"))
        if lines.startswith(b"two"):
            first = log.live.with_name("kafka-request.log.1.gz").read_bytes()
            log.live.with_name("kafka-request.log.1.gz").rename(log.live.with_name("kafka-request.log.2.gz"))
    log.restart()
    second = log.live.with_name("kafka-request.log.1.gz").read_bytes()
    older, newer = (log.live.with_name(f"kafka-request.log.{n}.gz") for n in (2, 1))
    newer.write_bytes(first)
    older.unlink()
    listed = log.tailer._siblings.listed()
    newer.rename(older)
    newer.write_bytes(second)  # the rotation, behind the listing
    answers = [listed]
    look = log.tailer._siblings.listed
    monkeypatch.setattr(Siblings, "listed", lambda _: answers.pop() if answers else look())

    assert sorted(log.poll()) == [b"four", b"three", b"two"]
    assert log.lost == []


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


def test_a_gzip_found_torn_once_is_read_again_before_it_is_given_up(log):
    log.append(b"one\ntwo\n")
    packed = gzip.compress(log.live.read_bytes())
    log.tailer.poll()
    log.tailer.close()
    log.tailer.known[next(iter(log.tailer.known))].offset = 4
    log.restart()
    log.live.unlink()
    half = log.live.with_name("kafka-request.log.1.gz")
    half.write_bytes(packed[:-10])
    os.utime(half, (0, 0))
    while batch := log.tailer.poll():
        log.read += [(line.position, line.value) for line in batch.lines]
        assert batch.lost is None
    half.write_bytes(packed)
    os.utime(half, (0, 0))
    log.poll()

    assert [value for _, value in log.read] == [b"two"]
    assert log.lost == []


def test_a_torn_gzip_gives_what_it_has_and_counts_the_rest_as_lost(log, caplog):
    log.append(b"one\ntwo\nthree\n")
    packed = gzip.compress(log.live.read_bytes())
    log.tailer.poll()
    log.tailer.close()
    log.tailer.known[next(iter(log.tailer.known))].offset = 4
    log.restart()
    log.live.unlink()
    torn = log.live.with_name("kafka-request.log.1.gz")
    torn.write_bytes(packed[:-6])
    os.utime(torn, (0, 0))

    assert log.poll() == [b"two", b"three"]
    assert [lost.start_offset for lost in log.lost] == [14]
    assert "bytes from 14 on are lost" in caplog.text


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


class Writer(Log):
    """A log that is written, rotated and read in any order, and the lines it has had."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.wanted: list[bytes] = []
        self.partial = b""
        self.written = 0

    def whole_line(self) -> None:
        self.part()
        self.append(b"\r\n")
        self.wanted.append(self.partial + b"\r")
        self.partial = b""

    def part(self) -> None:
        self.written += 1
        self.append(b"part %d " % self.written)
        self.partial += b"part %d " % self.written

    def touch(self) -> None:
        self.live.touch()

    def rename(self) -> None:
        if name := self.next_name():
            os.utime(self.rename_to(name), ns=(self.written, self.written))

    def copy_and_truncate(self) -> None:
        if name := self.next_name():
            shutil.copy(self.live, self.live.with_name(name))
            os.truncate(self.live, 0)

    def gzip(self) -> None:
        for path in self.live.parent.glob("kafka-request.log.*[0-9]"):
            compress(path)

    def next_name(self) -> str | None:
        if not self.live.exists() or not self.live.stat().st_size:
            return None
        self.wanted += [self.partial] if self.partial else []  # the rest of a rotated file is a line
        self.partial = b""
        self.written += 1
        return f"kafka-request.log.{self.written:04}"


STEPS = ["whole_line", "part", "touch", "rename", "copy_and_truncate", "gzip", "poll", "restart"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=40))
def test_no_order_of_writes_rotations_and_restarts_loses_or_doubles_a_byte(steps):
    with tempfile.TemporaryDirectory() as folder:
        log = Writer(Path(folder))
        for step in [*steps, "whole_line", "poll"]:
            getattr(log, step)()
        log.tailer.close()

    assert sorted(value for _, value in log.read) == sorted(log.wanted)
    assert len({position for position, _ in log.read}) == len(log.read)
    assert log.lost == []
