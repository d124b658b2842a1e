"""`plumbline perf-test`: run Kafka's producer performance test, or publish the output of an earlier one."""

import socket
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from collectors.log_files.lines import DamagedFileError
from collectors.perf_test.run import RunDescription, RunRecording, command, file_of, lines_of, record_run
from collectors.perf_test.sender import Sender
from conf import java
from conf.exit_codes import CommandError, ExitCode, WrongUseError, exit_code_of
from conf.instants import seconds_of
from conf.kafka_security import PLAINTEXT, java_file
from conf.progress import Progress
from conf.settings import Settings
from conf.signals import SIGNALS

FOLDER = Path(".state/perf-test")
STANDARD_INPUT = "-"
CONFIG_FILES = {"--producer.config", "--command-config"}
"""The tool's options for a file of the user's own; without it the tool gets the login of the settings."""

STOPPED = {signed for number in SIGNALS for signed in (-number, 128 + number)}
"""The tool's exit codes after Ctrl-C or SIGTERM: negative without a handler, and those of a JVM."""


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
    warm_up: Annotated[
        str, typer.Option(help="Time from the start to exclude from the figures, for example 30s.")
    ] = "0s",
    former_warm_up_s: Annotated[float | None, typer.Option("--warm-up-s", min=0, hidden=True)] = None,
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
    record. If --conf has `cluster_security` of `[collector]`, the tool logs in with it.

    Exit codes: 0 done; 1 the tool failed (its own code is printed, and recorded as `exit_code` of the run) or
    could not be started, or some lines were not published: the message names the file with the lines; 2 wrong
    options or a missing file; 130 stopped.

    Example: `plumbline perf-test --run r1 --arm sticky --conf my.toml -- --topic t --num-records 100000
    --record-size 512 --throughput 2048 --bootstrap-server localhost:9092`

    Example: `plumbline perf-test --run may --arm old --conf my.toml --file perf-may.txt`
    """
    try:
        settings = Settings.load(*(conf or ()))
        _check(file or [])
        if conf:
            settings.check_cluster(*conf)
        if client_version and not file and client_version not in java.client_versions():
            _wrong(java.missing_client(client_version))
        facts = {"arm": arm, "scenario": scenario, "client_version": client_version}
        warm_up_s = seconds_of("--warm-up", warm_up, former_warm_up_s)
        described = RunDescription(run=run, warm_up_s=warm_up_s, **facts) if run else None
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
    except (CommandError, DamagedFileError, ValueError, OSError) as error:
        _say(str(error))
        raise typer.Exit(exit_code_of(error)) from error


def _run(run: RunDescription, node: str, keep: Path, arguments: list[str], settings: Settings | None) -> None:
    security = settings.collector.cluster_security if settings else PLAINTEXT
    with java_file(security) as properties:
        has_own = any(argument.split("=")[0] in CONFIG_FILES for argument in arguments)
        login = [] if has_own or security == PLAINTEXT else ["--producer.config", str(properties)]
        tool = command(run.client_version, [*arguments, *login], options=security.java_options)
        run = replace(run, client_version=run.client_version or java.brokers_version())
        sender = Sender(settings) if settings else None
        kept = file_of(keep, run, datetime.now(UTC))
        recording = RunRecording(run=run, node=node, file=kept, show=_show)
        if sender:
            recording = replace(recording, send=sender.send)
        code = record_run(tool, arguments, recording)
    _say(f"kept in {kept}")
    is_published = True
    if sender is None:
        _say(f"not published: `plumbline perf-test --file {kept} --conf ...` does that")
    else:
        remedy = f"`plumbline perf-test --file {kept} --conf ...` publishes it again without duplicates"
        is_published = _is_all_sent(sender, remedy)
    if code:
        _say("stopped" if code in STOPPED else f"the tool failed with exit code {code}")
    raise typer.Exit(_exit_code(code, is_published=is_published))


def _exit_code(code: int, *, is_published: bool) -> int:
    """
    Return the exit code of the command; `code` is the tool's, negative after a signal.

    >>> [int(_exit_code(code, is_published=True)) for code in (0, 3, -15, 130, -9)]
    [0, 1, 130, 130, 1]
    """
    if code in STOPPED:
        return ExitCode.INTERRUPTED
    return ExitCode.FAILED if code or not is_published else 0


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
        raise typer.Exit(ExitCode.FAILED)


def _send_all(sender: Sender, path: Path, node: str, run: RunDescription | None, *, source: str) -> None:
    for line in lines_of(path, node, run):
        sender.send(replace(line, source=source))


def _is_all_sent(sender: Sender, remedy: str) -> bool:
    sent = sender.finish()
    if sent.failures:
        _say(f"{sent.failures[0]}; {remedy}")
        return False
    _say(f"published {sent.lines:,} lines")
    return True


def _check(files: list[Path]) -> None:
    """Check the files first, because a mistyped name is the most likely mistake."""
    for path in files:
        if str(path) != STANDARD_INPUT and (path.is_dir() or not path.exists()):
            _wrong(f"--file {path}: {'is a folder' if path.is_dir() else 'does not exist'}")


def _show(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _say(text: str) -> None:
    Progress().say(f"perf-test: {text}")


def _wrong(message: str) -> NoReturn:
    raise WrongUseError(message)
