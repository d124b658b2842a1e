"""Files that were compressed, are being compressed, or are torn."""

import gzip
import os

from collectors.log_files.siblings import Siblings
from tests.collectors.made_log import compress


def test_a_file_compressed_by_another_program_is_told_and_not_sent_as_lines(log, caplog):
    log.append(b"one\n")
    log.poll()
    log.live.with_name("kafka-request.log.1.xz").write_bytes(b"\xfd7zXZ\x00no line\n")
    log.restart()

    assert log.poll() == []
    assert [r.getMessage() for r in caplog.records] == [
        f"{log.live}.1.xz: is compressed, but not with gzip; configure the log rotation to use gzip"
    ]


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
    listed = log.tailer._siblings.listed(log.tailer.known)
    newer.rename(older)
    newer.write_bytes(second)  # the rotation, behind the listing
    answers = [listed]
    look = log.tailer._siblings.listed
    monkeypatch.setattr(Siblings, "listed", lambda _, *known: answers.pop() if answers else look(*known))

    assert sorted(log.poll()) == [b"four", b"three", b"two"]
    assert log.lost == []


def test_a_gzip_found_torn_once_is_read_again_before_it_is_given_up(log):
    half, packed = log.pack_behind_the_first_line(b"one\ntwo\n")
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
    torn, packed = log.pack_behind_the_first_line(b"one\ntwo\nthree\n")
    torn.write_bytes(packed[:-6])
    os.utime(torn, (0, 0))

    assert log.poll() == [b"two", b"three"]
    assert [lost.start_offset for lost in log.lost] == [14]
    assert "bytes from 14 on are lost" in caplog.text
