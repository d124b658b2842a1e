import subprocess
import sys
import time

import psutil

from lab import processes

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
DEAF_CODE = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(60)
"""
DEAF = [sys.executable, "-c", DEAF_CODE]


def test_a_reused_pid_is_neither_found_nor_killed(tmp_path):
    """The pid is right, the create time is another's: that process is not ours."""
    record = processes.spawn(SLEEP, output=tmp_path / "out")
    anothers = record | {"created_at": record["created_at"] - 100}

    assert processes.find(anothers) is None
    assert processes.end([anothers]) == 0
    assert processes.find(record) is not None
    assert processes.end([record]) == 0
    assert processes.find(record) is None


def test_what_does_not_listen_to_sigterm_is_killed(tmp_path):
    record = processes.spawn(DEAF, output=tmp_path / "out")
    while "deaf" not in (tmp_path / "out").read_text():
        time.sleep(0.02)

    assert processes.end([record], patience_s=0.3) == 1
    assert processes.find(record) is None


def test_a_child_that_ended_counts_as_ended_though_nobody_waited(tmp_path):
    record = processes.spawn([sys.executable, "-c", "pass"], output=tmp_path / "out")
    deadline = time.monotonic() + 10
    while processes.find(record) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert processes.find(record) is None


def test_a_zombie_counts_as_ended():
    """A dead child that another program started and never waited for still has a pid."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    record = {"pid": child.pid, "created_at": psutil.Process(child.pid).create_time()}
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.02)

    assert processes.find(record) is None
    child.wait()


def test_a_started_process_outlives_its_starter(tmp_path):
    """`plumbline lab start` ends, its brokers do not, nor does Ctrl-C in its terminal reach them."""
    starter = (
        "import sys; from pathlib import Path; from lab import processes;"
        f"print(processes.spawn({SLEEP!r}, output=Path({str(tmp_path / 'out')!r})))"
    )
    told = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=True)
    record = eval(told.stdout)  # noqa: S307 (printed by ourselves a line above)

    assert processes.find(record) is not None
    assert processes.end([record]) == 0


def test_the_tail_of_a_log_is_its_last_lines(tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes(b"first\n" * 50_000 + b"la\xffst\n")

    assert processes.tail(log, lines=2) == "first\nla\ufffdst"
    assert "no " in processes.tail(tmp_path / "none")
