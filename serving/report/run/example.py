"""The example that is part of a checkout: a recording of real brokers with known faults."""

from dataclasses import replace
from datetime import datetime

import typer

from conf.exit_codes import WrongUseError
from conf.progress import Progress
from conf.settings import PROJECT
from schemas.rows import Row
from serving.report.run.making import run
from serving.report.run.options import Wanted, truth_of

EXAMPLE = PROJECT / "docs" / "example"
CLUSTER = "example"
NEXT_STEPS = (
    "Next: `plumbline report --from DIR` makes the report of your own logs (README.md says which),",
    "and `plumbline demo` starts real brokers, slows one link and finds it.",
)


def run_example(wanted: Wanted, progress: Progress) -> None:
    """
    Write the report of the example; print what was injected and what to do next.

    Raises:
        WrongUseError: there is another input as well, or the files of the example are missing.

    """
    if wanted.folder or wanted.conf:
        message = "--example has its own input: give it without --from and --conf"
        raise WrongUseError(message)
    if not (EXAMPLE / "logs").is_dir():
        message = (
            f"the example is not in {EXAMPLE}: restore it with `git checkout docs/example`, or record it "
            "with `make lab` and `python -m benchmarks.example`"
        )
        raise WrongUseError(message)
    truth = truth_of(EXAMPLE / "truth.json") or {}
    for line in introduction(truth):
        typer.echo(line)
    run(replace(wanted, folder=EXAMPLE / "logs", cluster=wanted.cluster or CLUSTER, truth=truth), progress)
    for line in NEXT_STEPS:
        typer.echo(line)


def introduction(truth: Row) -> list[str]:
    """Return the lines that say that it is a recording, and what was injected."""
    brokers = f"{len(truth['brokers'])} real brokers (Kafka {truth['kafka']})"
    return [
        f"A recording of {brokers} of {truth['injected_at'].date()}. Injected, UTC:",
        *(f"- {_clock(one['since'])} to {_clock(one['until'])}: {one['what']}" for one in truth["injected"]),
    ]


def _clock(instant: str) -> str:
    return f"{datetime.fromisoformat(instant):%H:%M:%S}"
