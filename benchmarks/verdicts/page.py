"""docs/verdicts.md: how often drawn runs are judged wrongly, and how often nothing is seen."""

from collections.abc import Mapping, Sequence

from benchmarks.clients.page import verdict
from benchmarks.verdicts.recorded import METRIC, Live
from benchmarks.verdicts.simulate import RULE, Rate
from reports.answers import NONE
from verdicts.verdict import Verdict

HEAD = """# Verdicts on runs whose truth is known

Made by `python -m benchmarks.verdicts` (seeded: the same figures each time). Runs are drawn, judged by the code of
`plumbline compare`, and counted. How verdicts are made: [comparison.md](comparison.md).

"""

CHANGES = (Verdict.IMPROVED, Verdict.REGRESSED)
JOINT = 0.05
"""So often one of all cells may lie above its aim by chance, where all are right."""

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
            Rate(said=sum(cell.said for cell in of.values()), of=sum(cell.of for cell in of.values()))
        )
        worst_of = f"{100 * low:.1f} to {100 * high:.1f} ({worst})"
        rows.append(
            f"| {noise}, {'blocks' if is_blocked else 'no blocks'} | {shares} | {worst_of} | {pooled} |"
        )
    above = [cell for cell, of in cells.items() if of.interval(1 - JOINT / len(cells))[0] > RULE.alpha]
    each = next(iter(cells.values())).of
    text = (
        "## Same arms called different\n\n"
        f"Two same arms, {each:,} comparisons a cell: per cent called improved or regressed. At most "
        f"{RULE.alpha:.0%} may be. Behind the cells: the 95 % interval of the worst one (Clopper and "
        f"Pearson) with its number of runs, and all of a row together. A cell counts as above the aim where an interval that holds for all {len(cells)} together "
        "lies above it. Below 4 runs of each, or 6 blocks, no order of the runs is rare enough: 0.\n\n"
        f"| noise | {' | '.join(map(str, sizes))} | worst | all |\n| --- | {' | '.join('---' for _ in sizes)} | --- | --- |\n"
        + "\n".join(rows)
        + "\n\nNormal; Student's t of 2 degrees; one run in four in a slow state; a rise of five spreads from the first "
        "run to the last. Runs are made interleaved: in blocks one of each arm, else in any order.\n\n"
    )
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
    return (
        f"\n## A change of 20 % that is not seen\n\n"
        f"The contender takes 20 % less, {runs} runs of each: per cent *not* called improved, with the 95 % interval. The "
        "columns are the spread of a run, as a share.\n\n"
        f"| noise | {' | '.join(f'{spread:.0%}' for spread in spreads)} |\n| --- | {' | '.join('---' for _ in spreads)} |\n"
        + "\n".join(rows)
        + "\n"
    )


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
    text = (
        "\n## Different arms called equivalent\n\n"
        f"The contender is off by the tolerance itself ({RULE.tolerance:.0%}), runs scatter by {spread:.0%}: per cent "
        f"called equivalent. At most {RULE.alpha / 2:.1%} may be: one end of a 95 % interval is wrong so often. The columns "
        "are runs of each arm.\n\n"
        f"| noise | {' | '.join(map(str, sizes))} |\n| --- | {' | '.join('---' for _ in sizes)} |\n"
        + "\n".join(rows)
        + "\n\n"
    )
    missed = [f"{noise}, {runs} runs" for noise, _, runs in above]
    return text + verdict(missed), not missed


def others(families: Mapping[int, Rate], averages: Mapping[str, Rate], one_run: Rate) -> str:
    """Tell of many metrics together, of averages of three runs, and of one run of each."""
    of_families = "; ".join(f"{runs} runs of each: {_rate(of)} %" for runs, of in families.items())
    of_averages = "; ".join(f"{noise}: {_rate(of)} %" for noise, of in averages.items())
    return (
        "\n## What else was counted\n\n"
        "Same arms by eight metrics that share nine tenths of their scatter, any of them called different: "
        f"{of_families}.\n\n"
        f"Same arms whose *averages of three runs* differ by more than {RULE.tolerance:.0%}, runs scattering by 10 %: "
        f"{of_averages}. That is the false alarm rate of the usual way.\n\n"
        "Same arms, *one run of each* of 60 windows, runs scattering by 10 %: their windows alone tell a difference in "
        f"{_rate(one_run)} % of the comparisons. It is one: between two runs, not between two arms. So such a verdict is "
        "labelled within-run only and ends as inconclusive.\n"
    )


def live(told: Sequence[Live]) -> str:
    """Lay out what was said of real experiments, and how many of same arms were called different."""
    if not told:
        return ""
    rows = [
        f"| {of.experiment.name} | {of.experiment.contender} against {of.experiment.baseline} | {of.blocks} "
        f"| {_percent(of.of.change)} | {_percent(of.of.low)} to {_percent(of.of.high)} | {of.of.verdict.value} |"
        for of in told
    ]
    null = [of for of in told if of.experiment.is_null]
    different = Rate(said=sum(of.of.verdict in CHANGES for of in null), of=len(null))
    said = (
        f"Of {len(null)} experiments whose arms are the same but for their names {different.said} were called different: "
        f"{_rate(different)} % at a level of {RULE.alpha:.0%}.\n"
        if null
        else ""
    )
    return (
        "\n## Real experiments in the lab\n\n"
        f"Runs that `plumbline experiment` made on real brokers, judged by `plumbline compare --metric {METRIC}`: one run of "
        "each arm a block, in a drawn order; ranks are permuted within the blocks.\n\n"
        "| experiment | arms | blocks | change | 95 % interval | verdict |\n| --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + f"\n\n{said}"
    )


def recorded(found: Sequence[tuple[str, int, Rate, Rate]], runs: int) -> str:
    """Lay out the same under the noise of recorded runs."""
    if not found:
        return f"\n## Recorded noise\n\nFewer than {2 * runs} runs of same arms with a metric above zero: nothing was drawn.\n"
    rows = [f"| {metric} | {of} | {_rate(false)} | {_rate(missed)} |" for metric, of, false, missed in found]
    return (
        "\n## Under the noise of recorded runs\n\n"
        f"The runs of those same arms, parted into two arms of {runs} by chance: per cent called different, and per cent of "
        "changes of 20 % not seen.\n\n"
        "| metric | runs | same, called different | 20 % not seen |\n| --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n"
    )


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:+.1f} %"


def _rate(of: Rate) -> str:
    low, high = of.interval()
    return f"{100 * of.share:.1f} ({100 * low:.1f} to {100 * high:.1f})"
