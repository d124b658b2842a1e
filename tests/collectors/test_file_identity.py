"""Two files that begin alike are two files; a link out of the folder is no file of the log."""

import gzip
import json

import pytest

from collectors.log_files.lines import fingerprint
from collectors.log_files.positions import InFlight, copied, load_positions, save_positions
from collectors.log_files.readers import open_reader
from collectors.publish import Publisher
from tests.collectors.made_log import Log, compress

BANNER = b"# request log of broker 1\n"


class SavedLog(Log):
    """A log whose collector starts again from what the broker has acknowledged, through the saved file."""

    def restart(self) -> None:
        """Save and load the positions of everything that was read."""
        self.tailer.close()
        save_positions(self.positions, {"log": self.flight.safe})
        self.start()

    def start(self) -> None:
        """Start from the saved positions."""
        self.tailer = self.tailing(load_positions(self.positions)["log"])
        self.flight = InFlight(copied(self.tailer.known), failed=print)

    def take(self) -> None:
        """Read and acknowledge what there is."""
        for _ in range(3):
            while batch := self.tailer.poll():
                self.read += [(line.position, line.value) for line in batch.lines]
                Publisher.send_batch(Acknowledging(), batch, self.flight)
            self.now += 1.0


class Acknowledging:
    """A publisher whose broker acknowledges each record at once."""

    def send(self, _line, delivered) -> None:
        """Acknowledge."""
        delivered(None, None)


@pytest.fixture
def log(tmp_path):
    log = SavedLog(tmp_path)
    log.positions = tmp_path / "state" / "positions.json"
    log.flight = InFlight({}, failed=print)
    yield log
    log.tailer.close()


@pytest.mark.parametrize("pack", [lambda _: None, compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("is_restarted", [False, True])
def test_files_with_the_same_banner_are_two_files(log, pack, is_restarted):
    log.append(BANNER + b"10:00:00 one\n10:00:01 two\n10:00:02 three\n")
    log.take()
    pack(log.rename_to("kafka-request.log.1"))
    log.append(BANNER)
    log.take()  # the banner alone tells nothing yet
    if is_restarted:
        log.restart()
    log.append(b"10:00:03 four\n")
    log.take()
    log.append(b"10:00:04 five\n")
    if is_restarted:
        log.restart()
    log.take()

    banner = BANNER.rstrip()
    first = [banner, b"10:00:00 one", b"10:00:01 two", b"10:00:02 three"]
    assert [value for _, value in log.read] == [*first, banner, b"10:00:03 four", b"10:00:04 five"]
    assert len({position for position, _ in log.read}) == 7


def test_files_whose_first_lines_are_equal_differ_by_the_last_line_that_was_read(log):
    """A broker that restarts within the resolution of its clock."""
    log.append(b"10:00:00 start\n10:00:01 one\n")
    log.take()
    log.restart()
    log.live.unlink()
    log.append(b"10:00:00 start\n10:00:01 two\n10:00:01 three\n")
    log.take()
    log.restart()  # the new file has its own identity, which is saved
    log.append(b"10:00:02 four\n")
    log.take()

    assert [value for _, value in log.read[2:]] == [
        b"10:00:00 start",
        b"10:00:01 two",
        b"10:00:01 three",
        b"10:00:02 four",
    ]
    assert len({position for position, _ in log.read}) == 6


def test_both_of_two_files_that_begin_alike_are_followed_on(log):
    log.append(b"10:00:00 start\n10:00:01 one\n")
    log.take()
    older = log.rename_to("kafka-request.log.1")
    log.append(b"10:00:00 start\n10:00:01 two\n10:00:01 three\n")
    log.restart()
    log.append(b"10:00:06 four\n")
    log.take()
    with older.open("ab") as out:
        out.write(b"10:00:05 late\n")
    log.restart()
    log.take()
    log.restart()  # the first file has moved on: the identity of the second one does not depend on it
    log.append(b"10:00:07 five\n")
    log.take()

    assert sorted(value for _, value in log.read[2:]) == [
        b"10:00:00 start",
        b"10:00:01 three",
        b"10:00:01 two",
        b"10:00:05 late",
        b"10:00:06 four",
        b"10:00:07 five",
    ]
    assert len({position for position, _ in log.read}) == 8


def test_a_killed_collector_gives_a_file_the_same_identity_again(log):
    log.append(b"10:00:00 start\n10:00:01 one\n")
    log.take()
    log.restart()
    log.live.unlink()
    log.append(b"10:00:00 start\n10:00:01 two\n")
    log.take()
    sent = log.read[2:]
    log.tailer.close()
    log.start()  # from the positions before the second file
    log.take()

    assert log.read[4:] == sent


@pytest.mark.parametrize("first", [b"10:00:00 one\n", BANNER + b"10:00:00 one\n"], ids=["time", "banner"])
@pytest.mark.parametrize("pack", [None, compress], ids=["plain", "gzip"])
def test_positions_of_version_1_are_read_on_from(log, first, pack):
    """Its mark is the first line alone; the positions of lines that were sent stay the same."""
    mark = fingerprint(first.split(b"\n")[0])
    log.append(first + b"10:00:01 two\n10:00:02 three\n")
    row = {"offset": len(first), "is_finished": False}
    log.positions.parent.mkdir()
    log.positions.write_text(json.dumps({"version": 1, "logs": {"log": {mark: row}}}))
    if pack:
        pack(log.rename_to("kafka-request.log.1"))
    log.start()
    log.take()
    log.restart()
    if not pack:
        log.append(b"10:00:03 four\n")
    log.take()

    expected = [b"10:00:01 two", b"10:00:02 three"] + ([] if pack else [b"10:00:03 four"])
    assert [value for _, value in log.read] == expected
    assert log.read[0][0] == f"broker-1/{mark}/{len(first)}"
    assert len({position.split("/")[1] for position, _ in log.read}) == 1


def test_a_file_of_version_1_with_the_same_banner_as_the_saved_one_is_read_whole(log):
    mark = fingerprint(BANNER.rstrip())
    log.append(BANNER + b"10:00:00 one\n10:00:01 two\n")
    older = log.rename_to("kafka-request.log.1")
    log.append(BANNER + b"10:00:02 three\n")
    row = {"offset": older.stat().st_size - len(b"10:00:01 two\n"), "is_finished": False}
    log.positions.parent.mkdir()
    log.positions.write_text(json.dumps({"version": 1, "logs": {"log": {mark: row}}}))
    log.start()
    log.take()

    assert [value for _, value in log.read] == [b"10:00:01 two", BANNER.rstrip(), b"10:00:02 three"]


@pytest.mark.parametrize("name", ["kafka-request.log", "kafka-request.log.1", "kafka-request.log.1.gz"])
def test_a_link_out_of_the_folder_is_refused_unless_allowed(tmp_path, caplog, name):
    secret = tmp_path / "secret"
    content = b"10:00:00 secret\n"
    secret.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / name).symlink_to(secret)
    log = Log(folder, "kafka-request.log*")

    assert log.poll() == []
    assert f"{folder / name}: cannot be read: a link leads out of the folder of the log" in caplog.text

    assert Log(folder, "kafka-request.log*", follows_links=True).poll() == [b"10:00:00 secret"]


def test_a_link_inside_the_folder_and_a_folder_that_is_a_link_are_read(tmp_path):
    (tmp_path / "disk7").mkdir()
    (tmp_path / "logs").symlink_to(tmp_path / "disk7")
    (tmp_path / "disk7" / "today").write_bytes(b"10:00:00 one\n")
    (tmp_path / "disk7" / "kafka-request.log").symlink_to("today")

    assert Log(tmp_path / "logs").poll() == [b"10:00:00 one"]


def test_a_link_that_is_swapped_in_after_the_listing_is_not_read(tmp_path):
    (tmp_path / "logs").mkdir()
    log = Log(tmp_path / "logs")
    log.append(b"10:00:00 one\n")
    listed = log.tailer._siblings.listed({})
    log.live.rename(tmp_path / "elsewhere")
    log.live.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="a link leads out"):
        open_reader(listed[0], 0, 1024)
