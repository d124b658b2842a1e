"""
What nemeses found: a line of docs/nemesis.jsonl for each run, and a section of docs/faults.md.

Figures of the section are of the runs that tested the same code as the newest one.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median

from benchmarks.faults import plan, results
from benchmarks.faults.nemesis.host import SOURCE as HOST_SOURCE
from benchmarks.faults.nemesis.round import FaultRecord, RoundOutcome
from benchmarks.faults.page import NEMESIS
from benchmarks.faults.power.disk import SOURCE as DISK_SOURCE
from benchmarks.pages import render
from conf.settings import PROJECT

NEVER_FROM = 3
"""A kind of fault that was planned so often must have happened."""

KINDS_OF_WRONG = (results.LOST, results.DOUBLED, results.TOTALS, results.OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class NemesisRun:
    """
    A whole run.

    `kinds` has the seconds of each fault, `planned` how many were drawn, `ends` how often a job ended with a
    code, and `excused` how often with a sentence that a fault explains.
    """

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
    code: str = ""  # of older runs: unknown
    planned: dict[str, int] = field(default_factory=dict)
    excused: dict[str, int] = field(default_factory=dict)
    not_in_topic: int = 0

    @property
    def n(self) -> int:
        """Return the number of faults."""
        return sum(map(len, self.kinds.values()))

    @property
    def summary(self) -> str:
        """Return the faults and their kinds in a line."""
        kinds = ", ".join(
            f"{kind} {len(self.kinds.get(kind, ()))} of {planned}"
            for kind, planned in sorted(self.planned.items())
        )
        return f"{self.n} faults ({kinds}), {self.together} together with others, {self.rounds} rounds"


def run_of(
    outcomes: Sequence[RoundOutcome], wrong: Sequence[str], *, seed: int, began_at: datetime, for_s: float
) -> NemesisRun:
    """Add up the rounds of a run."""
    kinds, ends = defaultdict[str, list[float]](list), Counter[str]()
    planned, excused = Counter[str](), Counter[str]()
    for outcome in outcomes:
        ends.update(outcome.ends)
        planned.update(outcome.planned)
        excused.update(outcome.excused)
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
            for finding in (
                *(one for outcome in outcomes for one in outcome.wrong),
                *never_happened(planned, kinds),
                *wrong,
            )
        ],
        code=code(),
        planned=dict(planned),
        excused=dict(excused),
        not_in_topic=sum(outcome.not_in_topic for outcome in outcomes),
    )


def never_happened(planned: Mapping[str, int], kinds: Mapping[str, Sequence[float]]) -> list[str]:
    """Return a finding for each kind of fault that was planned and never hit anything."""
    if not any(kinds.values()):
        return [f"none of {sum(planned.values())} planned faults hit anything"]
    return [
        f"{n} faults were planned and none hit anything: {kind}"
        for kind, n in planned.items()
        if n >= NEVER_FROM and not kinds.get(kind)
    ]


def code() -> str:
    """Return the version of the code that a nemesis tests and uses."""
    return results.code_version(*plan.files_of("nemesis.round"), HOST_SOURCE, DISK_SOURCE)


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
    """Return the section of docs/faults.md: a row for each run, and what those of the newest code did."""
    kinds, ends = defaultdict[str, list[float]](list), Counter[str]()
    planned, excused = Counter[str](), Counter[str]()
    newest = [run for run in runs if run.code == runs[-1].code]
    for run in newest:
        ends.update(run.ends)
        planned.update(run.planned)
        excused.update(run.excused)
        for kind, seconds in run.kinds.items():
            kinds[kind] += seconds
    return render(
        NEMESIS,
        runs="\n".join(_row(run) for run in runs),
        minutes=f"{sum(run.for_s for run in newest) / 60:.0f}",
        faults=sum(run.n for run in newest),
        kinds="\n".join(
            f"| {kind} | {planned[kind]} | {len(seconds)} | {median(seconds):.1f} | {max(seconds):.1f} |"
            for kind, seconds in sorted(kinds.items())
        ),
        ends=", ".join(f"{end}: {n}" for end, n in sorted(ends.items())),
        excused="\n".join(f"| {n} | {end} |" for end, n in excused.most_common()),
        not_in_topic=sum(run.not_in_topic for run in newest),
        wrong="\n".join(
            f"- seed {run.seed}, commit {run.commit}: {text}" for run in newest for text in run.wrong
        ),
        bound=results.bound(sum(run.rounds for run in newest), sum(bool(run.wrong) for run in newest)),
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
