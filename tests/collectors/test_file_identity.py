"""Files of a log that begin with the same header are different files: no line is lost or doubled."""

import gzip
import json
import os
import shutil

import pytest

from collectors.log_files.lines import HEAD_LINES, fingerprint
from collectors.log_files.positions import (
    REMEMBERED_FILES,
    FileProgress,
    InFlight,
    copied,
    forget,
    load_positions,
    save_positions,
)
from collectors.publish import Publisher
from tests.collectors.made_log import Log, compress

HEADERS = [b"# request log of broker 1\n", b"# a\n# b\n# c\n", b"# header\n" * (HEAD_LINES - 1)]


class Acknowledging:
    """A publisher whose broker acknowledges each record at once."""

    def send(self, _line, delivered) -> None:
        """Acknowledge."""
        delivered(None, None)


class SavedLog(Log):
    """A log whose collector starts again from what the broker has acknowledged, through the saved file."""

    def __init__(self, folder, pattern="kafka-request.log"):
        """Start for the first time."""
        self.flight, self.positions = InFlight({}, failed=print), folder / "state" / "positions.json"
        super().__init__(folder, pattern)

    def restart(self):
        """Save and load the positions of everything that was acknowledged."""
        save_positions(self.positions, {"log": self.flight.safe})
        self.restart_from_saved()

    def restart_from_saved(self):
        """Start from the positions that were saved last, as after a kill."""
        self.tailer.close()
        self.tailer = self.tailing(load_positions(self.positions)["log"])
        self.flight = InFlight(copied(self.tailer.known), failed=print)

    def poll(self):
        """Read and acknowledge what there is; return the lines."""
        before = len(self.read)
        for _ in range(3):
            while batch := self.tailer.poll():
                self.read += [(line.position, line.value) for line in batch.lines]
                self.lost += [batch.lost] if batch.lost else []
                Publisher.send_batch(Acknowledging(), batch, self.flight)
            self.now += 1.0
        return [value for _, value in self.read[before:]]

    @property
    def positions_read(self):
        """Return the positions of all lines; equal ones are one line to the readers of the topic."""
        return [position for position, _ in self.read]


@pytest.fixture
def log(tmp_path):
    log = SavedLog(tmp_path)
    yield log
    log.tailer.close()


def split(content):
    return content.removesuffix(b"\n").split(b"\n")


@pytest.mark.parametrize("header", HEADERS, ids=["1 line", "3 lines", "15 lines"])
@pytest.mark.parametrize("pack", [lambda _: None, compress, os.unlink], ids=["plain", "gzip", "deleted"])
@pytest.mark.parametrize("is_restarted", [False, True], ids=["running", "restarted"])
def test_a_new_file_with_the_header_of_the_former_one_is_read_from_its_first_line(
    log, header, pack, is_restarted
):
    """Also while it is shorter than what was read of the former file."""
    log.append(header + b"10:00:00 one\n10:00:01 two\n10:00:02 three\n")
    former = log.poll()
    rotated = log.rename_to("kafka-request.log.1")
    log.append(header)
    log.poll()
    pack(rotated)
    if is_restarted:
        log.restart()
    log.append(b"10:00:03 four\n")
    read = log.poll()
    if is_restarted:
        log.restart()
    log.append(b"10:00:04 five\n")
    read += log.poll()

    assert former == split(header + b"10:00:00 one\n10:00:01 two\n10:00:02 three")
    assert read == split(header + b"10:00:03 four\n10:00:04 five")
    assert len(set(log.positions_read)) == len(log.read)
    assert log.lost == []


@pytest.mark.parametrize("is_longer", [False, True])
def test_a_file_that_was_rotated_unread_and_its_successor_with_the_same_header_are_both_read(log, is_longer):
    """The collector was down, so it knows no more of the former file than the header."""
    header = HEADERS[0]
    log.append(header)
    log.poll()
    log.restart()
    log.append(b"10:00:00 one\n10:00:01 two\n")
    log.rename_to("kafka-request.log.1")
    log.append(header + b"10:00:02 three\n" * (1 + 9 * is_longer))

    expected = split(b"10:00:00 one\n10:00:01 two\n" + header + b"10:00:02 three\n" * (1 + 9 * is_longer))
    assert log.poll() == expected
    assert len(set(log.positions_read)) == len(log.read)


def test_each_of_many_files_with_the_same_header_is_a_file_of_its_own(log):
    header = HEADERS[1]
    for number in range(REMEMBERED_FILES + 6):
        log.append(header + b"10:00:%02d a line\n" % number)
        log.poll()
        if number % 7 == 0:
            log.restart()
        log.live.unlink()

    assert len(log.read) == 4 * (REMEMBERED_FILES + 6)
    assert len(set(log.positions_read)) == len(log.read)


def test_a_file_that_keeps_the_mark_of_the_header_is_not_forgotten_before_the_others():
    """Else a later file with this header got the mark and the positions of the first one."""
    header = fingerprint(b"# header")
    rows = {header: FileProgress(1, is_finished=True, head=(header, "a"))}
    rows |= {f"{n}": FileProgress(1, is_finished=True, head=(header, f"{n}")) for n in range(80)}
    forget(rows, present=())

    assert header in rows
    assert len(rows) == REMEMBERED_FILES + 1


def test_copy_and_truncate_of_a_file_with_a_header_reads_the_rest_of_the_copy_and_the_new_content(log):
    header = HEADERS[0]
    log.append(header + b"10:00:00 one\ntw")
    log.poll()
    log.append(b"o\n10:00:01 three\n")
    shutil.copy(log.live, log.live.with_name("kafka-request.log.1"))
    os.truncate(log.live, 0)
    log.append(header + b"10:00:02 four, a line that is longer than all that was there before it\n")

    assert log.poll() == [
        b"two",
        b"10:00:01 three",
        *split(header + b"10:00:02 four, a line that is longer than all that was there before it"),
    ]
    assert log.lost == []
    assert len(set(log.positions_read)) == len(log.read)


def test_a_killed_collector_gives_a_file_the_same_identity_again(log):
    header = HEADERS[1]
    log.append(header + b"10:00:00 one\n")
    log.poll()
    log.restart()
    log.rename_to("kafka-request.log.1")
    log.append(header + b"10:00:01 two\n")
    log.poll()
    sent = log.read[4:]
    log.restart_from_saved()
    log.poll()

    assert len(sent) == 4
    assert log.read[8:] == sent


def test_a_file_that_holds_nothing_but_the_known_header_waits_for_its_next_line(log):
    log.append(HEADERS[0] + b"10:00:00 one\n")
    log.poll()
    log.rename_to("kafka-request.log.1")
    log.append(HEADERS[0])

    assert log.poll() == []
    log.append(b"10:00:01 two\n")
    assert log.poll() == [HEADERS[0].rstrip(), b"10:00:01 two"]


def test_the_rest_of_a_rotated_file_is_read_although_its_successor_holds_only_the_same_header(log):
    """The live file is shorter than what was read, but it is not the former file cut off."""
    log.append(HEADERS[0] + b"10:00:00 one\n")
    log.poll()
    log.append(b"10:00:01 two\n")
    log.restart()
    log.rename_to("kafka-request.log.1")
    log.append(HEADERS[0])

    assert log.poll() == [b"10:00:01 two"]
    log.append(b"10:00:02 three\n")
    assert log.poll() == [HEADERS[0].rstrip(), b"10:00:02 three"]


def test_lines_that_were_written_after_a_file_was_opened_tell_it_from_a_longer_successor(log):
    log.append(HEADERS[0])
    log.poll()
    log.append(b"10:00:00 one\n")
    log.poll()
    log.live.unlink()
    log.append(HEADERS[0] + b"10:00:01 two\n10:00:02 three\n")

    assert log.poll() == [HEADERS[0].rstrip(), b"10:00:01 two", b"10:00:02 three"]
    assert len(set(log.positions_read)) == len(log.read)


def test_a_file_that_was_truncated_after_its_header_was_read_is_noticed_by_the_lines_that_followed(log):
    """The reader compares all lines that it has read, not only those that it found at first."""
    log.append(HEADERS[0])
    log.poll()
    log.append(b"10:00:00 one\n")
    log.poll()
    os.truncate(log.live, 0)
    log.append(HEADERS[0] + b"10:00:01 two\n10:00:02 three\n")

    assert log.poll() == [HEADERS[0].rstrip(), b"10:00:01 two", b"10:00:02 three"]


def test_a_log_without_times_and_without_a_known_header_is_read_at_once(log):
    """Lines of performance tests have no time."""
    log.append(b"5000 records sent, 999.8 records/sec\n")
    assert log.poll() == [b"5000 records sent, 999.8 records/sec"]


@pytest.mark.parametrize("pack", [None, compress], ids=["plain", "gzip"])
def test_positions_of_the_former_version_are_continued(log, pack):
    """They have the fingerprint of the first line alone; positions of lines stay the same."""
    header = HEADERS[0]
    mark = fingerprint(header.rstrip())
    log.append(header + b"10:00:00 one\n10:00:01 two\n")
    row = {"offset": len(header) + 13, "is_finished": False}
    log.positions.parent.mkdir()
    log.positions.write_text(json.dumps({"version": 1, "logs": {"log": {mark: row}}}))
    if pack:
        pack(log.rename_to("kafka-request.log.1"))
    log.restart_from_saved()

    assert log.poll() == [b"10:00:01 two"]
    assert log.positions_read == [f"broker-1/{mark}/{len(header) + 13}"]
    log.restart()
    log.live.unlink(missing_ok=True)
    log.append(header + b"10:00:02 three\n")
    assert log.poll() == [header.rstrip(), b"10:00:02 three"]


def test_a_gzip_copy_of_a_file_with_a_header_is_not_sent_again(log):
    log.append(HEADERS[0] + b"10:00:00 one\n")
    log.poll()
    log.rename_to("kafka-request.log.1")
    log.append(HEADERS[0] + b"10:00:01 two\n")
    log.poll()
    packed = log.live.with_name("kafka-request.log.1.gz")
    packed.write_bytes(gzip.compress(log.live.with_name("kafka-request.log.1").read_bytes()))

    assert log.poll() == []
    log.live.with_name("kafka-request.log.1").unlink()
    log.restart()
    assert log.poll() == []
