"""Run the tool once. A signal stops the tool, so that no run continues without its experiment."""

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from collectors.perf_test.run import RunRecording, record_run
from lab.experiments.run_folder import RunFolder

POLL_INTERVAL_S = 0.2
PATIENCE_S = 10.0
"""Seconds between SIGTERM and SIGKILL."""


def run_tool(
    tool: Sequence[str],
    arguments: Sequence[str],
    recording: RunRecording,
    folder: RunFolder,
    tick: Callable[[], None],
) -> int:
    """
    Run the tool to its end and return its exit code. Call `tick` while it runs.

    Another thread reads the tool's output. The calling thread receives signals and can stop the tool.
    """
    process: list[subprocess.Popen[bytes]] = []
    result: list[int | Exception] = []

    def began(started: subprocess.Popen[bytes]) -> None:
        process.append(started)
        folder.note_tool(started)

    def watch() -> None:
        try:
            result.append(record_run(tool, arguments, replace(recording, began=began)))
        except Exception as error:  # noqa: BLE001 (the waiting thread raises it)
            result.append(error)

    # Do not join: in Python 3.11 a join that a signal interrupts marks the thread as ended.
    threading.Thread(target=watch, daemon=True).start()
    try:
        while not result:
            time.sleep(POLL_INTERVAL_S)
            tick()
    finally:
        _end(process, result)
        folder.forget_tool()
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


def _end(process: list[subprocess.Popen[bytes]], result: list[int | Exception]) -> None:
    waited_s, is_terminated = 0.0, False
    while not result:
        if process and not is_terminated:
            process[0].terminate()
            is_terminated = True
        if process and waited_s > PATIENCE_S:
            process[0].kill()
        time.sleep(POLL_INTERVAL_S)
        waited_s += POLL_INTERVAL_S
