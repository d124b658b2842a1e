"""
`python -m benchmarks.pipeline.against CHECKOUT`: ingest and gold of this tree against those of another one.

For the costs of a million lines the trees take turns on one broker; each reads the lines as its own collector
publishes them. For a quiet cluster both run at the same time on the same records.
"""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from benchmarks import pages
from benchmarks.pipeline import machine, of_checkout, programs
from benchmarks.pipeline.arms import lateness, lines, quiet, quiet_lines
from benchmarks.pipeline.arms.costs import CONSUMER, GOLD, INGEST
from benchmarks.pipeline.arms.scale import FULL, Scale
from benchmarks.pipeline.intervals import Estimate, mean, ratio, rounds_by_arm
from benchmarks.pipeline.page import PAGE
from benchmarks.pipeline.targets import shown
from conf.names import Kind
from conf.settings import PROJECT
from lab import cluster
from lab.layout import Lab

THIS, OTHER = "this", "other"
COSTS, QUIET = "against", "against-quiet"
"""The parts, each a section of the page."""

Cost = dict[str, Any]
"""Round, arm, `cpu_s_per_million` and `wall_s`; with the name of the tree, if it is added."""

RoundOf = Callable[[int], list[Cost]]


def main(  # noqa: PLR0913 (the switches of a benchmark, each by name)
    checkout: Annotated[Path, typer.Argument(help="Another checkout, with .venv and .jars.")],
    *,
    n: Annotated[int, typer.Option("--n", help="Lines of a topic.")] = FULL.lines,
    rounds: Annotated[int, typer.Option(min=2, help="Measured rounds, after one warm-up round.")] = 8,
    with_quiet: Annotated[
        bool, typer.Option("--quiet", help="Compare on a quiet cluster instead, at the same time.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="Measured seconds of the quiet cluster.")] = FULL.quiet_s,
    state: Annotated[Path, typer.Option(help="The lab and the warehouses.")] = PROJECT / ".state" / "against",
    page: Annotated[bool, typer.Option(help="Write the section of docs/performance.md.")] = True,
) -> None:
    """
    Compare the costs of ingest and gold with those of another checkout, in turns: up to two minutes a round.

    Example: `git worktree add ../before HEAD~9 && make -C ../before setup`, then
    `python -m benchmarks.pipeline.against ../before`, and the same with `--quiet` (a quarter of an hour)
    """
    trees = {THIS: PROJECT, OTHER: checkout.resolve()}
    if not (trees[OTHER] / programs.PYTHON).exists():
        message = f"{checkout} has no {programs.PYTHON}: run `make -C {checkout} setup`"
        raise typer.BadParameter(message)
    meta, commit = machine.described(is_short=False), machine.tree(trees[OTHER])
    if with_quiet:
        scale = dataclasses.replace(FULL, quiet_s=seconds, quiet_settle_s=min(FULL.quiet_settle_s, seconds))
        text = quiet_section(measured_quiet(trees, state.resolve(), scale), scale, commit)
    else:
        text = section(list(measured(trees, state.resolve(), n, rounds)), n, commit)
    print(text)
    if page:
        pages.write(PAGE, {QUIET if with_quiet else COSTS: f"{text}\n\n{machine.measured_on(meta)}"})


def measured(trees: Mapping[str, Path], state: Path, n: int, rounds: int) -> Iterator[Cost]:
    """Run each round in every tree, in turns; yield the cost of each arm with the name of its tree."""
    shutil.rmtree(state / "runs", ignore_errors=True)
    logs = lines.record(state)
    lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        with ExitStack() as stack:
            started = {
                name: stack.enter_context(_measuring(tree, lab, logs, state / "runs" / name, n))
                for name, tree in trees.items()
            }
            turns = (
                (number, name)
                for number in range(rounds + 1)
                for name in (list(started) if number % 2 else reversed(started))
            )
            for number, name in turns:
                for cost in started[name](number):
                    print(json.dumps({"tree": name} | cost), file=sys.stderr, flush=True)
                    yield {"tree": name} | cost
    finally:
        cluster.stop(state / "lab")


def section(rows: Sequence[Cost], n: int, commit: str) -> str:
    """Return the section of the page: the costs of both trees, and the ratios within a round."""
    figures = {"cpu_s_per_million": "CPU-s", "wall_s": "wall s"}
    return pages.render(
        "performance/against",
        n=n,
        commit=commit,
        rounds=max(row["round"] for row in rows),
        rows=[
            (f"{arm}, {unit}", *_compared(rows, arm, figure))
            for figure, unit in figures.items()
            for arm in (INGEST, GOLD, CONSUMER)
        ],
    )


def _compared(rows: Sequence[Cost], arm: str, figure: str) -> tuple[str, str, str]:
    this, other = (
        rounds_by_arm((row for row in rows if row["tree"] == name), figure)[arm] for name in (THIS, OTHER)
    )
    return shown(mean(this), 1), shown(mean(other), 1), shown(ratio(this, other), 3)


def measured_quiet(trees: Mapping[str, Path], state: Path, scale: Scale) -> dict[str, dict[str, Any]]:
    """Run the programs of all trees at the same time on a quiet cluster; return the figures of each tree."""
    recorded = quiet_lines.record(state, scale)
    lab = cluster.start(state / "lab", brokers=1, request_log=False, client_log=False, fresh=True)
    try:
        topics = lines.Topics(lab, f"{QUIET}.", tuple(Kind))
        shutil.rmtree(state / QUIET, ignore_errors=True)
        confs = {
            name: (tree, programs.settings_file(lab, topics.prefix, state / QUIET / name))
            for name, tree in trees.items()
        }
        figures = quiet.watch_trees(lab, confs, scale, recorded)
    finally:
        cluster.stop(state / "lab")
    print(json.dumps(figures), file=sys.stderr, flush=True)
    return figures


def quiet_section(figures: Mapping[str, Mapping[str, Any]], scale: Scale, commit: str) -> str:
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


@contextmanager
def _measuring(tree: Path, lab: Lab, logs: Path, folder: Path, n: int) -> Iterator[RoundOf]:
    """Start a process that measures a tree; yield what runs a round in it."""
    conf = programs.settings_file(lab, f"{folder.name}.", folder)
    with psutil.Popen(
        [str(tree / programs.PYTHON), "-P", of_checkout.__file__, *map(str, (lab.state, logs, conf, n))],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:

        def answer() -> Any:  # noqa: ANN401 (JSON)
            if line := process.stdout.readline():
                return json.loads(line)
            message = f"the process that measures {tree} has ended with {process.wait()}"
            raise RuntimeError(message)

        def run_round(number: int) -> list[Cost]:
            print(number, file=process.stdin, flush=True)
            costs: list[Cost] = answer()
            return costs

        answer()
        yield run_round


if __name__ == "__main__":
    typer.run(main)
