"""The progress line: a terminal redraws it, a log has whole lines."""

import errno
import io

import pytest
from rich.console import Console

from conf import progress
from conf.progress import Progress

CLEAR_LINE = "\x1b[2K"


def console(*, is_terminal):
    return Console(file=io.StringIO(), force_terminal=is_terminal, width=40)


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock by one that a test moves."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_at_most_every_five_seconds_and_the_last_one(clock):
    log = console(is_terminal=False)
    with Progress(log) as shown:
        for second in range(8):
            clock[0] = 100.0 + second
            shown.show(f"{second} of 8 [s]")

    assert log.file.getvalue().splitlines() == ["0 of 8 [s]", "5 of 8 [s]", "7 of 8 [s]"]


def test_a_log_does_not_get_the_last_line_twice():
    log = console(is_terminal=False)
    with Progress(log) as shown:
        shown.show("all done")

    assert log.file.getvalue() == "all done\n"


def test_a_terminal_redraws_one_line_and_keeps_the_last_text_and_what_was_said():
    terminal = console(is_terminal=True)
    with Progress(terminal) as shown:
        shown.show("1 of 2")
        shown.say("a warning that is longer than one line of the terminal")
        shown.show("2 of 2")

    written = terminal.file.getvalue()
    assert CLEAR_LINE in written
    assert "a warning that is longer than one line of the terminal\n" in written
    assert written.rpartition(CLEAR_LINE)[2].endswith("2 of 2\n")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_step_tells_its_duration_only_when_it_is_done(is_terminal, clock):
    log = console(is_terminal=is_terminal)
    with Progress(log).step("reading [gold]"):
        clock[0] += 1.5
    with pytest.raises(OSError, match="full"), Progress(log).step("writing"):
        raise OSError(errno.ENOSPC, "full")

    assert "reading [gold]: 1.5 s\n" in log.file.getvalue()
    assert "writing:" not in log.file.getvalue()
