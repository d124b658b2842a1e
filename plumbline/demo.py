"""`plumbline demo`: real brokers, a delay on one link, and the report that names it."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from conf.exit_codes import ExitCode
from conf.settings import Settings
from conf.signals import interrupt_on_signals
from lab import cluster, load, processes, scenarios
from lab.errors import LabError
from lab.pipeline import PATIENCE_S, log_of, streams
from schemas.rows import Row

STREAMS_TIMEOUT_S = 120.0
WINDOW_S = 10.0
VERDICT = ("culprit", "broker_id", "follower_id", "leader_id")


def demo(  # noqa: PLR0913 (one option for each setting of the demo)
    scenario: Annotated[
        scenarios.Scenario, typer.Option(help="Fault to inject.")
    ] = scenarios.Scenario.SLOW_LINK,
    *,
    delay_ms: Annotated[float, typer.Option(min=0, help="Round trip time added to the slowed pairs.")] = 10.0,
    rate: Annotated[
        float, typer.Option(min=0, help="Produce load, records/s; 0 leaves the brokers idle.")
    ] = load.TRICKLE_RECORDS_PER_S,
    seed: Annotated[int, typer.Option(help="Seed for the choice of the slowed brokers.")] = 1,
    kafka_version: Annotated[
        str | None, typer.Option(help="Release of the brokers that `make lab` installed, for example 4.4.0.")
    ] = None,
    state: Annotated[Path, typer.Option(help="Folder for all files of the demo.")] = Path(".state/demo"),
) -> None:
    """
    Start three brokers, slow one link, stream their logs into Delta and report who is slow: under 5 minutes.

    Exit code 0 when the report names what was injected, 1 when it does not or a step fails.

    Example: `plumbline demo`

    Example: `plumbline demo --scenario slow_broker --delay-ms 20`
    """
    interrupt_on_signals()  # SIGTERM too ends the brokers
    state = state.resolve()
    for name in ("warehouse", "checkpoints", "collector"):
        shutil.rmtree(state / name, ignore_errors=True)
    began = time.monotonic()
    plan = scenarios.ScenarioPlan(
        scenario=scenario, delay_ms=delay_ms, quiet_s=75, for_s=60, records_per_s=rate, seed=seed
    )
    # Imported here, so that `--help` does not wait for its modules.
    from plumbline.demo_tables import command, opened  # noqa: PLC0415

    try:
        truth, html = _recorded_and_reported(state, plan, kafka_version)
    except (LabError, subprocess.CalledProcessError) as error:
        typer.secho(f"the demo failed: {error}\n{_logs_of(state)}", fg="red", err=True)
        raise typer.Exit(ExitCode.FAILED) from None
    reasons = wrong_verdicts(json.loads(truth.read_text()), verdicts_of(html.with_suffix(".json")))
    typer.echo(f"\nthe report: {html}\nits tables: {html.with_suffix('.json')}\nthe truth:  {truth}")
    typer.echo(f"the dashboard: {opened(state)}")
    typer.echo(f"{time.monotonic() - began:.0f} s in all")
    if reasons:
        typer.secho("the report does NOT name what was injected:", fg="red")
        typer.echo("\n".join(f"  {reason}" for reason in reasons))
        typer.echo(_logs_of(state))
        raise typer.Exit(ExitCode.FAILED)
    typer.secho("the report names what was injected", fg="green")
    typer.echo(f"ask it more: {command('ask incidents', state)}")


def _logs_of(state: Path) -> str:
    """Return one line that names the logs of the demo."""
    return f"logs: {state / 'logs'} (collect, ingest, build-gold), {state / 'lab' / 'logs'} (brokers)"


def _recorded_and_reported(
    state: Path, plan: scenarios.ScenarioPlan, kafka_version: str | None
) -> tuple[Path, Path]:
    with _lab(state / "lab", kafka_version) as settings, streams(state, settings, typer.echo) as started:
        truth = scenarios.run(state / "lab", plan, say=typer.echo)
        time.sleep(WINDOW_S)  # so that every broker has lines after the last window
        _check_alive(state, started)
        typer.echo("reading the last lines")
        processes.end([started["collect"]], patience_s=PATIENCE_S)
        _wait_until_read(Settings.load(settings), state, started)
    html = state / "report.html"
    _run(
        *("report", "--conf", settings, "--truth", truth),
        *("--html", html, "--json", html.with_suffix(".json")),
    )
    return truth, html


@contextmanager
def _lab(state: Path, kafka_version: str | None) -> Iterator[Path]:
    lab = cluster.start(state, fresh=True, kafka_version=kafka_version, say=typer.echo)
    try:
        yield lab.settings_file
    finally:
        cluster.stop(state, say=typer.echo)


def _wait_until_read(settings: Settings, state: Path, started: dict[str, dict[str, float]]) -> None:
    """
    Wait until gold was built from every line that the collector sent.

    Raises:
        LabError: a process ended, or one was not done in time; the message names its log.

    """
    from plumbline.demo_tables import is_built, is_read  # noqa: PLC0415

    deadline = time.monotonic() + STREAMS_TIMEOUT_S
    while not ((is_all_read := is_read(settings)) and is_built(settings.warehouse_root)):
        _check_alive(state, {word: started[word] for word in ("ingest", "build-gold")})
        if time.monotonic() > deadline:
            raise LabError(
                not_done(log_of(state, "build-gold" if is_all_read else "ingest"), is_read=is_all_read)
            )
        time.sleep(0.5)


def not_done(log: Path, *, is_read: bool) -> str:
    """Return which stream was not done after the time limit, and the log to read."""
    if is_read:
        return (
            f"ingest is done, build-gold is not after {STREAMS_TIMEOUT_S:g} s: the machine may be busy, so "
            f"end other programs and try again; log: {log}"
        )
    return f"ingest has not read every line after {STREAMS_TIMEOUT_S:g} s; log: {log}"


def _check_alive(state: Path, started: dict[str, dict[str, float]]) -> None:
    for word, process in started.items():
        if processes.find(process) is None:
            output = log_of(state, word)
            message = f"plumbline {word} ended; log: {output}\n{processes.tail(output)}"
            raise LabError(message)


def _run(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "plumbline", *map(str, arguments)], check=True)


def verdicts_of(tables: Path) -> list[Row]:
    """Return the windows of a report that name a culprit."""
    rows = json.loads(tables.read_text())["tables"]["broker_rtt_culprit"]
    return [row for row in rows if row["culprit"] not in ("none", "not_enough_data")]


def wrong_verdicts(truth: Row, verdicts: Sequence[Row]) -> list[str]:
    """
    Return why the report does not name the injected fault: a line per contradicting window; empty if it does.

    Every named culprit must be the injected fault, and at least one window must name it.
    """
    wanted = {"culprit": truth["shape"], **{name: truth[name] for name in VERDICT[1:]}}
    if truth["shape"] in ("follower_side", "leader_side"):
        wanted[f"{str(truth['shape']).removesuffix('_side')}_id"] = truth["broker_id"]
    is_calm = truth["shape"] == "none"
    wrong = [row for row in verdicts if is_calm or any(row[name] != wanted[name] for name in VERDICT)]
    if not verdicts and not is_calm:
        return [f"no window names a culprit; injected: {_named(wanted)}"]
    lines = [
        f"{row['window_start']}: {_named(row)}, effect {_rounded(row['effect_ms'])} ms, evidence "
        f"{_rounded(row['evidence'])}, {'settled' if row['is_settled'] else 'not settled'}"
        for row in wrong
    ]
    return [*lines, f"injected: {_named(wanted)}"] if lines else []


def _named(row: Row) -> str:
    ids = ", ".join(f"{name} {row[name]}" for name in VERDICT[1:] if row[name] is not None)
    tied = " or ".join(_named(shape) for shape in row.get("tied") or [])
    details = "; ".join(part for part in (ids, tied) if part)
    return f"{row['culprit']} ({details})" if details else str(row["culprit"])


def _rounded(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1f}"
