"""What the campaign has found: one line of JSON for each run, and the page that is made of them."""

import hashlib
import json
import platform
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from conf.settings import PROJECT

CODE = ("jobs", "transforms", "schemas", "conf", "collectors", "plumbline", "requirements.lock")
RULE_OF_THREE = 3
HITS = "| job | place | n | before its first batch was done | inside a batch | batches done: median, most |"
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
"""How what an oracle says begins: behind that may stand a row, with any word in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run of one fault."""

    fault: str
    group: str
    nth: int
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

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What makes a run the same run."""
        return self.fault, self.nth, self.seed, self.code


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
    """Digest what a run depends on: the product's code, and the files of the fault itself."""
    roots = [PROJECT / name for name in CODE]
    files = {file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py"))}
    files |= {file for root in roots for file in root.rglob("*.toml")} | set(more)
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def commit() -> str:
    """Give the commit, `unknown` outside a checkout."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607 (whichever git there is)
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"


def machine() -> str:
    """Tell what the runs were made on."""
    gib = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {gib:.0f} GiB, {platform.system()} {platform.machine()}"


def kind_of(wrong: str) -> str:
    """Sort what an oracle said into the columns of the table."""
    begins = ((kind, begin) for kind, of in BEGINS.items() for begin in of)
    return next((kind for kind, begin in begins if re.match(begin, wrong)), OTHER)


def table(results: Sequence[Result]) -> str:
    """Make the Markdown table: one row for each group of faults, one for all."""
    groups = defaultdict[str, list[Result]](list)
    for result in results:
        groups[result.group].append(result)
    header = ("fault", "n", LOST, DOUBLED, TOTALS, OTHER, "upper bound of a failure's share (95 %)")
    rows = [_row(group, of) for group, of in groups.items()] + [_row("**all**", results)]
    lines = [header, ("---", *["---:"] * (len(header) - 1)), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def bound(n: int, failed: int) -> str:
    """
    Give the upper bound that n faults without a failure support, by the rule of three.

    >>> bound(100, 0), bound(5, 0), bound(2, 0), bound(100, 1)
    ('3.0 %', '60 %', '100 %', '-')
    """
    if failed or not n:
        return "-"
    share = min(1.0, RULE_OF_THREE / n)
    return f"{share:.1%}".replace("%", " %") if share < 0.1 else f"{share:.0%}".replace("%", " %")


def places(results: Iterable[Result]) -> str:
    """Make the table of where the kills hit."""
    hits = [hit for result in results for hit in result.hits]
    by_how = defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    for hit in hits:
        by_how[hit["word"], hit["how"]].append(hit)
    lines = [HITS, f"|---|---|{'---:|' * (HITS.count('|') - 3)}"]
    for (word, how), of in sorted(by_how.items()):
        batches = [hit["batches"] for hit in of]
        early, within = batches.count(0), sum(hit["is_in_batch"] for hit in of)
        told = f"{median(batches):g}, {max(batches)}"
        lines.append(f"| {word} | {how} | {len(of)} | {early} | {within} | {told} |")
    return "\n".join(lines)


def page(results: Sequence[Result], seed: int) -> str:
    """Make docs/faults.md."""
    seconds = sum(result.seconds for result in results)
    records, looks = (sum(getattr(result, name) for result in results) for name in ("records", "looks"))
    wrong = Counter(f"{result.fault} {result.nth}: {told}" for result in results for told in result.wrong)
    last = max((result.began_at for result in results), default=datetime.now(UTC).isoformat())[:10]
    commits = ", ".join(sorted({result.commit for result in results}))
    return PAGE.format(
        table=table(results),
        places=places(results),
        wrong="\n".join(f"- {told}" for told in wrong) or "Nothing.",
        about=f"Seed {seed}, {machine()}, {last}, commit {commits}, {seconds / 60:.0f} minutes of runs.",
        read=f"{records:,} records published under steady kills; {looks:,} looks of the reader beside them.",
    )


def _row(group: str, results: Sequence[Result]) -> tuple[str, ...]:
    n = sum(result.n for result in results)
    kinds = Counter(kind_of(told) for result in results for told in result.wrong)
    failed = sum(bool(result.wrong) for result in results)
    return group, str(n), *(str(kinds[kind]) for kind in (LOST, DOUBLED, TOTALS, OTHER)), bound(n, failed)


PAGE = """# What survives which fault

Generated by `make faults`: do not edit. {about}

{table}

n counts the faults, not the runs: a run of kills does several to one warehouse. The columns count what an
oracle found wrong: lines lost, lines doubled, totals that differ, anything else (a job that does not come
back, a table that a second reader cannot open, half of a batch seen by the reader beside). Without a failure
in n faults the share of faults that would do harm is below 3/n with 95 % confidence (rule of three).

## How it is found
- A ledger has a line for each record that a broker acknowledged: each is in bronze once, byte for byte,
  and nothing else is.
- In silver each line of bronze is kept, quarantined or skipped, and exactly one of them.
- Every row of bronze, silver and gold equals that of a twin, which read the same topics undisturbed.
- delta-rs audits the logs that the jobs wrote: no version is missing, each batch is committed once, each file
  there and whole.
- A reader beside polls all tables: no count shrinks, and what it sees ends where a batch of Spark's log does.

Each of these was shown to catch a fault planted on purpose (`tests/faults/test_oracles.py`,
`tests/faults/test_poller.py`).

## Where the kills hit
{places}

{read}

## What was wrong
{wrong}
"""
