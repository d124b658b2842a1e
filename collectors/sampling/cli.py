"""The command `plumbline sample`: set loggers of live brokers to DEBUG for a while, then restore them."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from collectors.sampling import record, watchdog
from collectors.sampling.brokers import Brokers
from collectors.sampling.errors import SampleError
from collectors.sampling.record import LevelRecord
from collectors.sampling.restore import REQUEST_LOGGER, restore, restore_unrecorded
from collectors.sampling.rounds import SamplingPlan, SamplingRun
from conf.exit_codes import ExitCode, HeldError, WrongUseError
from conf.instants import seconds_of
from conf.private_folder import make_private
from conf.progress import Progress
from conf.settings import Settings
from conf.signals import SIGNALS, stop_on_signals

STATE = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "plumbline" / "sample"
FORMER_STATE = Path(".state/sample")
"""The default of the former version. What a sample has left there is still restored."""

END_S = 5.0
LEFT = (
    "not all levels are restored: the watchdog keeps trying, or use --restore; "
    "levels.json and watchdog.log are in"
)


def sample(  # noqa: PLR0913 (the options of a command)
    bootstrap_server: Annotated[
        str | None,
        typer.Option(help="Brokers of the observed cluster: HOST:PORT,... Default: those of --conf."),
    ] = None,
    *,
    brokers: Annotated[str, typer.Option(help="Broker ids, as 1,3, or all.")] = "all",
    for_: Annotated[
        str, typer.Option("--for", help="How long a round logs at DEBUG, for example 60s or 5m.")
    ] = "60s",
    every: Annotated[
        str | None, typer.Option(help="Start a round at this interval, for example 10m. Default: one round.")
    ] = None,
    times: Annotated[
        int | None, typer.Option(min=1, help="Number of rounds, with --every. Default: until Ctrl-C.")
    ] = None,
    logger: Annotated[
        list[str] | None, typer.Option(help=f"Logger to set to DEBUG; repeatable. Default: {REQUEST_LOGGER}")
    ] = None,
    properties: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Properties file for Kafka's Java client: TLS, SASL."),
    ] = None,
    conf: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Settings with cluster_bootstrap_servers and cluster_security of [collector], instead of "
            "--properties.",
        ),
    ] = None,
    is_restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="Restore the levels that an earlier sample left, and exit. With --bootstrap-server, also "
            "take loggers off DEBUG that no record names.",
        ),
    ] = False,
    state: Annotated[Path, typer.Option(help="Folder for the recorded levels; use one per cluster.")] = STATE,
) -> None:
    """
    Set the request logger of live brokers to DEBUG for a while, then restore its level.

    The command saves the original levels to disk before it changes them. Ctrl-C and SIGTERM restore them. If
    the command is killed, a watchdog process restores them, and retries while a broker is unavailable.

    Exit codes: 0 done; 1 failed; 2 wrong options; 4 another sample is running; 5 the levels of a broker are
    not restored yet.

    Example: `plumbline sample --bootstrap-server b1:9092 --for 60s --every 10m`

    Example: `plumbline sample --bootstrap-server b1:9092 --brokers 1,3 --for 2m --logger kafka.request.logger
    --logger org.apache.kafka.clients.NetworkClient`

    Example: `plumbline sample --conf site.toml --for 60s`

    Example: `plumbline sample --restore`

    Example: `plumbline sample --restore --bootstrap-server b1:9092`
    """
    progress = Progress()
    try:
        plan = _plan(brokers, for_, every, times, logger)
        target = _target(bootstrap_server, properties, conf or [])
        if state == STATE and (FORMER_STATE / record.NAME).exists():
            state = FORMER_STATE
        state = state.resolve()
        make_private(state)
        with _locked(state):
            if is_restore:
                left = _restore(plan, state, target, progress.say)
            else:
                left = _sample(plan, state, target, progress)
    except (WrongUseError, HeldError) as error:
        _end(progress, str(error), error.exit_code)
    except (SampleError, OSError) as error:
        is_left = (state / record.NAME).exists()
        text = f"{error}; {LEFT} {state}" if is_left else str(error)
        _end(progress, text, ExitCode.STATE if is_left else ExitCode.FAILED)
    if left:
        way_out = f"{LEFT} {state}" if (state / record.NAME).exists() else "run it again"
        _end(progress, f"{left} not available; {way_out}", ExitCode.STATE)


def _plan(
    brokers: str, for_: str, every: str | None, times: int | None, loggers: list[str] | None
) -> SamplingPlan:
    if not re.fullmatch(r"all|\d+(,\d+)*", brokers):
        message = f"--brokers {brokers}: give ids, as 1,3, or all"
        raise WrongUseError(message)
    for_s = seconds_of("--for", for_, is_positive=True)
    every_s = seconds_of("--every", every, is_positive=True) if every else None
    if every_s is not None and every_s <= for_s:
        message = f"--every {every}: must be longer than a round ({for_}); omit the option for a single round"
        raise WrongUseError(message)
    if times is not None and every_s is None:
        message = "--times requires --every"
        raise WrongUseError(message)
    return SamplingPlan(
        brokers=brokers,
        loggers=tuple(loggers or (REQUEST_LOGGER,)),
        for_s=for_s,
        every_s=every_s,
        times=times,
    )


def _target(servers: str | None, properties: Path | None, conf: list[Path]) -> LevelRecord | None:
    """Return the cluster of the options, or None without one."""
    if properties and conf:
        message = "use either --properties or --conf"
        raise WrongUseError(message)
    collector = Settings.load(*conf).collector
    security = collector.cluster_security
    if security.has_former_secret:
        message = (
            "[collector.cluster_client_options] has a secret, which `sample` cannot keep for a restore: move "
            "the login to [collector.cluster_security] and the secret to a file"
        )
        raise WrongUseError(message)
    security.java()  # a file that cannot be read is an error now, not in a round
    servers = servers or collector.cluster_bootstrap_servers
    if not servers:
        return None
    return LevelRecord(servers, str(properties.resolve()) if properties else "", (), security)


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    try:
        with FileLock(state / watchdog.LOCK, timeout=END_S):
            yield
    except Timeout:
        message = f"another sample is running ({state})"
        raise HeldError(message) from None


def _restore(plan: SamplingPlan, state: Path, asked: LevelRecord | None, say: Callable[[str], None]) -> str:
    recorded, left = record.read(state), dict[int, str]()
    if recorded is not None:
        left = restore(state, watchdog.brokers_of(recorded), say)
    elif asked is None:
        say(
            f"no level is recorded in {state}: all are restored. If the folder of a sample was lost, add "
            "--bootstrap-server HOST:PORT, which asks the brokers"
        )
    if asked is not None:
        left |= restore_unrecorded(watchdog.brokers_of(asked), plan.brokers, plan.loggers, say)
    return _named(left)


def _sample(plan: SamplingPlan, state: Path, target: LevelRecord | None, progress: Progress) -> str:
    if target is None:
        message = "--bootstrap-server is required: brokers of the cluster to sample"
        raise WrongUseError(message)
    if record.read(state) is not None:
        message = (
            f"the levels of an earlier sample are not restored yet ({state / record.NAME}): use --restore"
        )
        raise SampleError(message)
    stop = threading.Event()
    stop_on_signals(stop, (*SIGNALS, signal.SIGHUP))
    guard, alive = watchdog.start(state)
    try:
        with progress:
            brokers = Brokers(target.bootstrap_servers, target.properties, target.security, alive)
            left = SamplingRun(
                plan,
                folder=state,
                target=target,
                loggers=brokers,
                is_guarded=lambda: guard.poll() is None,
                stop=stop,
            ).run(progress.show, progress.say)
    finally:
        os.close(alive)
        if record.read(state) is None:
            with suppress(subprocess.TimeoutExpired):  # all levels are restored, so it ends by itself
                guard.wait(END_S)
    return _named(left)


def _named(left: dict[int, str]) -> str:
    return ", ".join(f"broker {broker}" for broker in sorted(left))


def _end(progress: Progress, text: str, code: int) -> None:
    progress.say(f"sample: {text}")
    raise typer.Exit(code) from None
