"""The part of docs/truth.md about partitioners: what the lab did, what was reported, whether they agree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.clients.judge_skew import Skew, above_all, in_order, named
from benchmarks.pages import render
from benchmarks.truth.judge import share

RIGHT_SHARE, OF_FIVE = 0.7, 0.8

CALIBRATION = "2026-11-23T00:40"
"""When the recording began on which the bands that name partitioners were set."""


def skew_section(runs: Sequence[Skew], since: str) -> tuple[str, list[str]]:
    """Return what each arm sent to the slow broker, which partitioner was named, and which aims are missed."""
    is_calibration = since.startswith(CALIBRATION)
    arms: dict[tuple[str, float], list[Skew]] = defaultdict(list)
    for run in runs:
        arms[run.arm, run.records_per_s].append(run)
    lines = []
    for (arm, rate), of in arms.items():
        ratios = sorted(run.slow_ratio for run in of)
        right = sum(run.named_partitioner == run.partitioner for run in of)
        wrong = sum(run.named_partitioner not in (None, run.partitioner) for run in of)
        lines.append(
            f"| {arm} | {rate:,.0f} | {_achieved(of)} | {len(of)} | {median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} | "
            f"{median(run.repeat_ratio or 0 for run in of):.2f} | {median(run.stay_ratio or 0 for run in of):.2f} | "
            f"{of[0].partitioner or 'none: keys'} | {right} | "
            f"{len(of) - right - wrong} | {wrong} |"
        )
    order = in_order(runs)
    rates = sorted({rate for _, rate in order})
    held = {rate: [pair for (_, of), pair in order.items() if of == rate] for rate in rates}
    right, wrong, n = named(runs)
    low, high = share(right, n)
    text = render(
        "clients/skew",
        since=since[:16],
        rows=lines,
        order=[
            (rate, len(of), sum(pair[0] for pair in of), sum(pair[1] for pair in of), above_all(runs, rate))
            for rate, of in held.items()
        ],
        right=right,
        wrong=wrong,
        n=n,
        low=low,
        high=high,
        fewest=_fewest(runs),
        is_calibration=is_calibration,
    )
    missed = [*_missed_in_order(held), *([] if is_calibration else _missed_names(right, wrong, n))]
    return text, missed


def _missed_in_order(held: Mapping[float, Sequence[tuple[bool, bool]]]) -> list[str]:
    """Return the missed aims about the order of shares, by rate."""
    aims = ("sticky sends the slow broker 3 times the others' share", "sticky > uniform > adaptive")
    return [
        f"{aim} in {OF_FIVE:.0%} of the rounds at {rate:,.0f} records/s: {sum(pair[at] for pair in of)} of {len(of)}"
        for rate, of in held.items()
        for at, aim in enumerate(aims)
        if sum(pair[at] for pair in of) < OF_FIVE * len(of)
    ]


def _missed_names(right: int, wrong: int, n: int) -> list[str]:
    aims = {
        f"{RIGHT_SHARE:.0%} of the runs named right: {right} of {n}": right >= RIGHT_SHARE * n,
        f"none named wrongly: {wrong}": not wrong,
    }
    return [aim for aim, is_met in aims.items() if not is_met]


def _achieved(runs: Sequence[Skew]) -> str:
    known = [run.achieved_per_s for run in runs if run.achieved_per_s is not None]
    return f"{median(known):,.0f}" if known else ""


def _fewest(runs: Sequence[Skew]) -> str:
    """Return the partitioner and the rate of which the smallest share was named right."""
    cells: dict[tuple[str, float], list[bool]] = defaultdict(list)
    for run in runs:
        if run.partitioner is not None:
            cells[run.partitioner, run.records_per_s].append(run.named_partitioner == run.partitioner)
    (partitioner, rate), right = min(cells.items(), key=lambda cell: sum(cell[1]) / len(cell[1]))
    low, high = share(sum(right), len(right))
    return f"{partitioner} at {rate:,.0f} records/s, {sum(right)} of {len(right)} ({low:.0%} to {high:.0%})"
