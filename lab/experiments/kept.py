"""What an experiment keeps on disk: a file for each run, and what was set aside, which no report reads."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from collectors.perf_test.run import Run, file_of, run_of
from conf.names import RUN_DOCUMENT
from lab import processes
from lab.experiments.errors import ExperimentError

SUMMARY = re.compile(rb" (\d+) records sent, .*99\.9th", re.MULTILINE)
FAILED_RECORD = re.compile(rb"^[\w.]+Exception.*$", re.MULTILINE)
NO_WORD = re.compile(rf'^\{{"{RUN_DOCUMENT}"|^\S+Z [\w-]+:[\w.-]+:\{{|^\S+Z Metric Name ')
"""Lines of a run's file that say nothing of why it failed: our own, and the table of metrics."""

QUOTED_LINES = 5
Unit = tuple[str, str]
"""Block and arm: what is one run."""


@contextmanager
def alone(lock: Path, message: str) -> Iterator[None]:
    """
    Hold a lock.

    Raises:
        ExperimentError: somebody else does.

    """
    try:
        with FileLock(lock, timeout=0):
            yield
    except Timeout:
        raise ExperimentError(f"{message}: wait for it") from None  # noqa: EM102, TRY003 (a caller's sentence)


PLAN = "experiment.json"
"""The frozen plan, beside the runs."""


class Folder:
    """The folder of one experiment; names that begin with a dot are hidden from reports."""

    def __init__(self, root: Path) -> None:
        """Make nothing yet."""
        self.root = root
        self.frozen = root / PLAN
        self.runs = root / "perf-test"
        self._aside = root / ".set-aside"
        self._tool = root / ".tool.json"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """
        Keep others out.

        Raises:
            ExperimentError: another one works in this folder.

        """
        self.root.mkdir(parents=True, exist_ok=True)
        with alone(self.root / ".lock", f"another `plumbline experiment` works in {self.root}"):
            yield

    def new_file(self, run: Run) -> Path:
        """Name the file of a run that begins."""
        return file_of(self.runs, run, datetime.now(UTC))

    def errors_of(self, file: Path) -> Path:
        """Name the file for what the tool writes to its standard error."""
        return self._aside / f"{file.name}.errors"

    def finished(self) -> set[Unit]:
        """Give the runs that were finished."""
        files = sorted(self.runs.glob("*.txt"))
        return {unit for file in files if (unit := unit_of(file)) and not self.shortcoming(file)}

    def unfinished(self) -> list[Path]:
        """Give the files of runs that were begun and not finished; what is not ours is left alone."""
        files = sorted(self.runs.glob("*.txt"))
        return [
            file for file in files if (unit_of(file) or not file.stat().st_size) and self.shortcoming(file)
        ]

    def shortcoming(self, file: Path) -> str | None:
        """Tell why a run does not count as finished; None when it does."""
        return shortcoming(file) or _failed_records(self.errors_of(file))

    def set_aside(self, file: Path, word: str) -> Path:
        """Move a run's file to where no report reads it: `cut` or `failed`."""
        self._aside.mkdir(exist_ok=True)
        errors = self.errors_of(file)
        if errors.exists() and not errors.stat().st_size:
            errors.unlink()
        return file.rename(self._aside / f"{file.name}.{word}")

    def note_tool(self, process: subprocess.Popen[bytes]) -> None:
        """Note the tool that runs: should this program be killed, the tool would produce on."""
        record = {"pid": process.pid, "created_at": psutil.Process(process.pid).create_time()}
        self._tool.write_text(json.dumps(record))

    def forget_tool(self) -> None:
        """Note that none runs."""
        self._tool.unlink(missing_ok=True)

    def end_orphan(self) -> bool:
        """End the tool that a killed experiment left running; tell whether there was one."""
        try:
            record = json.loads(self._tool.read_text())
            is_there = processes.find(record) is not None
        except (OSError, ValueError, KeyError, TypeError):
            is_there = False
        if is_there:
            processes.end([record])
        self.forget_tool()
        return is_there


def unit_of(file: Path) -> Unit | None:
    """Read from a file's first line what it is of; None where it does not say."""
    with file.open("rb") as lines:
        run = run_of(lines.readline())
    return (run.run, run.arm) if run and run.arm else None


def shortcoming(file: Path) -> str | None:
    """Tell by a run's file alone why it does not count as finished; None when nothing speaks against it."""
    text = file.read_bytes()
    try:
        facts = json.loads(text.splitlines()[-1])[RUN_DOCUMENT]
        code, asked = facts["exit_code"], facts["asked_records"]
    except (IndexError, ValueError, KeyError, TypeError):
        return "was cut off"
    if code:
        return f"ended with exit code {code}"
    sent = [int(of[1]) for of in SUMMARY.finditer(text)]
    if not sent or sent[-1] < (asked or 0):
        return f"sent {sent[-1] if sent else 0} of {asked} records"
    return None


def _failed_records(errors: Path) -> str | None:
    """Count the records that failed: the tool ends with 0, and some releases take them for sent."""
    told = FAILED_RECORD.findall(errors.read_bytes()) if errors.exists() else []
    return f"could not send {len(told)} records: {told[0].decode(errors='replace')}" if told else None


def last_lines(*files: Path) -> str:
    """Quote the end of what the tool said in some files, those that are there."""
    said = [file.read_text(errors="replace").splitlines() for file in files if file.exists()]
    own = [[line for line in lines if not NO_WORD.search(line)] for lines in said]
    return "\n".join(line for lines in own for line in lines[-QUOTED_LINES:])
