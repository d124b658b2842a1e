"""`plumbline lab`: a real Kafka cluster on this machine whose slowness is known because it was injected."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from lab import cluster, load, scenarios
from lab.choices import Runnable, refuse_others
from lab.clients import scenario as with_clients
from lab.clients.scenario import ClientScenario
from lab.errors import LabError
from lab.layout import DEFAULT_STATE, Lab
from lab.proxy import probe as probing
from lab.proxy.control import set_delay
from lab.report import report
from lab.scenarios import Scenario
from lab.throttle import parts
from lab.throttle import scenario as throttle

app = typer.Typer(no_args_is_help=True, help=__doc__, rich_markup_mode="markdown")


State = Annotated[Path, typer.Option(help="Folder that holds everything of the lab.")]


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except LabError as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.secho("interrupted; what was injected or half started is taken back", err=True)
        raise typer.Exit(130) from None


@app.command()
def start(  # noqa: PLR0913 (one option for each switch of a lab)
    state: State = DEFAULT_STATE,
    *,
    brokers: Annotated[int, typer.Option(min=1, max=9, help="Observed brokers.")] = 3,
    request_log: Annotated[bool, typer.Option(help="Request logger at DEBUG from the start.")] = True,
    client_log: Annotated[bool, typer.Option(help="The followers' NetworkClient at DEBUG.")] = True,
    telemetry_partitions: Annotated[int, typer.Option(min=1, help="Per telemetry topic.")] = 2,
    fresh: Annotated[bool, typer.Option(help="Also drop what the telemetry broker holds.")] = False,
) -> None:
    """
    Start brokers, proxies and the telemetry broker; return when all replicas are in sync.

    Example: `plumbline lab start --state .state/lab --brokers 3`
    """
    with _clear_errors():
        cluster.start(
            state,
            brokers=brokers,
            request_log=request_log,
            client_log=client_log,
            telemetry_partitions=telemetry_partitions,
            fresh=fresh,
            say=typer.echo,
        )


@app.command()
def status(state: State = DEFAULT_STATE) -> None:
    """
    Print what runs and each link's delay as JSON; exit code 3 when the lab is not wholly up.

    Example: `plumbline lab status | jq .links`
    """
    with _clear_errors():
        told = cluster.status(state)
    typer.echo(json.dumps(told, indent=2))
    if not told["is_running"]:
        raise typer.Exit(3)


@app.command()
def stop(state: State = DEFAULT_STATE) -> None:
    """
    End every process of the lab; logs, ground truth and telemetry stay.

    Example: `plumbline lab stop --state .state/lab`
    """
    with _clear_errors():
        cluster.stop(state, say=typer.echo)


@app.command()
def run(  # noqa: PLR0913 (one option for each choice of a scenario)
    context: typer.Context,
    scenario: Annotated[Runnable, typer.Argument(help="What to inject, or to try with clients.")],
    state: State = DEFAULT_STATE,
    *,
    broker: Annotated[int | None, typer.Option(help="Of slow_broker and slow_side.")] = None,
    follower: Annotated[int | None, typer.Option(help="Of slow_link.")] = None,
    leader: Annotated[int | None, typer.Option(help="Of slow_link.")] = None,
    side: Annotated[scenarios.Side | None, typer.Option(help="Of slow_side.")] = None,
    delay_ms: Annotated[float, typer.Option(min=0, help="Round trip.")] = 10.0,
    quiet_s: Annotated[float, typer.Option(min=0, help="Quiet lead time, for a baseline.")] = 60.0,
    for_s: Annotated[float, typer.Option(min=0, help="How long the delay lasts.")] = 60.0,
    rate: Annotated[float, typer.Option(min=0, help="Produce load, records/s; 0 leaves it idle.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Picks what is not named.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="Rounds of skew, redirect, metadata and throttle.")] = 1,
    part: Annotated[
        list[str] | None, typer.Option(help=f"Of throttle, again for more: {', '.join(parts.BY_NAME)}.")
    ] = None,
) -> None:
    """
    Inject a known slowness and print the path of its ground truth (JSON).

    `skew`, `redirect` and `metadata` run real clients of several releases side by side, and end in a report.
    `throttle` moves replicas under throttles that hold and some that do not: 11 parts in 12 minutes, and
    a report. An option that a scenario does not take is an error.

    Example: `plumbline lab run slow_link --follower 2 --leader 1 --delay-ms 10 --quiet-s 60 --for-s 60`

    Example: `plumbline lab run slow_side --broker 3 --side leader --rate 500`

    Example: `plumbline lab run skew --repeats 5`

    Example: `plumbline lab run throttle --part a --part stuck`
    """
    refuse_others(context, scenario)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was set is taken back then too
    if scenario is Runnable.THROTTLE:
        _throttle(state, repeats=repeats, names=part or [])
        return
    if scenario.value in list(ClientScenario):
        _with_clients(state, ClientScenario(scenario.value), repeats=repeats, seed=seed)
        return
    plan = scenarios.Plan(
        scenario=Scenario(scenario.value),
        broker=broker,
        follower=follower,
        leader=leader,
        side=side,
        delay_ms=delay_ms,
        quiet_s=quiet_s,
        for_s=for_s,
        records_per_s=rate,
        seed=seed,
    )
    with _clear_errors():
        typer.echo(str(scenarios.run(state, plan, say=lambda text: typer.echo(text, err=True))))


def _with_clients(state: Path, scenario: ClientScenario, *, repeats: int, seed: int) -> None:
    with _clear_errors():
        truth = with_clients.run(
            state, scenario, repeats=repeats, seed=seed, say=lambda text: typer.echo(text, err=True)
        )
        page = report(state, truth)
    _say_both(page, truth)


def _throttle(state: Path, *, repeats: int, names: list[str]) -> None:
    with _clear_errors():
        plan = throttle.Plan(repeats=repeats, parts=parts.chosen(names))
        truth = throttle.run(state, plan, say=lambda text: typer.echo(text, err=True))
        page = report(state, truth)
    _say_both(page, truth)


def _say_both(page: Path, truth: Path) -> None:
    typer.echo(f"the report: {page}\nthe truth:  {truth}")


@app.command()
def delay(
    pairs: Annotated[list[str] | None, typer.Argument(help="FOLLOWER:LEADER:MS, the round trip.")] = None,
    state: State = DEFAULT_STATE,
    *,
    clear: Annotated[bool, typer.Option("--clear", help="First take every delay back.")] = False,
) -> None:
    """
    Set round-trip delays of ordered pairs until they are changed again, without ground truth.

    Example: `plumbline lab delay 2:1:10 3:1:10`

    Example: `plumbline lab delay --clear`
    """
    with _clear_errors():
        told: dict[tuple[int, int], float] = {}
        if clear:
            told = dict.fromkeys(Lab.load(state).pairs(), 0.0)
        set_delay(state, told | dict(_pair(text) for text in pairs or []))
    status(state)


def _pair(text: str) -> tuple[tuple[int, int], float]:
    try:
        follower, leader, ms = text.split(":")
        return (int(follower), int(leader)), float(ms)
    except ValueError:
        message = f"{text!r} is not FOLLOWER:LEADER:MS, as in 2:1:10"
        raise typer.BadParameter(message) from None


@app.command()
def probe(
    follower: int, leader: int, state: State = DEFAULT_STATE, *, n: Annotated[int, typer.Option(min=10)] = 100
) -> None:
    """
    Time ApiVersions requests through a link's proxy and past it.

    Example: `plumbline lab probe 2 1`
    """
    with _clear_errors():
        told = probing.probe_link(state, follower, leader, n=n)
    typer.echo(json.dumps({name: probed.summary for name, probed in told.items()}, indent=2))


@app.command(name="load")
def produce(
    rate: Annotated[float, typer.Argument(min=0.1, help="Records/s.")] = load.TRICKLE_RECORDS_PER_S,
    state: State = DEFAULT_STATE,
    *,
    for_s: Annotated[float, typer.Option(min=1, help="How long.")] = 60.0,
    record_size_bytes: Annotated[int, typer.Option(min=1)] = 500,
) -> None:
    """
    Produce at a fixed rate until the time is over or Ctrl-C; the default rate is a trickle.

    Example: `plumbline lab load 2000 --for-s 120`
    """
    with _clear_errors():
        told = load.Load(records_per_s=rate, duration_s=for_s, record_size_bytes=record_size_bytes)
        running = load.begin(Lab.load(state), told)
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
    Switch the request log of all brokers while they run.

    Example: `plumbline lab request-log off`
    """
    if is_on not in ("on", "off"):
        message = f"{is_on!r} is neither on nor off"
        raise typer.BadParameter(message)
    with _clear_errors():
        cluster.set_request_log(state, is_on=is_on == "on")


if __name__ == "__main__":
    app()
