# ruff: noqa: D102, D107 (a step of a test is named by what it does)
"""In any order of writes, rotations, reads and steps of the clock, no byte is lost or doubled."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collectors.made_log import Log, compress


class LogAppender(Log):
    """A log that is written, rotated and read in any order, and the lines it has had."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.wanted: list[bytes] = []
        self.partial = b""
        self.written = 0
        self.skew_s = 0.0

    def step_back(self) -> None:
        self.skew_s -= 3_600.0

    def jump_ahead(self) -> None:
        self.skew_s += 3_600.0

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
STEPS += ["step_back", "jump_ahead"]  # of the host's clock


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=40))
def test_no_order_of_writes_rotations_and_restarts_loses_or_doubles_a_byte(steps):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as stepping:
        log, now = LogAppender(Path(folder)), time.time
        stepping.setattr("collectors.log_files.tail.time.time", lambda: now() + log.skew_s)
        for step in [*steps, "whole_line", "poll"]:
            getattr(log, step)()
        log.tailer.close()

    assert sorted(value for _, value in log.read) == sorted(log.wanted)
    assert len({position for position, _ in log.read}) == len(log.read)
    assert log.lost == []
