"""One run of the tool, which a signal ends cleanly: never a run that goes on without its experiment."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from collectors.perf_test.run import RunRecording, record_run
from lab.experiments.errors import Stopped
from lab.experiments.kept import Folder

LOOK_EVERY_S = 0.2
PATIENCE_S = 10.0
"""So long a tool may take to end when it is told to."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM raise `Stopped`; while that is tidied up further ones do nothing."""
    is_stopping = False

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopping
        if not is_stopping:
            is_stopping = True
            raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_tool(
    tool: Sequence[str],
    arguments: Sequence[str],
    told: RunRecording,
    folder: Folder,
    tick: Callable[[], None],
) -> int:
    """
    Run the tool to its end and return its exit code; `tick` is called while it runs.

    The tool is watched in a thread, so that a signal is met here, where the tool can be told to end.
    """
    process: list[subprocess.Popen[bytes]] = []
    result: list[int | Exception] = []

    def began(started: subprocess.Popen[bytes]) -> None:
        process.append(started)
        folder.note_tool(started)

    def watch() -> None:
        try:
            result.append(record_run(tool, arguments, replace(told, began=began)))
        except Exception as error:  # noqa: BLE001 (raised again by whoever waits)
            result.append(error)

    # Never joined: in Python 3.11 a join that a signal breaks off takes the thread for ended.
    threading.Thread(target=watch, daemon=True).start()
    try:
        while not result:
            time.sleep(LOOK_EVERY_S)
            tick()
    finally:
        _end(process, result)
        folder.forget_tool()
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


def _end(process: list[subprocess.Popen[bytes]], result: list[int | Exception]) -> None:
    waited_s, was_told = 0.0, False
    while not result:
        if process and not was_told:
            process[0].terminate()
            was_told = True
        if process and waited_s > PATIENCE_S:
            process[0].kill()
        time.sleep(LOOK_EVERY_S)
        waited_s += LOOK_EVERY_S
