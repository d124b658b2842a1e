"""
`python -m benchmarks.pipeline.against_quiet CHECKOUT`: this tree against another one on a quiet cluster.

The programs of both trees run at the same time on the same records, so a slow minute is slow for both.
"""

import dataclasses
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import pages
from benchmarks.pipeline import machine, programs
from benchmarks.pipeline.against import OTHER, THIS, trees_with
from benchmarks.pipeline.arms import lateness, lines, quiet, quiet_lines
from benchmarks.pipeline.arms.scale import FULL, Scale
from benchmarks.pipeline.intervals import Estimate, mean, ratio
from benchmarks.pipeline.page import PAGE
from benchmarks.pipeline.targets import shown
from conf.names import Kind
from conf.settings import PROJECT
from lab import cluster

SECTION = "against-quiet"


def main(
    checkout: Annotated[Path, typer.Argument(help="Another checkout, with .venv and .jars.")],
    *,
    seconds: Annotated[float, typer.Option(help="Measured seconds.")] = FULL.quiet_s,
    state: Annotated[Path, typer.Option(help="The lab and the warehouses.")] = PROJECT / ".state" / "against",
    page: Annotated[bool, typer.Option(help="Write the section of docs/performance.md.")] = True,
) -> None:
    """
    Compare cores, memory and the age of lines with those of another checkout: a quarter of an hour.

    Example: `git worktree add ../before HEAD~9 && make -C ../before setup`, then
    `python -m benchmarks.pipeline.against_quiet ../before`
    """
    trees, meta = trees_with(checkout), machine.described(is_short=False)
    commit = machine.tree(trees[OTHER])
    scale = dataclasses.replace(FULL, quiet_s=seconds, quiet_settle_s=min(FULL.quiet_settle_s, seconds))
    text = section(measured(trees, state.resolve(), scale), scale, commit)
    print(text)
    if page:
        pages.write(PAGE, {SECTION: f"{text}\n\n{machine.measured_on(meta)}"})


def measured(trees: Mapping[str, Path], state: Path, scale: Scale) -> dict[str, dict[str, Any]]:
    """Run the programs of all trees at the same time on a quiet cluster; return the figures of each tree."""
    recorded = quiet_lines.record(state, scale)
    lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        topics = lines.Topics(lab, f"{SECTION}.", tuple(Kind))
        shutil.rmtree(state / SECTION, ignore_errors=True)
        confs = {
            name: (tree, programs.settings_file(lab, topics.prefix, state / SECTION / name))
            for name, tree in trees.items()
        }
        figures = quiet.watch_trees(lab, confs, scale, recorded)
    finally:
        cluster.stop(state / "lab")
    print(json.dumps(figures), file=sys.stderr, flush=True)
    return figures


def section(figures: Mapping[str, Mapping[str, Any]], scale: Scale, commit: str) -> str:
    """Return the section of a quiet cluster: cores, memory and age of both trees, and their ratios."""
    used = figures[THIS]["usage"]  # of the programs of all trees
    rows, blocks = list[tuple[str, ...]](), 0
    for program in (programs.INGEST, programs.GOLD):
        of_trees = [used[f"{program} of {name}"] for name in (THIS, OTHER)]
        cores = [dict(enumerate(of["cores_of_blocks"])) for of in of_trees]
        blocks = len(cores[0])
        peaks = [Estimate(of["peak_gb"]) for of in of_trees]
        rows += [
            (f"{program}, cores", *(shown(mean(of), 3) for of in cores), shown(ratio(*cores), 3)),
            _without_interval(f"{program}, peak memory, GB", peaks),
        ]
    rows += [
        _without_interval(
            f"{layer}, {figure[:3]} s", [Estimate(*figures[name][layer][figure]) for name in (THIS, OTHER)]
        )
        for layer in (lateness.SILVER, lateness.GOLD, lateness.VERDICT)
        for figure in ("p50_s", "p99_s")
    ]
    return pages.render(
        "performance/against-quiet", commit=commit, seconds=scale.quiet_s, rows=rows, blocks=blocks
    )


def _without_interval(name: str, of_trees: Sequence[Estimate]) -> tuple[str, ...]:
    """Return a row whose ratio has no interval."""
    this, other = of_trees
    return name, shown(this, 2), shown(other, 2), f"{this.value / other.value:.3f}"


if __name__ == "__main__":
    typer.run(main)
