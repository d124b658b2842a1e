"""`plumbline experiment`: repeat producer performance tests with several configurations, in random order."""

import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

import typer

from conf.exit_codes import CommandError, ExitCode, WrongUseError, exit_code_of
from conf.kafka_security import PLAINTEXT, java_file
from conf.progress import Progress
from conf.settings import Settings
from conf.signals import interrupted_once
from lab import cluster
from lab.clients.producer import NODE
from lab.errors import LabError
from lab.experiments.errors import ExperimentError
from lab.experiments.place import ClusterPlace, LabPlace, Place, check_topic
from lab.experiments.plan import ExperimentPlan, check_frozen, freeze_plan, with_versions
from lab.experiments.producer_settings import check_settings
from lab.experiments.run_folder import RunFolder, exclusive_lock
from lab.experiments.runner import Runner
from lab.experiments.spec import Experiment, read
from lab.layout import DEFAULT_STATE

DEFAULT_FOLDER = Path(".state/experiments")


def experiment(  # noqa: PLR0913 (the options of a command)
    file: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="Experiment file; docs/experiments.md has an example.")
    ],
    *,
    state: Annotated[
        Path | None, typer.Option(help=f"State folder of a running lab. Default: {DEFAULT_STATE}.")
    ] = None,
    start: Annotated[
        bool, typer.Option("--start", help="Start the lab if it does not run, and stop it at the end.")
    ] = False,
    bootstrap_server: Annotated[
        str | None, typer.Option(help="HOST:PORT,... of your own cluster. The load goes there.")
    ] = None,
    properties: Annotated[
        Path | None,
        typer.Option(help="Java properties file for that cluster: TLS, SASL.", exists=True, dir_okay=False),
    ] = None,
    conf: Annotated[
        list[Path] | None,
        typer.Option(
            help="Settings with cluster_security of [collector] for that cluster, instead of --properties.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help=f"Folder for the runs. Default: {DEFAULT_FOLDER}/NAME.")
    ] = None,
) -> None:
    """
    Run an experiment in blocks. Each block runs each arm once; each run is stored as a performance test.

    Run the same command again to continue: finished runs are not repeated, an interrupted run is set aside.
    The first run freezes the configuration. A changed file is refused, except for a larger `repeats`.

    Exit codes: 0 all runs are finished; 1 a run failed twice, or the lab or cluster does not answer; 2 the
    file or an option is wrong, or differs from the frozen configuration; 4 another experiment uses the folder
    or the lab; 130 stopped.

    Example: `plumbline experiment conf/experiments/null.toml --start`

    Example: `plumbline experiment conf/experiments/adaptive.toml --state .state/lab --keep may`

    Example: `plumbline experiment mine.toml --bootstrap-server kafka1:9092 --conf site.toml`
    """
    progress = Progress()
    try:
        with interrupted_once():
            where = _Where(state, bootstrap_server, properties, conf or [], is_started=start)
            _experiment(file, keep, where, progress)
    except (CommandError, OSError, subprocess.TimeoutExpired) as error:
        progress.say(f"experiment: {error}")
        raise typer.Exit(exit_code_of(error)) from error
    except KeyboardInterrupt as error:
        progress.say("stopped; run the same command again to continue")
        raise typer.Exit(ExitCode.INTERRUPTED) from error


@dataclass(frozen=True, slots=True)
class _Where:
    state: Path | None
    servers: str | None
    properties: Path | None
    conf: list[Path]
    _: KW_ONLY
    is_started: bool

    def check(self, spec: Experiment, file: Path) -> None:
        message = None
        if self.servers and (self.state or self.is_started):
            message = "use either --bootstrap-server, or --state and --start for a lab"
        elif (self.properties or self.conf) and not self.servers:
            message = "--properties and --conf need --bootstrap-server"
        elif self.properties and self.conf:
            message = "use either --properties or --conf"
        elif self.servers and spec.lab:
            message = f"{file}: [lab] needs a lab: remove [lab], or use --state instead of --bootstrap-server"
        if message:
            raise WrongUseError(message)


def _experiment(file: Path, keep: Path | None, where: _Where, progress: Progress) -> None:
    spec = read(file)
    where.check(spec, file)
    spec = with_versions(spec, file)
    folder = RunFolder(keep or DEFAULT_FOLDER / spec.name)
    with folder.locked():
        if folder.frozen.exists():
            check_frozen(folder, spec, None, file)
        else:
            check_settings(spec.arms, file)
        with _place(spec, file, where, progress) as place:
            check_topic(place, spec.load.topic, file)
            plan = freeze_plan(folder, spec, place.description, file)
            progress.say(_summary(plan, folder))
            with progress:
                Runner(plan, place, folder, progress, socket.gethostname() if where.servers else NODE).run()
    progress.say(f"runs: {folder.runs}")
    baseline, *contenders = [arm.name for arm in spec.arms]
    for contender in contenders:
        typer.echo(f"plumbline compare {baseline} {contender} --from {shlex.quote(str(folder.root))}")


@contextmanager
def _place(spec: Experiment, file: Path, where: _Where, progress: Progress) -> Iterator[Place]:
    if where.servers:
        security = Settings.load(*where.conf).collector.cluster_security
        if where.properties or security == PLAINTEXT:
            yield ClusterPlace(where.servers, where.properties)
            return
        with java_file(security) as properties:
            yield ClusterPlace(where.servers, properties, security.java_options)
        return
    state = where.state or DEFAULT_STATE
    is_running = _is_running(state)
    if not (is_running or where.is_started):
        message = f"no lab runs in {state}: run `plumbline lab start --state {state}`, or use --start"
        raise ExperimentError(message)
    if not is_running:  # without request and client logs, which cost the brokers CPU time
        cluster.start(state, request_log=False, client_log=False, say=progress.say)
    try:
        with exclusive_lock(
            state / ".experiment.lock", f"another `plumbline experiment` uses the lab in {state}"
        ):
            yield LabPlace(state, spec, file)
    finally:
        if not is_running:
            cluster.stop(state, say=progress.say)


def _is_running(state: Path) -> bool:
    try:
        return bool(cluster.status(state)["is_running"])
    except LabError:
        return False


def _summary(plan: ExperimentPlan, folder: RunFolder) -> str:
    spec = plan.experiment
    runs = f"{len(plan.order)} blocks of {len(spec.arms)} arms"
    seconds = f"{spec.warm_up_s:g} s of warm-up and {spec.for_s:g} s per run"
    return f"{spec.name}: {runs}, {seconds}; folder {folder.root}"
