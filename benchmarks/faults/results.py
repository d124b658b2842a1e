"""What the campaign has found: one line of JSON for each run, and the table that is made of them."""

import hashlib
import json
import os
import platform
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from conf.settings import PROJECT

CODE = (
    "engine", "jobs", "transforms", "schemas", "conf", "collectors", "lab",
    "plumbline/__main__.py", "plumbline/cli.py",
)  # fmt: skip
"""
The code that runs in every fault: the jobs, the collectors, the command that starts them, and the lab.

What else a fault uses is among its files: modules of `tests` and `benchmarks` that make its lines and judge
it, `answers` and `serving` if it makes a report, a page of `docs` if it checks the page.
"""

WRITTEN = (":(exclude)docs/faults.*", ":(exclude)docs/nemesis.jsonl")
"""What the campaign and the nemesis write: no change of the code."""

RULE_OF_THREE = 3
LOST, DOUBLED, TOTALS, OTHER = "lost", "doubled", "wrong totals", "other wrong"
BEGINS = {
    TOTALS: (r"gold\.", r"[\w-]+: \d+ read, ", r"\w+ version \d+ showed {[^}]*}: it shrank "),
    LOST: (
        r"(bronze )?[\w-]+: [1-9]\d* lost, ",
        r"\w+\.\w+: [1-9]\d* rows missing, ",
        r"(topic: )?of \d+ lines \d+ are lost, ",
        r"\d+ acknowledged records are not in the topic, ",
    ),
    DOUBLED: (
        r"\w+: \d+ doubled, ",
        r"bronze [\w-]+: 0 lost, ",
        r"\w+\.\w+: 0 rows missing, ",
        r"[\w-]+: \d+ lines (in silver twice|twice in silver)",
        r"\w+: \('[^']*', \d+\) was committed ",
        r"\w+ version \d+ showed {[^}]*}: doubled",
    ),
}
"""How the findings of an oracle begin; a row with any word may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run of one fault; `at_once` is how many runs shared the machine."""

    fault: str
    group: str
    number: int
    seed: int
    code: str
    commit: str
    began_at: str
    seconds: float
    n: int
    wrong: list[str]
    hits: list[dict[str, Any]] = field(default_factory=list)
    records: int = 0
    looks: int = 0
    machine: str = ""
    at_once: int = 1

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What makes a run the same run."""
        return self.fault, self.number, self.seed, self.code


def read(file: Path) -> list[Result]:
    """Read the results; a last line that was cut off is a run that did not finish."""
    results = []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            results.append(Result(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return results


def add(file: Path, result: Result) -> None:
    """Append a result, on a line of its own whatever the last writer left behind."""
    file.parent.mkdir(parents=True, exist_ok=True)
    is_cut_off = file.exists() and not file.read_bytes().endswith(b"\n") and file.stat().st_size
    with file.open("a") as lines:
        lines.write(("\n" if is_cut_off else "") + json.dumps(asdict(result)) + "\n")


def code_version(*more: Path) -> str:
    """Digest what a run depends on: `CODE`, and the files and folders of the fault itself."""
    roots = [*(PROJECT / name for name in CODE), *more]
    found = {file for root in roots for file in (root, *root.rglob("*")) if file.is_file()}
    files = {file for file in found if "__pycache__" not in file.parts}
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{os.path.relpath(file, PROJECT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def commit() -> str:
    """Return the commit, `-dirty` when more was changed than results; `unknown` outside a checkout."""
    name = _git("describe", "--always")
    is_dirty = name and _git("status", "--porcelain", "--untracked-files=no", "--", *WRITTEN)
    return f"{name}-dirty" if is_dirty else name or "unknown"


def _git(*command: str) -> str:
    done = subprocess.run(
        ["git", *command],  # noqa: S607 (whichever git there is)
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def machine() -> str:
    """Describe the machine of the runs."""
    gib = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {gib:.0f} GiB, {platform.system()} {platform.machine()}"


def kind_of(wrong: str) -> str:
    """Return the column of the table that a finding of an oracle belongs to."""
    begins = ((kind, begin) for kind, of in BEGINS.items() for begin in of)
    return next((kind for kind, begin in begins if re.match(begin, wrong)), OTHER)


def table(results: Sequence[Result]) -> str:
    """Make the Markdown table: one row for each group of faults, one for all."""
    groups = defaultdict[str, list[Result]](list)
    for result in results:
        groups[result.group].append(result)
    header = ("fault", "n", LOST, DOUBLED, TOTALS, OTHER, "upper bound of a failure's share (95 %)")
    rows = [_row(group, of) for group, of in groups.items()] + [(*_row("**all**", results)[:-1], "")]
    lines = [header, ("---", *["---:"] * (len(header) - 1)), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def bound(n: int, failed: int) -> str:
    """
    Return the upper bound that n faults without a failure support, by the rule of three.

    >>> bound(100, 0), bound(5, 0), bound(2, 0), bound(100, 1)
    ('3.0 %', '60 %', '100 %', '-')
    """
    if failed or not n:
        return "-"
    share = min(1.0, RULE_OF_THREE / n)
    return f"{share:.1%}".replace("%", " %") if share < 0.1 else f"{share:.0%}".replace("%", " %")


def _row(group: str, results: Sequence[Result]) -> tuple[str, ...]:
    n = sum(result.n for result in results)
    kinds = Counter(kind_of(finding) for result in results for finding in result.wrong)
    failed = sum(bool(result.wrong) for result in results)
    return group, str(n), *(str(kinds[kind]) for kind in (LOST, DOUBLED, TOTALS, OTHER)), bound(n, failed)
