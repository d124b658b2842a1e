"""`plumbline sample`: the request log of live brokers for a while, and levels put back whatever happens."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from collectors.sampling import record, watchdog
from collectors.sampling.brokers import Brokers
from collectors.sampling.errors import SampleError
from collectors.sampling.record import Record
from collectors.sampling.restore import restore
from collectors.sampling.rounds import Plan, Sample
from collectors.screen import Screen

REQUEST_LOGGER = "kafka.request.logger"
STATE = Path(".state/sample")
EXIT_FAILED, EXIT_WRONG, EXIT_LEFT = 1, 2, 3
UNITS_S = {"s": 1, "m": 60, "h": 3_600}
END_S = 5.0
LEFT = "levels are not all back: the watchdog goes on, or --restore does it; record and watchdog.log are in"


def sample(  # noqa: PLR0913 (the options of a command)
    bootstrap_server: Annotated[str | None, typer.Option(help="The observed cluster, HOST:PORT,...")] = None,
    *,
    brokers: Annotated[str, typer.Option(help="Ids, 1,3, or all.")] = "all",
    for_: Annotated[str, typer.Option("--for", help="How long they log: 60s, 5m.")] = "60s",
    every: Annotated[
        str | None, typer.Option(help="Repeat at this interval, for example 10m; default: once.")
    ] = None,
    times: Annotated[int | None, typer.Option(min=1, help="Rounds; by default until Ctrl-C.")] = None,
    logger: Annotated[
        list[str] | None, typer.Option(help=f"Repeatable; {REQUEST_LOGGER} by default.")
    ] = None,
    properties: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="For Kafka's Java client: TLS, SASL.")
    ] = None,
    is_restore: Annotated[
        bool, typer.Option("--restore", help="Put back what a sample has left, and end.")
    ] = False,
    state: Annotated[Path, typer.Option(help="Where levels are recorded; one folder a cluster.")] = STATE,
) -> None:
    """
    Switch the request logger of live brokers to DEBUG for a while, and back.

    The levels before are on disk first. Ctrl-C and SIGTERM put them back; when this command dies otherwise,
    a process that it leaves behind does, and goes on trying while a broker is away. Exit codes: 0 done, 1
    failed, 2 wrong options or another sample at work, 3 levels of a broker are not back yet.

    Example: `plumbline sample --bootstrap-server b1:9092 --for 60s --every 10m`

    Example: `plumbline sample --bootstrap-server b1:9092 --brokers 1,3 --for 2m --logger kafka.request.logger
    --logger org.apache.kafka.clients.NetworkClient`

    Example: `plumbline sample --restore`
    """
    screen = Screen()
    try:
        plan = _plan(brokers, for_, every, times, logger)
        state.mkdir(parents=True, exist_ok=True)
        with _alone(state):
            if is_restore:
                left = _restored(state, screen.note)
            else:
                left = _sampled(plan, state, _about(bootstrap_server, properties), screen)
    except (typer.BadParameter, Timeout) as error:
        text = "another sample is at work" if isinstance(error, Timeout) else str(error)
        _end(screen, f"{text} ({state})" if isinstance(error, Timeout) else text, EXIT_WRONG)
    except (SampleError, OSError) as error:
        is_left = (state / record.NAME).exists()
        _end(
            screen, f"{error}{f'; {LEFT} {state}' if is_left else ''}", EXIT_LEFT if is_left else EXIT_FAILED
        )
    if left:
        _end(screen, f"{left} away; {LEFT} {state}", EXIT_LEFT)


def _plan(brokers: str, for_: str, every: str | None, times: int | None, loggers: list[str] | None) -> Plan:
    if not re.fullmatch(r"all|\d+(,\d+)*", brokers):
        message = f"--brokers {brokers}: give ids, 1,3, or all"
        raise typer.BadParameter(message)
    for_s, every_s = seconds_of(for_), seconds_of(every) if every else None
    if every_s is not None and every_s <= for_s:
        message = f"--every {every}: a round lasts {for_} already; leave the option out to log once"
        raise typer.BadParameter(message)
    if times is not None and every_s is None:
        message = "--times wants --every"
        raise typer.BadParameter(message)
    return Plan(
        brokers=brokers,
        loggers=tuple(loggers or (REQUEST_LOGGER,)),
        for_s=for_s,
        every_s=every_s,
        times=times,
    )


def seconds_of(told: str) -> float:
    """
    Read a duration.

    Raises:
        typer.BadParameter: it is none.

    >>> seconds_of("90s"), seconds_of("10m")
    (90, 600)
    """
    found = re.fullmatch(r"([1-9]\d*)([smh])", told)
    if not found:
        message = f"{told}: give a duration, 60s, 10m or 1h"
        raise typer.BadParameter(message)
    return int(found[1]) * UNITS_S[found[2]]


def _about(servers: str | None, properties: Path | None) -> Record:
    if not servers:
        message = "--bootstrap-server names the cluster to be sampled"
        raise typer.BadParameter(message)
    return Record(servers, str(properties.resolve()) if properties else "", ())


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    with FileLock(state / watchdog.LOCK, timeout=END_S):
        yield


def _restored(state: Path, say: Callable[[str], None]) -> str:
    kept = record.read(state)
    if kept is None:
        say("nothing is left to be put back")
        return ""
    return _named(restore(state, watchdog.brokers_of(kept), say))


def _sampled(plan: Plan, state: Path, about: Record, screen: Screen) -> str:
    if record.read(state) is not None:
        message = (
            f"an earlier sample's levels are not back yet (its record: {state / record.NAME}): --restore"
        )
        raise SampleError(message)
    stop = threading.Event()
    _stop_on_signals(stop)
    guard, alive = watchdog.started(state)
    try:
        with screen:
            brokers = Brokers(about.bootstrap_servers, about.properties, alive)
            left = Sample(
                plan,
                folder=state,
                about=about,
                loggers=brokers,
                is_guarded=lambda: guard.poll() is None,
                stop=stop,
            ).run(screen.show, screen.note)
    finally:
        os.close(alive)
        if record.read(state) is None:
            with suppress(subprocess.TimeoutExpired):  # it has nothing to do, and ends by itself
                guard.wait(END_S)
    return _named(left)


def _named(left: dict[int, str]) -> str:
    return ", ".join(f"broker {broker}" for broker in sorted(left))


def _stop_on_signals(stop: threading.Event) -> None:
    def on_signal(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # the next one ends us at once; the watchdog is left
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)


def _end(screen: Screen, text: str, code: int) -> None:
    screen.note(f"sample: {text}")
    raise typer.Exit(code) from None
