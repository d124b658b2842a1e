"""Start and stop processes by pid. A create time tells a process from a later one with the same pid."""

import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psutil

from conf.settings import PROJECT

# psutil derives the create time from the boot time, which changes when the clock is set. Linux does not
# reuse a pid within a second.
CREATE_TIME_SLACK_S = 1.5

# Children of this process, to reap them when they end.
_children: dict[int, subprocess.Popen[bytes]] = {}


def spawn(command: Sequence[str], *, output: Path) -> dict[str, float]:
    """Start a program that outlives this one, with its output in a file. Return its pid and create time."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("ab") as sink:
        child = subprocess.Popen(
            command,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    return {"pid": child.pid, "created_at": psutil.Process(child.pid).create_time()}


def find(record: dict[str, float]) -> psutil.Process | None:
    """Return the recorded process, or None if it ended or another process has its pid."""
    pid = int(record["pid"])
    if pid in _children:
        _children[pid].poll()
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - record["created_at"]) < CREATE_TIME_SLACK_S
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def end(records: Iterable[dict[str, float]], *, patience_s: float = 10.0) -> int:
    """Send SIGTERM to all, wait, and send SIGKILL to the rest. Return the number of SIGKILLs."""
    found = [process for record in records if (process := find(record))]
    for process in found:
        _quietly(process.terminate)
    _, stubborn = psutil.wait_procs(found, timeout=patience_s)
    for process in stubborn:
        _quietly(process.kill)
    psutil.wait_procs(stubborn, timeout=patience_s)
    for process in found:
        if process.pid in _children:
            _children.pop(process.pid).poll()
    return len(stubborn)


def _quietly(act: Callable[[], object]) -> None:
    try:
        act()
    except psutil.NoSuchProcess:
        return


def tail(path: Path, *, lines: int = 15) -> str:
    """Return the last lines of a log, or a note that the file does not exist."""
    if not path.exists():
        return f"(there is no {path})"
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - 64 * 1024))
        return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])


def tails(*paths: Path) -> str:
    """Return the last lines of several logs, each below its path."""
    return "\n".join(f"--- {path}\n{tail(path)}" for path in paths)
