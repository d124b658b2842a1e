"""`plumbline perf-test`: run Kafka's producer performance test, or take in what one has printed."""

import socket
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from collectors.errors import CollectorError
from collectors.lines import DamagedFileError
from collectors.perf_test import Run, Told, command, file_of, lines_of, watched
from collectors.perf_test_sender import Sender
from conf import java
from conf.settings import Settings

FOLDER = Path(".state/perf-test")
STANDARD_INPUT = "-"
EXIT_FAILED, EXIT_WRONG = 1, 2


def perf_test(  # noqa: PLR0913 (the options of a command)
    context: typer.Context,
    *,
    run: Annotated[
        str | None,
        typer.Option(help="Name of the run, a repeat is one of its own; wanted unless --file tells it."),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="What is tried in it: a client, a partitioner.")] = None,
    scenario: Annotated[str | None, typer.Option(help="What the run is part of.")] = None,
    client_version: Annotated[
        str | None,
        typer.Option(help="Release of the client to run, today's by default; with --file, what it was."),
    ] = None,
    warm_up_s: Annotated[
        float, typer.Option(min=0, help="Seconds from the start that are not measured.")
    ] = 0.0,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings that name the telemetry brokers.", exists=True)
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option("--file", help="What an earlier run printed; - is standard input.")
    ] = None,
    node: Annotated[str | None, typer.Option(help="Where the client runs; this host by default.")] = None,
    keep: Annotated[Path, typer.Option(help="Folder for the runs' files.")] = FOLDER,
) -> None:
    """
    Run kafka-producer-perf-test with each line stamped, keep what it prints, and publish it raw.

    All behind `--` goes to the tool, whose topic has to be there: for each record to one that is not it
    waits a minute. The exit code is the tool's; 1: the lines were not all published, and the file that holds
    them is named; 2: wrong options.

    Example: `plumbline perf-test --run r1 --arm sticky --conf my.toml -- --topic t --num-records 100000
    --record-size 512 --throughput 2048 --bootstrap-server localhost:9092`

    Example: `plumbline perf-test --run may --arm old --conf my.toml --file perf-may.txt`
    """
    try:
        settings = Settings.load(*(conf or ()))
        known = java.client_versions()
        if client_version and not file and client_version not in known:
            _wrong(f"no client {client_version} here; there are: {', '.join(known) or 'none yet'}")
        of = None
        if run:
            of = Run(run=run, arm=arm, scenario=scenario, client_version=client_version, warm_up_s=warm_up_s)
        where = node or socket.gethostname()
        if file and context.args:
            _wrong("give either --file, or the tool's arguments behind --")
        elif file:
            _take_in(file, of, where, settings if conf else None)
        elif not context.args:
            _wrong("nothing to run: give the tool's arguments behind --, or --file for an earlier run")
        elif of is None:
            _wrong("--run is wanted: a name for this run")
        else:
            _run(of, where, keep, context.args, settings if conf else None)
    except (CollectorError, DamagedFileError, ValueError, OSError) as error:
        typer.echo(f"perf-test: {error}", err=True)
        raise typer.Exit(EXIT_FAILED) from error


def _run(run: Run, node: str, keep: Path, arguments: list[str], settings: Settings | None) -> None:
    tool = command(run.client_version, arguments)
    run = replace(run, client_version=run.client_version or java.brokers_version())
    sender = Sender(settings) if settings else None
    kept = file_of(keep, run, datetime.now(UTC))
    told = Told(run=run, node=node, file=kept, show=_show)
    if sender:
        told = replace(told, send=sender.send)
    code = watched(tool, arguments, told)
    typer.echo(f"kept in {kept}", err=True)
    if sender is None:
        typer.echo(f"not published: `plumbline perf-test --file {kept} --conf ...` does that", err=True)
    else:
        _tell(sender, f"`plumbline perf-test --file {kept} --conf ...` publishes it again, nothing twice")
    raise typer.Exit(code if code >= 0 else 128 - code)


def _take_in(files: list[Path], run: Run | None, node: str, settings: Settings | None) -> None:
    if settings is None:
        _wrong("--conf is wanted: settings that name the telemetry brokers")
        return
    sender = Sender(settings)
    for path in files:
        if str(path) == STANDARD_INPUT:
            with tempfile.NamedTemporaryFile(prefix="plumbline-perf-test-") as piped:
                while block := sys.stdin.buffer.read(1 << 20):
                    piped.write(block)
                piped.flush()
                _send_all(sender, Path(piped.name), node, run, source=STANDARD_INPUT)
        else:
            _send_all(sender, path, node, run, source=str(path))
    _tell(sender, "run it again, nothing is taken twice")


def _send_all(sender: Sender, path: Path, node: str, run: Run | None, *, source: str) -> None:
    for line in lines_of(path, node, run):
        sender.send(replace(line, source=source))


def _tell(sender: Sender, way_out: str) -> None:
    sent = sender.finish()
    if sent.failures:
        typer.echo(f"perf-test: {sent.failures[0]}; {way_out}", err=True)
        raise typer.Exit(EXIT_FAILED)
    typer.echo(f"published {sent.lines:,} lines", err=True)


def _show(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _wrong(message: str) -> None:
    typer.echo(f"perf-test: {message}", err=True)
    raise typer.Exit(EXIT_WRONG)
