"""`plumbline perf-test`: run Kafka's producer performance test, or publish the output of an earlier one."""

import socket
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from collectors.errors import CollectorError
from collectors.log_files.lines import DamagedFileError
from collectors.perf_test.run import RunDescription, RunRecording, command, file_of, lines_of, record_run
from collectors.perf_test.sender import Sender
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
        typer.Option(help="Name of the run, unique also among repeats; needed unless --file contains it."),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="The compared variant: a client, a partitioner.")] = None,
    scenario: Annotated[
        str | None, typer.Option(help="Name of the scenario that the run belongs to.")
    ] = None,
    client_version: Annotated[
        str | None,
        typer.Option(help="Release of the client; default: the newest. With --file: the release it had."),
    ] = None,
    warm_up_s: Annotated[
        float, typer.Option(min=0, help="Seconds from the start to exclude from the figures.")
    ] = 0.0,
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings with the telemetry brokers.", exists=True)
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option("--file", help="Output of an earlier run; - is standard input.")
    ] = None,
    node: Annotated[str | None, typer.Option(help="Host of the client; default: this host.")] = None,
    keep: Annotated[Path, typer.Option(help="Folder for the files of the runs.")] = FOLDER,
) -> None:
    """
    Run kafka-producer-perf-test, add a timestamp to each output line, keep the output, and publish it raw.

    All arguments after `--` go to the tool. Its topic must exist: otherwise the tool waits a minute for each
    record.

    Exit codes: 0 done; 1 the tool failed (its own code is printed, and recorded as `exit_code` of the run);
    2 wrong options or a missing file; 3 Plumbline itself failed: nothing was run, or some lines were not
    published, and the message names the file with the lines; 128 + N signal N ended the tool.

    Example: `plumbline perf-test --run r1 --arm sticky --conf my.toml -- --topic t --num-records 100000
    --record-size 512 --throughput 2048 --bootstrap-server localhost:9092`

    Example: `plumbline perf-test --run may --arm old --conf my.toml --file perf-may.txt`
    """
    settings = _settings(conf or [])
    _check(file or [])
    try:
        if client_version and not file and client_version not in java.client_versions():
            _wrong(java.missing_client(client_version))
        described = None
        if run:
            described = RunDescription(
                run=run, arm=arm, scenario=scenario, client_version=client_version, warm_up_s=warm_up_s
            )
        host = node or socket.gethostname()
        if file and context.args:
            _wrong("use either --file, or the tool's arguments after --")
        elif file:
            _publish(file, described, host, settings if conf else None)
        elif not context.args:
            _wrong("nothing to run: add the tool's arguments after --, or --file for an earlier run")
        elif described is None:
            _wrong("--run is required: a name for this run")
        else:
            _run(described, host, keep, context.args, settings if conf else None)
    except (CollectorError, DamagedFileError, ValueError, OSError) as error:
        typer.echo(f"perf-test: {error}", err=True)
        raise typer.Exit(EXIT_FAILED) from error


def _run(run: RunDescription, node: str, keep: Path, arguments: list[str], settings: Settings | None) -> None:
    tool = command(run.client_version, arguments)
    run = replace(run, client_version=run.client_version or java.brokers_version())
    sender = Sender(settings) if settings else None
    kept = file_of(keep, run, datetime.now(UTC))
    recording = RunRecording(run=run, node=node, file=kept, show=_show)
    if sender:
        recording = replace(recording, send=sender.send)
    code = record_run(tool, arguments, recording)
    typer.echo(f"kept in {kept}", err=True)
    is_published = True
    if sender is None:
        typer.echo(f"not published: `plumbline perf-test --file {kept} --conf ...` does that", err=True)
    else:
        remedy = f"`plumbline perf-test --file {kept} --conf ...` publishes it again without duplicates"
        is_published = _is_all_sent(sender, remedy)
    if code > 0:
        typer.echo(f"perf-test: the tool failed with exit code {code}", err=True)
    raise typer.Exit(_exit_code(code, is_published=is_published))


def _exit_code(code: int, *, is_published: bool) -> int:
    """
    Return the exit code of the command; `code` is the tool's, negative after a signal, and takes precedence.

    >>> [_exit_code(code, is_published=True) for code in (0, 1, 3, -15)], _exit_code(0, is_published=False)
    ([0, 1, 1, 143], 3)
    """
    if code:
        return EXIT_TOOL if code > 0 else 128 - code
    return 0 if is_published else EXIT_FAILED


def _publish(files: list[Path], run: RunDescription | None, node: str, settings: Settings | None) -> None:
    if settings is None:
        _wrong("--conf is required: settings with the telemetry brokers")
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
    if not _is_all_sent(sender, "run it again, no line is counted twice"):
        raise typer.Exit(EXIT_FAILED)


def _send_all(sender: Sender, path: Path, node: str, run: RunDescription | None, *, source: str) -> None:
    for line in lines_of(path, node, run):
        sender.send(replace(line, source=source))


def _is_all_sent(sender: Sender, remedy: str) -> bool:
    sent = sender.finish()
    if sent.failures:
        typer.echo(f"perf-test: {sent.failures[0]}; {remedy}", err=True)
        return False
    typer.echo(f"published {sent.lines:,} lines", err=True)
    return True


def _settings(conf: list[Path]) -> Settings:
    try:
        return Settings.load(*conf)
    except (OSError, ValueError) as error:
        _wrong(str(error))


def _check(files: list[Path]) -> None:
    """Check the files first, because a mistyped name is the most likely mistake."""
    for path in files:
        if str(path) != STANDARD_INPUT and (path.is_dir() or not path.exists()):
            _wrong(f"--file {path}: {'is a folder' if path.is_dir() else 'does not exist'}")


def _show(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _wrong(message: str) -> NoReturn:
    typer.echo(f"perf-test: {message}", err=True)
    raise typer.Exit(EXIT_WRONG)
