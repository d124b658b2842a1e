"""What nemeses found: a line of docs/nemesis.jsonl for each run, and a section of docs/faults.md."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

from benchmarks.faults import results
from benchmarks.faults.nemesis.round import FaultRecord, RoundOutcome
from benchmarks.faults.page import NEMESIS
from benchmarks.pages import render
from conf.settings import PROJECT

KINDS_OF_WRONG = (results.LOST, results.DOUBLED, results.TOTALS, results.OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class NemesisRun:
    """A whole run; `kinds` has the seconds of each fault, `ends` how often a job ended with a code."""

    seed: int
    commit: str
    began_at: str
    machine: str
    for_s: float
    rounds: int
    together: int
    kinds: dict[str, list[float]]
    ends: dict[str, int]
    records: int
    wrong: list[str]

    @property
    def n(self) -> int:
        """Return the number of faults."""
        return sum(map(len, self.kinds.values()))

    @property
    def summary(self) -> str:
        """Return the faults and their kinds in a line."""
        kinds = ", ".join(f"{kind} {len(seconds)}" for kind, seconds in sorted(self.kinds.items()))
        return f"{self.n} faults ({kinds}), {self.together} together with others, {self.rounds} rounds"


def run_of(
    outcomes: Sequence[RoundOutcome], wrong: Sequence[str], *, seed: int, began_at: datetime, for_s: float
) -> NemesisRun:
    """Add up the rounds of a run."""
    kinds, ends = defaultdict[str, list[float]](list), Counter[str]()
    for outcome in outcomes:
        ends.update(outcome.ends)
        for fault in outcome.faults:
            kinds[fault.kind].append(round(fault.ended_s - fault.began_s, 1))
    return NemesisRun(
        seed=seed,
        commit=results.commit(),
        began_at=began_at.isoformat(timespec="seconds"),
        machine=results.machine(),
        for_s=for_s,
        rounds=len(outcomes),
        together=sum(together(outcome.faults) for outcome in outcomes),
        kinds=dict(kinds),
        ends=dict(sorted(ends.items())),
        records=sum(outcome.records for outcome in outcomes),
        wrong=[
            finding.replace(str(PROJECT), "PROJECT")
            for finding in (*(one for outcome in outcomes for one in outcome.wrong), *wrong)
        ],
    )


def together(faults: Sequence[FaultRecord]) -> int:
    """Return how many faults of a round were there while another one was."""
    return sum(
        any(
            other is not fault and other.began_s <= fault.ended_s and fault.began_s <= other.ended_s
            for other in faults
        )
        for fault in faults
    )


def add(file: Path, run: NemesisRun) -> list[NemesisRun]:
    """Append a run to the file of all; return all runs, this one last."""
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(run)) + "\n")
    return [NemesisRun(**json.loads(line)) for line in file.read_text().splitlines()]


def section(runs: Sequence[NemesisRun]) -> str:
    """Return the section of docs/faults.md: a row for each run, and the faults of all by kind."""
    kinds, ends = defaultdict[str, list[float]](list), Counter[str]()
    for run in runs:
        ends.update(run.ends)
        for kind, seconds in run.kinds.items():
            kinds[kind] += seconds
    return render(
        NEMESIS,
        runs="\n".join(_row(run) for run in runs),
        kinds="\n".join(
            f"| {kind} | {len(seconds)} | {median(seconds):.1f} | {max(seconds):.1f} |"
            for kind, seconds in sorted(kinds.items())
        ),
        ends=", ".join(f"{end}: {n}" for end, n in sorted(ends.items())),
        wrong="\n".join(
            f"- seed {run.seed}, commit {run.commit}: {text}" for run in runs for text in run.wrong
        ),
        bound=results.bound(sum(run.rounds for run in runs), sum(bool(run.wrong) for run in runs)),
    )


def _row(run: NemesisRun) -> str:
    kinds = Counter(results.kind_of(finding) for finding in run.wrong)
    cells = (
        run.began_at[:10],
        run.commit,
        run.seed,
        f"{run.for_s / 60:.0f}",
        run.rounds,
        run.n,
        run.together,
        f"{run.records:,}",
        *(kinds[kind] for kind in KINDS_OF_WRONG),
    )
    return f"| {' | '.join(map(str, cells))} |"
