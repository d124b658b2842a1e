"""`python -m benchmarks.verdicts`: draw runs, judge them, count the errors, write docs/verdicts.md."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar
from zlib import crc32

import typer

from benchmarks import pages
from benchmarks.verdicts import page
from benchmarks.verdicts.noise import NOISES
from benchmarks.verdicts.recorded import experiments_in, judged_live, resampled, runs_in, values_of
from benchmarks.verdicts.simulate import (
    Rate,
    changes,
    counted,
    drawn,
    of_averages,
    of_families,
    of_one_run,
    rate,
)
from conf.settings import PROJECT
from verdicts.runs import RunFigures
from verdicts.verdict import Verdict

PAGE = PROJECT / "docs" / "verdicts.md"
SIZES = range(3, 21)
BLOCKS = (False, True)
SPREADS = (0.05, 0.1, 0.2)
RUNS, FACTOR, SPREAD, CLOSE, AT_TOLERANCE = 8, 0.8, 0.1, 0.02, 1.05
SEED = 20261123
RECORDED = "recorded"
"""The section of the page that needs recorded runs; without them it stays as it is."""

T = TypeVar("T")


def main(
    *,
    n: Annotated[int, typer.Option(min=20, help="Comparisons a cell.")] = 800,
    processes: Annotated[int, typer.Option(min=1)] = 2,
    runs: Annotated[
        Path | None,
        typer.Option(help="What `plumbline experiment` kept: judged, its noise too."),
    ] = None,
    target: Annotated[Path, typer.Option(help="Page to write.")] = PAGE,
) -> None:
    """
    Count how often verdicts are wrong on drawn runs; a few minutes.

    Exit code 0 when the aims are met, 1 otherwise; the page is written in both cases.

    Example: `python -m benchmarks.verdicts --runs .state/experiments`
    """
    started = time.monotonic()
    with ProcessPoolExecutor(processes) as pool:
        null = _over(
            pool, partial(_null, n), [(x, b, size) for x in NOISES for b in BLOCKS for size in SIZES]
        )
        missed = _over(
            pool, partial(_missed, n), [(x, b, s) for x in NOISES for b in BLOCKS for s in SPREADS]
        )
        same = _over(
            pool, partial(_same, n), [(x, b, size) for x in NOISES for b in BLOCKS for size in (8, 20)]
        )
    false_text, is_right = page.false_changes(null)
    same_text, is_apart = page.false_equivalents(same, CLOSE)
    families = {size: of_families(n // 2, size, 8, SEED) for size in (4, 8, 20)}
    averages = {noise: of_averages(n, noise, SPREAD, SEED) for noise in NOISES}
    one_run = of_one_run(n // 2, 60, SPREAD, SEED)
    text = page.HEAD + false_text + page.missed_changes(missed, RUNS) + same_text
    text += page.others(families, averages, one_run)
    pages.write(target, {RECORDED: _of_recorded(runs, n)}, head=text)
    print(f"{text}\n{time.monotonic() - started:.0f} s")
    raise typer.Exit(0 if is_right and is_apart else 1)


def _of_recorded(runs: Path | None, n: int) -> str:
    """Return the section of recorded runs; nothing without them."""
    if runs is None:
        return ""
    experiments, recorded = experiments_in(runs), runs_in(runs)
    null_names = {experiment.name for experiment in experiments if experiment.is_null}
    of_null = [run for run in recorded if run.scenario in null_names]
    return page.live(judged_live(experiments, recorded)) + page.recorded(_recorded(of_null, n), RUNS)


def _null(n: int, cell: page.Cell) -> Rate:
    noise, is_blocked, size = cell
    draw = drawn(noise, size, is_blocked=is_blocked, spread=SPREAD, factor=1.0)
    return changes(counted(draw, n, _seed("null", cell)))


def _missed(n: int, cell: tuple[str, bool, float]) -> Rate:
    noise, is_blocked, spread = cell
    draw = drawn(noise, RUNS, is_blocked=is_blocked, spread=spread, factor=FACTOR)
    seen = rate(counted(draw, n, _seed("missed", cell)), Verdict.IMPROVED)
    return Rate(hits=seen.n - seen.hits, n=seen.n)


def _same(n: int, cell: page.Cell) -> Rate:
    noise, is_blocked, size = cell
    draw = drawn(noise, size, is_blocked=is_blocked, spread=CLOSE, factor=AT_TOLERANCE)
    return rate(counted(draw, n, _seed("same", cell)), Verdict.EQUIVALENT)


def _recorded(runs: Sequence[RunFigures], n: int) -> list[tuple[str, int, Rate, Rate]]:
    found = []
    for name, values in values_of(runs).items():
        if len(values) < 2 * RUNS:
            continue
        false = changes(counted(resampled(values, RUNS, factor=1.0), n, SEED))
        seen = rate(counted(resampled(values, RUNS, factor=FACTOR), n, SEED), Verdict.IMPROVED)
        found.append((name, len(values), false, Rate(hits=seen.n - seen.hits, n=seen.n)))
    return found


def _seed(*of: object) -> int:
    """Return the seed of a cell, the same each time."""
    return SEED + crc32(repr(of).encode())


def _over(pool: ProcessPoolExecutor, work: Callable[[T], Rate], cells: Iterable[T]) -> dict[T, Rate]:
    every = list(cells)
    return dict(zip(every, pool.map(work, every, chunksize=4), strict=True))


if __name__ == "__main__":
    typer.run(main)
