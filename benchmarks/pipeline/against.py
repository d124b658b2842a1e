"""
`python -m benchmarks.pipeline.against CHECKOUT`: the costs of this tree against those of another one.

The trees take turns on one broker; each reads the lines as its own collector publishes them.
`against_quiet` compares them on a quiet cluster.
"""

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
from benchmarks.pipeline.arms import lines
from benchmarks.pipeline.arms.costs import CONSUMER, GOLD, INGEST
from benchmarks.pipeline.arms.scale import FULL
from benchmarks.pipeline.intervals import mean, ratio, rounds_by_arm
from benchmarks.pipeline.page import PAGE
from benchmarks.pipeline.targets import shown
from conf.settings import PROJECT
from lab import cluster
from lab.layout import Lab

THIS, OTHER = "this", "other"
SECTION = "against"

Cost = dict[str, Any]
"""Round, arm, `cpu_s_per_million` and `wall_s`; with the name of the tree, if it is added."""

RoundOf = Callable[[int], list[Cost]]


def main(
    checkout: Annotated[Path, typer.Argument(help="Another checkout, with .venv and .jars.")],
    *,
    n: Annotated[int, typer.Option("--n", help="Lines of a topic.")] = FULL.lines,
    rounds: Annotated[int, typer.Option(min=2, help="Measured rounds, after one warm-up round.")] = 8,
    state: Annotated[Path, typer.Option(help="The lab and the warehouses.")] = PROJECT / ".state" / "against",
    page: Annotated[bool, typer.Option(help="Write the section of docs/performance.md.")] = True,
) -> None:
    """
    Compare the costs of ingest and gold with those of another checkout, in turns: up to two minutes a round.

    Example: `git worktree add ../before HEAD~9 && make -C ../before setup`, then
    `python -m benchmarks.pipeline.against ../before`
    """
    trees, meta = trees_with(checkout), machine.described(is_short=False)
    commit = machine.tree(trees[OTHER])
    text = section(list(measured(trees, state.resolve(), n, rounds)), n, commit)
    print(text)
    if page:
        pages.write(PAGE, {SECTION: f"{text}\n\n{machine.measured_on(meta)}"})


def trees_with(checkout: Path) -> dict[str, Path]:
    """
    Return the folders of this tree and of the other checkout.

    Raises:
        typer.BadParameter: the checkout has no environment.

    """
    if not (checkout / programs.PYTHON).exists():
        message = f"{checkout} has no {programs.PYTHON}: run `make -C {checkout} setup`"
        raise typer.BadParameter(message)
    return {THIS: PROJECT, OTHER: checkout.resolve()}


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
