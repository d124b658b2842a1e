"""The folder of an experiment: one file per run. Reports ignore failed and interrupted runs."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from collectors.perf_test.run import RunDescription, file_of, run_of
from conf.exit_codes import HeldError
from conf.names import RUN_DOCUMENT
from lab import processes

SUMMARY = re.compile(rb" (\d+) records sent, .*99\.9th", re.MULTILINE)
FAILED_RECORD = re.compile(rb"^[\w.]+Exception.*$", re.MULTILINE)
NOT_TOOL_OUTPUT = re.compile(rf'^\{{"{RUN_DOCUMENT}"|^\S+Z [\w-]+:[\w.-]+:\{{|^\S+Z Metric Name ')
"""Lines of a run's file that do not explain a failure: the run documents and the table of metrics."""

QUOTED_LINES = 5
RunId = tuple[str, str]
"""Block and arm of one run."""


@contextmanager
def exclusive_lock(lock: Path, message: str) -> Iterator[None]:
    """
    Hold a lock file.

    Raises:
        HeldError: another process holds it.

    """
    try:
        with FileLock(lock, timeout=0):
            yield
    except Timeout:
        raise HeldError(f"{message}: wait for it") from None  # noqa: EM102, TRY003 (the caller writes the sentence)


PLAN = "experiment.json"
"""File name of the frozen plan."""


class RunFolder:
    """The folder of one experiment. Reports ignore names that begin with a dot."""

    def __init__(self, root: Path) -> None:
        """Set the paths. Create nothing."""
        self.root = root
        self.frozen = root / PLAN
        self.runs = root / "perf-test"
        self._aside = root / ".set-aside"
        self._tool = root / ".tool.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """
        Create the folder if needed, and lock it against other experiments.

        Raises:
            HeldError: another experiment uses the folder.

        """
        self.root.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(self.root / ".lock", f"another `plumbline experiment` works in {self.root}"):
            yield

    def new_file(self, run: RunDescription) -> Path:
        """Return the path for the file of a new run."""
        return file_of(self.runs, run, datetime.now(UTC))

    def errors_of(self, file: Path) -> Path:
        """Return the path for the tool's stderr."""
        return self._aside / f"{file.name}.errors"

    def finished(self) -> set[RunId]:
        """Return the finished runs."""
        files = sorted(self.runs.glob("*.txt"))
        return {run_id for file in files if (run_id := run_id_of(file)) and not self.shortcoming(file)}

    def unfinished(self) -> list[Path]:
        """Return the files of runs that started and did not finish. Ignore files of other programs."""
        files = sorted(self.runs.glob("*.txt"))
        return [
            file for file in files if (run_id_of(file) or not file.stat().st_size) and self.shortcoming(file)
        ]

    def shortcoming(self, file: Path) -> str | None:
        """Return why a run does not count as finished, or None if it does."""
        return shortcoming(file) or _failed_records(self.errors_of(file))

    def set_aside(self, file: Path, word: str) -> Path:
        """Move a run's file to where no report reads it, with the suffix `cut` or `failed`."""
        self._aside.mkdir(exist_ok=True)
        errors = self.errors_of(file)
        if errors.exists() and not errors.stat().st_size:
            errors.unlink()
        return file.rename(self._aside / f"{file.name}.{word}")

    def note_tool(self, process: subprocess.Popen[bytes]) -> None:
        """Record the running tool, so that `end_orphan` can stop it after this program was killed."""
        record = {"pid": process.pid, "created_at": psutil.Process(process.pid).create_time()}
        self._tool.write_text(json.dumps(record))

    def forget_tool(self) -> None:
        """Record that no tool runs."""
        self._tool.unlink(missing_ok=True)

    def end_orphan(self) -> bool:
        """Stop the tool of a killed experiment. Return whether one was running."""
        try:
            record = json.loads(self._tool.read_text())
            is_there = processes.find(record) is not None
        except (OSError, ValueError, KeyError, TypeError):
            is_there = False
        if is_there:
            processes.end([record])
        self.forget_tool()
        return is_there


def run_id_of(file: Path) -> RunId | None:
    """Return block and arm from a file's first line, or None if it has none."""
    with file.open("rb") as lines:
        run = run_of(lines.readline())
    return (run.run, run.arm) if run and run.arm else None


def shortcoming(file: Path) -> str | None:
    """Return why a run's file alone does not count as finished, or None if nothing is wrong."""
    text = file.read_bytes()
    try:
        facts = json.loads(text.splitlines()[-1])[RUN_DOCUMENT]
        code, requested = facts["exit_code"], facts["asked_records"]
    except (IndexError, ValueError, KeyError, TypeError):
        return "was cut off"
    if code:
        return f"ended with exit code {code}"
    sent = [int(match[1]) for match in SUMMARY.finditer(text)]
    if not sent or sent[-1] < (requested or 0):
        return f"sent {sent[-1] if sent else 0} of {requested} records"
    return None


def _failed_records(errors: Path) -> str | None:
    """Describe the records that failed: the tool still exits with 0, and some releases count them as sent."""
    failed = FAILED_RECORD.findall(errors.read_bytes()) if errors.exists() else []
    return f"could not send {len(failed)} records: {failed[0].decode(errors='replace')}" if failed else None


def last_lines(*files: Path) -> str:
    """Return the last lines that the tool printed to some files. Missing files are ignored."""
    texts = [file.read_text(errors="replace").splitlines() for file in files if file.exists()]
    printed = [[line for line in lines if not NOT_TOOL_OUTPUT.search(line)] for lines in texts]
    return "\n".join(line for lines in printed for line in lines[-QUOTED_LINES:])
