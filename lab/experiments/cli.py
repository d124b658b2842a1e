"""`plumbline experiment`: arms of a producer performance test, again and again, in an order drawn by seed."""

import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

import typer

from collectors.screen import Screen
from lab import cluster
from lab.clients.producer import NODE
from lab.errors import LabError
from lab.experiments.errors import ExperimentError, Stopped, WrongError
from lab.experiments.kept import Folder, alone
from lab.experiments.known import check_known
from lab.experiments.one_run import stoppable
from lab.experiments.place import OfCluster, OfLab, Place, check_topic
from lab.experiments.plan import Plan, frozen, refuse_another, with_versions
from lab.experiments.runner import Runner
from lab.experiments.spec import Experiment, read
from lab.layout import DEFAULT_STATE

KEEP = Path(".state/experiments")
EXIT_FAILED, EXIT_WRONG, EXIT_SIGNAL = 1, 2, 128


def experiment(  # noqa: PLR0913 (the options of a command)
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What is compared: docs/experiments.md.")],
    *,
    state: Annotated[
        Path | None, typer.Option(help=f"Folder of a lab that runs; {DEFAULT_STATE} unless told.")
    ] = None,
    start: Annotated[bool, typer.Option("--start", help="Start that lab if it does not run.")] = False,
    bootstrap_server: Annotated[
        str | None, typer.Option(help="HOST:PORT,... of a cluster of yours: the load goes there.")
    ] = None,
    properties: Annotated[
        Path | None,
        typer.Option(help="Java properties for that cluster: TLS, SASL.", exists=True, dir_okay=False),
    ] = None,
    keep: Annotated[Path | None, typer.Option(help=f"Folder for the runs; {KEEP}/NAME unless told.")] = None,
) -> None:
    """
    Run the arms of an experiment in blocks, each arm once in each, and keep every run as a performance test.

    Give the same command again to go on: finished runs are not repeated, one that was cut off is set aside.
    The configuration is frozen with the first run; a file that has changed since is refused, but for more
    `repeats`.

    Exit codes: 0 all runs are finished; 1 a run failed twice, or the place of the runs does not answer;
    2 the file or an option is wrong, or not what was frozen; 130 Ctrl-C, 143 SIGTERM: the run that was cut
    off is set aside.

    Example: `plumbline experiment conf/experiments/null.toml --start`

    Example: `plumbline experiment conf/experiments/adaptive.toml --state .state/lab --keep may`

    Example: `plumbline experiment mine.toml --bootstrap-server kafka1:9092 --properties client.properties`
    """
    again = "the same command goes on from here"
    try:
        with stoppable():
            _experiment(file, keep, _Where(state, bootstrap_server, properties, is_started=start))
    except WrongError as error:
        _end(f"experiment: {error}", EXIT_WRONG)
    except (ExperimentError, LabError, OSError, subprocess.TimeoutExpired) as error:
        _end(f"experiment: {error}", EXIT_FAILED)
    except Stopped as error:
        _end(f"stopped by {signal.Signals(error.number).name}; {again}", EXIT_SIGNAL + error.number)


@dataclass(frozen=True, slots=True)
class _Where:
    state: Path | None
    servers: str | None
    properties: Path | None
    _: KW_ONLY
    is_started: bool

    def check(self, told: Experiment, file: Path) -> None:
        message = None
        if self.servers and (self.state or self.is_started):
            message = "give either --bootstrap-server, or --state and --start for a lab"
        elif self.properties and not self.servers:
            message = "--properties is for a cluster: give --bootstrap-server too"
        elif self.servers and told.lab:
            message = f"{file}: [lab] cannot be done to a cluster of yours: leave out one of the two"
        if message:
            raise WrongError(message)


def _experiment(file: Path, keep: Path | None, where: _Where) -> None:
    told = read(file)
    where.check(told, file)
    told = with_versions(told, file)
    folder = Folder(keep or KEEP / told.name)
    with folder.alone():
        if folder.frozen.exists():
            refuse_another(folder, told, None, file)
        else:
            check_known(told.arms, file)
        with _place(told, file, where) as place:
            check_topic(place, told.load.topic, file)
            plan = frozen(folder, told, place.told, file)
            _say_plan(plan, folder)
            with Screen() as screen:
                Runner(plan, place, folder, screen, socket.gethostname() if where.servers else NODE).run()
    _say_end(plan, folder)


@contextmanager
def _place(told: Experiment, file: Path, where: _Where) -> Iterator[Place]:
    if where.servers:
        yield OfCluster(where.servers, where.properties)
        return
    state = where.state or DEFAULT_STATE
    is_running = _is_running(state)
    if not (is_running or where.is_started):
        message = f"no lab runs in {state}: `plumbline lab start --state {state}`, or give --start"
        raise ExperimentError(message)
    if not is_running:  # without its logs, which take a share of the brokers' time
        cluster.start(state, request_log=False, client_log=False, say=_say)
    try:
        with alone(state / ".experiment.lock", f"another `plumbline experiment` loads the lab in {state}"):
            yield OfLab(state, told, file)
    finally:
        if not is_running:
            cluster.stop(state, say=_say)


def _is_running(state: Path) -> bool:
    try:
        return bool(cluster.status(state)["is_running"])
    except LabError:
        return False


def _say_plan(plan: Plan, folder: Folder) -> None:
    of = plan.experiment
    runs = f"{len(plan.order)} blocks of {len(of.arms)} arms"
    _say(f"{of.name}: {runs}, {of.warm_up_s:g} s of warm-up and {of.for_s:g} s each; kept in {folder.root}")


def _say_end(plan: Plan, folder: Folder) -> None:
    baseline, *contenders = [arm.name for arm in plan.experiment.arms]
    _say(f"the runs: {folder.runs}")
    for contender in contenders:
        typer.echo(f"plumbline compare {baseline} {contender} --from {shlex.quote(str(folder.root))}")


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _end(text: str, code: int) -> None:
    typer.secho(text, fg="red", err=True)
    raise typer.Exit(code) from None
