"""`plumbline perf-test`: run Kafka's producer performance test, or take in what one has printed."""

import socket
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from collectors.errors import CollectorError
from collectors.lines import DamagedFileError
from collectors.perf_test import Run, Told, command, file_of, lines_of, watched
from collectors.perf_test_sender import Sender
from conf import java
from conf.settings import Settings

FOLDER = Path(".state/perf-test")
STANDARD_INPUT = "-"
EXIT_TOOL, EXIT_WRONG, EXIT_FAILED = 1, 2, 3


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
    waits a minute.

    Exit codes: 0 done; 1 the tool failed (its own code is told, and stands in the run as `exit_code`);
    2 wrong options, a file that is not there; 3 not the tool but Plumbline failed: nothing was run, or the
    lines were not all published, and the file that holds them is named; 128 + N signal N ended the tool.

    Example: `plumbline perf-test --run r1 --arm sticky --conf my.toml -- --topic t --num-records 100000
    --record-size 512 --throughput 2048 --bootstrap-server localhost:9092`

    Example: `plumbline perf-test --run may --arm old --conf my.toml --file perf-may.txt`
    """
    settings = _settings(conf or [])
    _check(file or [])
    try:
        if client_version and not file and client_version not in java.client_versions():
            _wrong(java.missing_client(client_version))
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
    is_published = True
    if sender is None:
        typer.echo(f"not published: `plumbline perf-test --file {kept} --conf ...` does that", err=True)
    else:
        way_out = f"`plumbline perf-test --file {kept} --conf ...` publishes it again, nothing twice"
        is_published = _is_all_sent(sender, way_out)
    if code > 0:
        typer.echo(f"perf-test: the tool failed with exit code {code}", err=True)
    raise typer.Exit(_exit_code(code, is_published=is_published))


def _exit_code(code: int, *, is_published: bool) -> int:
    """
    Give the command's exit code by the tool's, or minus the signal that ended it: that counts first.

    >>> [_exit_code(code, is_published=True) for code in (0, 1, 3, -15)], _exit_code(0, is_published=False)
    ([0, 1, 1, 143], 3)
    """
    if code:
        return EXIT_TOOL if code > 0 else 128 - code
    return 0 if is_published else EXIT_FAILED


def _take_in(files: list[Path], run: Run | None, node: str, settings: Settings | None) -> None:
    if settings is None:
        _wrong("--conf is wanted: settings that name the telemetry brokers")
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
    if not _is_all_sent(sender, "run it again, nothing is taken twice"):
        raise typer.Exit(EXIT_FAILED)


def _send_all(sender: Sender, path: Path, node: str, run: Run | None, *, source: str) -> None:
    for line in lines_of(path, node, run):
        sender.send(replace(line, source=source))


def _is_all_sent(sender: Sender, way_out: str) -> bool:
    sent = sender.finish()
    if sent.failures:
        typer.echo(f"perf-test: {sent.failures[0]}; {way_out}", err=True)
        return False
    typer.echo(f"published {sent.lines:,} lines", err=True)
    return True


def _settings(conf: list[Path]) -> Settings:
    try:
        return Settings.load(*conf)
    except (OSError, ValueError) as error:
        _wrong(str(error))


def _check(files: list[Path]) -> None:
    """Look for the files before anything else is asked for: a mistyped name is the nearest mistake."""
    for path in files:
        if str(path) != STANDARD_INPUT and (path.is_dir() or not path.exists()):
            _wrong(f"--file {path}: {'is a folder' if path.is_dir() else 'there is no such file'}")


def _show(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _wrong(message: str) -> NoReturn:
    typer.echo(f"perf-test: {message}", err=True)
    raise typer.Exit(EXIT_WRONG)
