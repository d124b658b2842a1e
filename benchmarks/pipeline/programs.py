"""The programs under test, started as an operator starts them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import psutil

from benchmarks.pipeline.measure import tree
from benchmarks.pipeline.usage import Processes
from conf.settings import PROJECT
from lab import processes
from lab.layout import Lab

INGEST, GOLD = "ingest", "build-gold"
PLUMBLINE = (sys.executable, "-m", "plumbline")
OPTIONS = {INGEST: (), GOLD: ("--follow",)}
BEFORE = {INGEST: (), GOLD: ("nice", "-n", "5")}
PYTHON = ".venv/bin/python"
STOP_S = 60


def settings_file(lab: Lab, prefix: str, folder: Path) -> Path:
    """Write settings for a warehouse in `folder` and the lab's topics with a prefix; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    conf = folder / "bench.toml"
    conf.write_text(
        f'telemetry.bootstrap_servers = "{lab.telemetry_bootstrap_servers}"\n'
        f'telemetry.topic_prefix = "{prefix}"\n'
        f'[warehouse]\nroot = "{folder / "warehouse"}"\ncheckpoints = "{folder / "checkpoints"}"\n'
    )
    return conf


@contextmanager
def running(conf: Path, *, with_gold: bool, checkout: Path = PROJECT) -> Iterator[dict[str, psutil.Popen]]:
    """Run the ingest, and with `with_gold` also `build-gold --follow`; the logs are next to `conf`."""
    plumbline = PLUMBLINE if checkout == PROJECT else (str(checkout / PYTHON), *PLUMBLINE[1:])
    variables = os.environ | {"PYTHONPATH": str(checkout)}
    names = (INGEST, GOLD) if with_gold else (INGEST,)
    started: dict[str, psutil.Popen] = {}
    try:
        for name in names:
            with (conf.parent / f"{name}.log").open("w") as log:
                command = [*BEFORE[name], *plumbline, name, *OPTIONS[name], "--conf", str(conf)]
                started[name] = psutil.Popen(
                    command, cwd=checkout, env=variables, stderr=log, stdout=subprocess.DEVNULL
                )
        yield started
    finally:
        for program in started.values():
            program.terminate()
        for program in started.values():
            program.wait(STOP_S)


@contextmanager
def worker(initializer: Callable[[], object] | None = None) -> Iterator[tuple[ProcessPoolExecutor, int]]:
    """
    Yield an executor of one process and its pid; the process ends if the benchmark fails.

    With `os.setsid` as initializer, its CPU time does not count as that of this process (`measure`).
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=initializer) as pool:
        pid = pool.submit(os.getpid).result()
        try:
            yield pool, pid
        except BaseException:
            psutil.Process(pid).terminate()
            raise


def check_running(programs: Mapping[str, psutil.Popen], conf: Path) -> None:
    """
    Check that every program still runs.

    Raises:
        RuntimeError: a program has ended; the message names its log.

    """
    for name, program in programs.items():
        if program.poll() is not None:
            message = f"{name} ended with {program.returncode}: see {conf.parent / f'{name}.log'}"
            raise RuntimeError(message)


def watched(programs: Mapping[str, psutil.Popen], lab: Lab, publisher: int) -> dict[str, Processes]:
    """Return the programs for `Usage`: those under test, and the others on the same machine."""
    of_lab = [process for record in lab.processes.values() if (process := processes.find(record))]
    me, sender = psutil.Process(), psutil.Process(publisher)
    return {
        **{name: partial(tree, psutil.Process(program.pid)) for name, program in programs.items()},
        "publisher": lambda: [sender],
        "lab": lambda: of_lab,
        "reader": lambda: [me],
    }
