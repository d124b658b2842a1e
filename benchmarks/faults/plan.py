"""What the campaign does and how often: its kills, and the faults that its modules export."""

import importlib
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from benchmarks.faults import kills, steady
from benchmarks.faults.power.cuts import COPIES, power_cuts
from benchmarks.faults.power.disk import SOURCE
from benchmarks.faults.steady import KillOutcome
from conf.settings import PROJECT

Fault = Callable[[str, Path, random.Random], list[str]]
Run = Callable[[str, Path, random.Random], KillOutcome]

MODULES = {
    "lines.properties": "drawn batches of spoiled lines",
    "lines.mutations": "a million mutated lines",
    "lines.bombs": "a gzip bomb of 1.5 GB",
    "lines.resent": "",
    "state.torn": "a torn, stale or missing file of the state",
    "gap": "retention passes the checkpoint",
    "full_disk": "",
    "state.two_drivers": "two drivers on one checkpoint",
    "edge.faults": "",
}
"""
Modules here with `FAULTS: dict[str, Fault]`, and their row of the table; "" makes one row per class.

Runs begin in this order: long ones first, so that no worker waits long for the last one; those with three
brokers last, because the brokers run until the end of the worker.
"""

EVERY_RUN = tuple(PROJECT / "benchmarks" / "faults" / name for name in ("plan.py", "worker.py"))
"""Files that every run depends on, in addition to the product and to `Entry.files`."""

TIMES = {"broker": 10, "collector": 10, "full-disk": 5}
"""Classes: runs of all faults whose names begin so, each once at least; others run `TIMES_OTHER` times."""

TIMES_OTHER, OTHER_S = 1, 90.0
ROUNDS, INGEST_KILLS, GOLD_KILLS = 5, 14, 6
POWER_ROUNDS, POWER_CUTS = 4, 3
"""Warehouses, and power cuts with a restart of each; each comes with `COPIES` that are only audited."""

SHORT_POINTS = 3

IMPORTED = re.compile(r"from ((?:tests|benchmarks)[\w.]*) import (\([^)]*\)|[\w, ]+)")
DOTTED = re.compile(r"\b(?:tests|benchmarks)(?:\.\w+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One fault of the campaign; `n` is how many faults a run of it does, `expected_s` what one takes."""

    name: str
    group: str
    run: Run
    times: int
    n: int = 1
    expected_s: float = OTHER_S
    files: tuple[Path, ...] = ()


def whole() -> list[Entry]:
    """Return the long campaign."""
    n = INGEST_KILLS + GOLD_KILLS
    own = [
        Entry(
            name="random-kills",
            group="kill -9 of ingest or gold at a random moment",
            run=_random_kills(INGEST_KILLS, GOLD_KILLS),
            times=ROUNDS,
            n=n,
            expected_s=32.0 * n,
            files=files_of("steady"),
        ),
        Entry(
            name="named-kills",
            group="kill -9 at a named point",
            run=_named_kills,
            times=ROUNDS,
            n=len(kills.NAMED),
            expected_s=45.0 * len(kills.NAMED),
            files=files_of("steady"),
        ),
        Entry(
            name="power-cuts",
            group="power cuts",
            run=partial(power_cuts, POWER_CUTS),
            times=POWER_ROUNDS,
            n=POWER_CUTS * (1 + COPIES),
            expected_s=50.0 * POWER_CUTS,
            files=(*files_of("power.cuts"), SOURCE),
        ),
    ]
    return [*own, *(entry for module, group in MODULES.items() for entry in _of_module(module, group))]


def short() -> list[Entry]:
    """Return a few kills: at named points and at random, in one stretch; another seed draws others."""
    n = len(kills.few_kills(random.Random(), of_each=SHORT_POINTS))
    return [
        Entry(
            name="short-kills",
            group="kill -9 at named points, and at random",
            run=_short_kills,
            times=1,
            n=n,
            expected_s=50.0 * n,
            files=files_of("steady"),
        )
    ]


@cache
def _by_name() -> dict[str, Entry]:
    return {entry.name: entry for entry in (*whole(), *short())}


def entry_of(name: str) -> Entry:
    """Return a fault of the campaign by its name."""
    return _by_name()[name]


def of_list(fault: Fault) -> Run:
    """Return a run, as the kills have it, of a fault that returns what is wrong."""

    def run(bootstrap_servers: str, folder: Path, dice: random.Random) -> KillOutcome:
        return KillOutcome(wrong=fault(bootstrap_servers, folder, dice))

    return run


def times_of(names: list[str]) -> dict[str, int]:
    """
    Share the runs that a class of faults gets among its faults.

    >>> times_of(["broker-killed", "broker-stopped", "broker-gone", "late-by-hours"])
    {'broker-killed': 4, 'broker-stopped': 3, 'broker-gone': 3, 'late-by-hours': 1}
    """
    times = dict.fromkeys(names, TIMES_OTHER)
    for prefix, wanted in TIMES.items():
        of_class = [name for name in names if name.startswith(prefix)]
        for nth, name in enumerate(of_class):
            times[name] = max(1, len(range(nth, wanted, len(of_class))))
    return times


def files_of(name: str) -> tuple[Path, ...]:
    """Return a module of this folder and all modules of tests that it names, directly or not."""
    found, to_read = set[Path](), {_file(f"benchmarks.faults.{name}")}
    while to_read:
        found |= to_read
        named = {module for file in to_read for module in modules_in(file.read_text())}
        to_read = {file for module in named if (file := _file(module)).exists()} - found
    return tuple(sorted(found))


def modules_in(source: str) -> set[str]:
    """
    Name what may be modules of the tests in a source: imported, or run as a program.

    >>> sorted(modules_in('from tests.jobs import a, b as c; run("-m", "benchmarks.faults.d")'))
    ['benchmarks.faults.d', 'tests.jobs', 'tests.jobs.a', 'tests.jobs.as', 'tests.jobs.b', 'tests.jobs.c']
    """
    imported = {
        f"{package}.{name}"
        for package, names in IMPORTED.findall(source)
        for name in re.findall(r"\w+", names)
    }
    return imported | set(DOTTED.findall(source))


def _of_module(name: str, group: str) -> list[Entry]:
    module = importlib.import_module(f"benchmarks.faults.{name}")
    faults: dict[str, Fault] = {fault.replace(" ", "-"): does for fault, does in module.FAULTS.items()}
    times, files = times_of(list(faults)), (*files_of(name), *getattr(module, "FILES", ()))
    return [
        Entry(name=fault, group=group or _class(fault), run=of_list(does), times=times[fault], files=files)
        for fault, does in faults.items()
    ]


def _file(module: str) -> Path:
    return PROJECT.joinpath(*module.split(".")).with_suffix(".py")


def _class(fault: str) -> str:
    return next((f"{prefix} faults" for prefix in TIMES if fault.startswith(prefix)), fault.replace("-", " "))


def _random_kills(ingest: int, gold: int) -> Run:
    def run(bootstrap_servers: str, folder: Path, dice: random.Random) -> KillOutcome:
        drawn = kills.random_kills(dice, ingest=ingest, gold=gold)
        return steady.stretch(bootstrap_servers, folder, dice, drawn)

    return run


def _named_kills(bootstrap_servers: str, folder: Path, dice: random.Random) -> KillOutcome:
    return steady.stretch(bootstrap_servers, folder, dice, kills.named_kills(dice))


def _short_kills(bootstrap_servers: str, folder: Path, dice: random.Random) -> KillOutcome:
    drawn = kills.few_kills(dice, of_each=SHORT_POINTS)
    return steady.stretch(bootstrap_servers, folder, dice, drawn)
