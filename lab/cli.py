"""`plumbline lab`: run a real Kafka cluster on this machine and inject known slowness into it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from conf.exit_codes import CommandError, ExitCode
from conf.instants import seconds_of
from conf.progress import Progress
from conf.signals import interrupt_on_signals
from lab import cluster, load, scenarios
from lab.choices import ScenarioName, check_options
from lab.clients import scenario as with_clients
from lab.clients.scenario import ClientScenario
from lab.layout import DEFAULT_STATE, Lab
from lab.proxy import probe as probing
from lab.proxy.control import set_delay
from lab.report import report
from lab.scenarios import Scenario
from lab.throttle import parts
from lab.throttle import scenario as throttle

app = typer.Typer(no_args_is_help=True, help=__doc__, rich_markup_mode="markdown")


State = Annotated[Path, typer.Option(help="State folder of the lab.")]


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except CommandError as error:
        _say(str(error))
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        _say("stopped; injected delays are removed, and a lab that was starting is stopped")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _say(text: str) -> None:
    Progress().say(text)


@app.command()
def start(  # noqa: PLR0913 (one option for each setting of a lab)
    state: State = DEFAULT_STATE,
    *,
    brokers: Annotated[int, typer.Option(min=1, max=9, help="Number of observed brokers.")] = 3,
    kafka_version: Annotated[
        str | None,
        typer.Option(help="Release of the observed brokers that `make lab` installed, for example 4.4.0."),
    ] = None,
    request_log: Annotated[bool, typer.Option(help="Start with the request logger at DEBUG.")] = True,
    client_log: Annotated[bool, typer.Option(help="Log the followers' NetworkClient at DEBUG.")] = True,
    telemetry_partitions: Annotated[int, typer.Option(min=1, help="Partitions of each telemetry topic.")] = 2,
    fresh: Annotated[bool, typer.Option(help="Also delete the telemetry broker's data.")] = False,
) -> None:
    """
    Start the brokers, the proxies and the telemetry broker. Return when all replicas are in sync.

    Example: `plumbline lab start`

    Example: `plumbline lab start --state .state/lab --brokers 3`

    Example: `plumbline lab start --kafka-version 4.4.0`
    """
    with _clear_errors():
        cluster.start(
            state,
            brokers=brokers,
            kafka_version=kafka_version,
            request_log=request_log,
            client_log=client_log,
            telemetry_partitions=telemetry_partitions,
            fresh=fresh,
            say=_say,
        )


@app.command()
def status(state: State = DEFAULT_STATE) -> None:
    """
    Print the processes and the delay of each link as JSON. Exit code 1: the lab is not fully up.

    Example: `plumbline lab status`

    Example: `plumbline lab status | jq .links`
    """
    with _clear_errors():
        found = cluster.status(state)
    typer.echo(json.dumps(found, indent=2))
    if not found["is_running"]:
        raise typer.Exit(ExitCode.FAILED)


@app.command()
def stop(state: State = DEFAULT_STATE) -> None:
    """
    Stop every process of the lab. Logs, ground truth and telemetry data stay.

    Example: `plumbline lab stop`

    Example: `plumbline lab stop --state .state/lab`
    """
    with _clear_errors():
        cluster.stop(state, say=_say)


@app.command()
def run(  # noqa: PLR0913 (one option for each parameter of a scenario)
    context: typer.Context,
    scenario: Annotated[ScenarioName, typer.Argument(help="Scenario to run.")],
    state: State = DEFAULT_STATE,
    *,
    broker: Annotated[int | None, typer.Option(help="Broker to slow down (slow_broker, slow_side).")] = None,
    follower: Annotated[int | None, typer.Option(help="Follower of the slow link (slow_link).")] = None,
    leader: Annotated[int | None, typer.Option(help="Leader of the slow link (slow_link).")] = None,
    side: Annotated[
        scenarios.Side | None, typer.Option(help="Side of the broker to slow down (slow_side).")
    ] = None,
    delay_ms: Annotated[float, typer.Option(min=0, help="Delay added to the round trip, ms.")] = 10.0,
    quiet: Annotated[
        str, typer.Option(help="Time without delay before the injection, as a baseline, for example 60s.")
    ] = "60s",
    for_: Annotated[
        str, typer.Option("--for", help="How long the delay lasts, for example 60s or 5m.")
    ] = "60s",
    former_quiet_s: Annotated[float | None, typer.Option("--quiet-s", min=0, hidden=True)] = None,
    former_for_s: Annotated[float | None, typer.Option("--for-s", min=0, hidden=True)] = None,
    rate: Annotated[float, typer.Option(min=0, help="Produce load, records/s; 0: no load.")] = 0.0,
    seed: Annotated[
        int, typer.Option(help="Seed that picks the brokers and the side that you do not name.")
    ] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds (skew, redirect, metadata, throttle).")] = 1,
    part: Annotated[
        list[str] | None,
        typer.Option(help=f"Part of throttle to run; repeat for several: {', '.join(parts.BY_NAME)}."),
    ] = None,
) -> None:
    """
    Run a scenario and print the path of its ground truth (JSON).

    `slow_broker`, `slow_link` and `slow_side` delay the traffic between brokers; `healthy` does not.
    `skew`, `redirect` and `metadata` run real clients of several releases side by side and write a report.
    `throttle` moves replicas under throttles, some of them faulty on purpose: 11 parts in 12 minutes,
    and a report; the part `restart` runs only if you name it. An option that the scenario does not use is
    an error.

    Example: `plumbline lab run slow_link --follower 2 --leader 1 --delay-ms 10 --quiet 60s --for 60s`

    Example: `plumbline lab run slow_side --broker 3 --side leader --rate 500`

    Example: `plumbline lab run skew --repeats 5`

    Example: `plumbline lab run throttle --part a --part stuck`
    """
    check_options(context, scenario)
    interrupt_on_signals()  # SIGTERM undoes the injection, as Ctrl-C does
    if scenario is ScenarioName.THROTTLE:
        _throttle(state, repeats=repeats, names=part or [])
        return
    if scenario.value in list(ClientScenario):
        _with_clients(state, ClientScenario(scenario.value), repeats=repeats, seed=seed)
        return
    with _clear_errors():
        plan = scenarios.ScenarioPlan(
            scenario=Scenario(scenario.value),
            broker=broker,
            follower=follower,
            leader=leader,
            side=side,
            delay_ms=delay_ms,
            quiet_s=seconds_of("--quiet", quiet, former_quiet_s),
            for_s=seconds_of("--for", for_, former_for_s),
            records_per_s=rate,
            seed=seed,
        )
        typer.echo(str(scenarios.run(state, plan, say=_say)))


def _with_clients(state: Path, scenario: ClientScenario, *, repeats: int, seed: int) -> None:
    with _clear_errors():
        truth = with_clients.run(state, scenario, repeats=repeats, seed=seed, say=_say)
        page = report(state, truth)
    _say_both(page, truth)


def _throttle(state: Path, *, repeats: int, names: list[str]) -> None:
    with _clear_errors():
        plan = throttle.ThrottlePlan(repeats=repeats, parts=parts.parts_by_name(names))
        truth = throttle.run(state, plan, say=_say)
        page = report(state, truth)
    _say_both(page, truth)


def _say_both(page: Path, truth: Path) -> None:
    typer.echo(f"the report: {page}\nthe truth:  {truth}")


@app.command()
def delay(
    pairs: Annotated[
        list[str] | None, typer.Argument(help="FOLLOWER:LEADER:MS; MS is added to the round trip.")
    ] = None,
    state: State = DEFAULT_STATE,
    *,
    clear: Annotated[bool, typer.Option("--clear", help="First remove every delay.")] = False,
) -> None:
    """
    Set round-trip delays of links until you change them again. Writes no ground truth.

    Example: `plumbline lab delay 2:1:10 3:1:10`

    Example: `plumbline lab delay --clear`
    """
    with _clear_errors():
        delays: dict[tuple[int, int], float] = {}
        if clear:
            delays = dict.fromkeys(Lab.load(state).pairs(), 0.0)
        set_delay(state, delays | dict(_pair(text) for text in pairs or []))
    status(state)


def _pair(text: str) -> tuple[tuple[int, int], float]:
    try:
        follower, leader, ms = text.split(":")
        return (int(follower), int(leader)), float(ms)
    except ValueError:
        message = f"{text!r} is not FOLLOWER:LEADER:MS, for example 2:1:10"
        raise typer.BadParameter(message) from None


@app.command()
def probe(
    follower: int,
    leader: int,
    state: State = DEFAULT_STATE,
    *,
    n: Annotated[int, typer.Option(min=10, help="Requests per path.")] = 100,
) -> None:
    """
    Measure the round-trip time of ApiVersions requests to a leader, through the link's proxy and directly.

    Example: `plumbline lab probe 2 1`

    Example: `plumbline lab probe 3 1 --n 500`
    """
    with _clear_errors():
        probes = probing.probe_link(state, follower, leader, n=n)
    typer.echo(json.dumps({name: probe_times.summary for name, probe_times in probes.items()}, indent=2))


@app.command(name="load")
def produce(
    rate: Annotated[float, typer.Argument(min=0.1, help="Rate, records/s.")] = load.TRICKLE_RECORDS_PER_S,
    state: State = DEFAULT_STATE,
    *,
    for_: Annotated[str, typer.Option("--for", help="How long to produce, for example 60s or 5m.")] = "60s",
    former_for_s: Annotated[float | None, typer.Option("--for-s", min=1, hidden=True)] = None,
    record_size_bytes: Annotated[int, typer.Option(min=1, help="Size of each record.")] = 500,
) -> None:
    """
    Produce at a fixed rate until the time is over or you press Ctrl-C. The default rate is 5 records/s.

    Example: `plumbline lab load`

    Example: `plumbline lab load 2000 --for 2m`
    """
    with _clear_errors():
        duration_s = seconds_of("--for", for_, former_for_s, is_positive=True)
        requested = load.Load(records_per_s=rate, duration_s=duration_s, record_size_bytes=record_size_bytes)
        running = load.begin(Lab.load(state), requested)
        try:
            running.wait()
        finally:
            running.stop()
    typer.echo(running.output.read_text().splitlines()[-1])


@app.command(name="request-log")
def request_log(
    is_on: Annotated[str, typer.Argument(metavar="on|off")], state: State = DEFAULT_STATE
) -> None:
    """
    Switch the request log of all running brokers on or off.

    Example: `plumbline lab request-log on`

    Example: `plumbline lab request-log off`
    """
    if is_on not in ("on", "off"):
        message = f"{is_on!r} is not on or off"
        raise typer.BadParameter(message)
    with _clear_errors():
        cluster.set_request_log(state, is_on=is_on == "on")


if __name__ == "__main__":
    app()
