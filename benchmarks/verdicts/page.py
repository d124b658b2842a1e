"""docs/verdicts.md: how often drawn runs are judged wrongly, and how often nothing is seen."""

from collections.abc import Mapping, Sequence

from answers.formats import NONE
from benchmarks.clients.page import verdict
from benchmarks.pages import render
from benchmarks.verdicts.recorded import METRIC, Live
from benchmarks.verdicts.simulate import RULE, Rate
from verdicts.verdict import Verdict

HEAD = render("verdicts/head")

CHANGES = (Verdict.IMPROVED, Verdict.REGRESSED)
JOINT = 0.05
"""The chance that one of all cells is above its aim although all are right."""

Cell = tuple[str, bool, int]  # noise, in blocks, runs of each arm


def false_changes(cells: Mapping[Cell, Rate]) -> tuple[str, bool]:
    """Lay out how often same arms were called improved or regressed; the second value: the aim is met."""
    sizes = sorted({runs for _, _, runs in cells})
    rows = []
    for noise, is_blocked in dict.fromkeys((noise, is_blocked) for noise, is_blocked, _ in cells):
        of = {runs: cells[noise, is_blocked, runs] for runs in sizes}
        worst = max(of, key=lambda runs: of[runs].share)
        low, high = of[worst].interval()
        shares = " | ".join(f"{100 * of[runs].share:.1f}" for runs in sizes)
        pooled = _rate(
            Rate(hits=sum(cell.hits for cell in of.values()), n=sum(cell.n for cell in of.values()))
        )
        worst_of = f"{100 * low:.1f} to {100 * high:.1f} ({worst})"
        rows.append(
            f"| {noise}, {'blocks' if is_blocked else 'no blocks'} | {shares} | {worst_of} | {pooled} |"
        )
    above = [cell for cell, of in cells.items() if of.interval(1 - JOINT / len(cells))[0] > RULE.alpha]
    figures = {"sizes": sizes, "rows": rows, "cells": len(cells), "alpha": RULE.alpha}
    text = render("verdicts/false_changes", each=next(iter(cells.values())).n, **figures)
    missed = [f"{noise}, {runs} runs, {'blocks' if b else 'no blocks'}" for noise, b, runs in above]
    return text + verdict(missed), not missed


def missed_changes(cells: Mapping[tuple[str, bool, float], Rate], runs: int) -> str:
    """Lay out how often a contender that takes 20 % less was not called improved."""
    spreads = sorted({spread for _, _, spread in cells})
    rows = [
        f"| {noise}, {'blocks' if is_blocked else 'no blocks'} | "
        + " | ".join(_rate(cells[noise, is_blocked, spread]) for spread in spreads)
        + " |"
        for noise, is_blocked in dict.fromkeys((noise, is_blocked) for noise, is_blocked, _ in cells)
    ]
    return render("verdicts/missed_changes", runs=runs, spreads=spreads, rows=rows)


def false_equivalents(cells: Mapping[tuple[str, bool, int], Rate], spread: float) -> tuple[str, bool]:
    """Lay out how often a change as large as the tolerance was called equivalent."""
    sizes = sorted({runs for _, _, runs in cells})
    rows = [
        f"| {noise}, {'blocks' if is_blocked else 'no blocks'} | "
        + " | ".join(_rate(cells[noise, is_blocked, runs]) for runs in sizes)
        + " |"
        for noise, is_blocked in dict.fromkeys((noise, is_blocked) for noise, is_blocked, _ in cells)
    ]
    above = [cell for cell, of in cells.items() if of.interval(1 - JOINT / len(cells))[0] > RULE.alpha / 2]
    figures = {"sizes": sizes, "rows": rows, "alpha": RULE.alpha, "tolerance": RULE.tolerance}
    text = render("verdicts/false_equivalents", spread=spread, **figures)
    missed = [f"{noise}, {runs} runs" for noise, _, runs in above]
    return text + verdict(missed), not missed


def others(families: Mapping[int, Rate], averages: Mapping[str, Rate], one_run: Rate) -> str:
    """Return the rates of many metrics together, of averages of three runs, and of one run of each."""
    return render(
        "verdicts/others",
        families=[f"{runs} runs of each: {_rate(of)} %" for runs, of in families.items()],
        averages=[f"{noise}: {_rate(of)} %" for noise, of in averages.items()],
        tolerance=RULE.tolerance,
        one_run=_rate(one_run),
    )


def live(experiments: Sequence[Live]) -> str:
    """Return the verdicts on real experiments, and how many of same arms were called different."""
    if not experiments:
        return ""
    rows = [
        f"| {of.experiment.name} | {of.experiment.contender} against {of.experiment.baseline} | {of.blocks} "
        f"| {_percent(of.judged.change)} | {_percent(of.judged.low)} to {_percent(of.judged.high)} | {of.judged.verdict.value} |"
        for of in experiments
    ]
    null = [of for of in experiments if of.experiment.is_null]
    different = Rate(hits=sum(of.judged.verdict in CHANGES for of in null), n=len(null))
    said = (
        f"Of {len(null)} experiments whose arms are the same but for their names {different.hits} were called different: "
        f"{_rate(different)} % at a level of {RULE.alpha:.0%}.\n"
        if null
        else ""
    )
    return render("verdicts/live", metric=METRIC, rows=rows, said=said)


def recorded(found: Sequence[tuple[str, int, Rate, Rate]], runs: int) -> str:
    """Lay out the same under the noise of recorded runs."""
    if not found:
        return f"\n## Recorded noise\n\nFewer than {2 * runs} runs of same arms with a metric above zero: nothing was drawn.\n"
    rows = [f"| {metric} | {of} | {_rate(false)} | {_rate(missed)} |" for metric, of, false, missed in found]
    return render("verdicts/recorded", runs=runs, rows=rows)


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:+.1f} %"


def _rate(of: Rate) -> str:
    low, high = of.interval()
    return f"{100 * of.share:.1f} ({100 * low:.1f} to {100 * high:.1f})"
