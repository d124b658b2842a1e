"""
Run Kafka's producer performance test; record each output line with a timestamp in a file and in Kafka.

The tool prints no timestamps. The file of a run contains a JSON line that describes the run, the tool's
lines, each after its timestamp, and a JSON line with the exit code. The published records are the lines of
this file with their offsets, so a file that is published twice adds no rows.
"""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO

from collectors.errors import CollectorError
from collectors.log_files.lines import CHUNK_BYTES, RawLine, fingerprint, read_lines
from conf import java
from conf.names import RUN_DOCUMENT, Header, Kind
from conf.signals import handled_by

MAIN_CLASS = "org.apache.kafka.tools.ProducerPerformance"
# The tool formats its figures in the JVM's locale; the parser expects English.
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-Xmx512m", "-Duser.language=en", "-Duser.country=US")
UNSAFE = re.compile(r"[^\w.-]+")
CLIENT_ID = re.compile(r"client\.id=(.*)", re.DOTALL)
DEFAULT_CLIENT_ID = "perf-producer-client"
SECRET = re.compile(
    r"(?i)^((?:--[\w-]+=)?[^=]*(?:passw|passphrase|jaas|secret|token|credential|(?:keystore|private)\.key)[^=]*)=.*$",
    re.DOTALL,
)


_TEXT_FIELDS = ("run", "arm", "scenario", "client_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDescription:
    """The description of a run: name, arm, scenario, client version and warm-up."""

    run: str
    arm: str | None = None
    scenario: str | None = None
    client_version: str | None = None
    warm_up_s: float = 0.0

    @property
    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """The record headers, without those that are not set."""
        values = {
            Header.RUN: self.run,
            Header.ARM: self.arm,
            Header.SCENARIO: self.scenario,
            Header.CLIENT_VERSION: self.client_version,
        }
        return tuple((header.value, value.encode()) for header, value in values.items() if value)

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of the JSON line that describes the run."""
        return {name: getattr(self, name) for name in (*_TEXT_FIELDS, "warm_up_s")}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecording:
    """
    Where the lines of a run go: to `file`, and to the callbacks `send` (Kafka) and `show` (terminal).

    `began` is called with the process of the tool. `errors` is the file for its standard error; without it,
    the tool writes to the terminal.
    """

    run: RunDescription
    node: str
    file: Path
    send: Callable[[RawLine], None] = lambda _line: None
    show: Callable[[bytes], None] = lambda _line: None
    began: Callable[[subprocess.Popen[bytes]], None] = lambda _process: None
    errors: Path | None = None


def command(
    client_version: str | None, arguments: Sequence[str], *, options: Sequence[str] = ()
) -> list[str]:
    """
    Return the command line of ProducerPerformance of a client release; default: the brokers' release.

    `options` are additional options of Java.

    Raises:
        CollectorError: Java or the jars of the release are missing; the message lists the present releases.

    """
    try:
        jars = java.class_path(client_version)
        return [java.java(), *JAVA_OPTIONS, *options, "-cp", jars, MAIN_CLASS, *arguments]
    except FileNotFoundError as error:
        raise CollectorError(str(error)) from error


def file_of(folder: Path, run: RunDescription, started_at: datetime) -> Path:
    """Return the path of a run's file, named by run, arm and start time."""
    words = [word for word in (run.run, run.arm) if word]
    return folder / f"{UNSAFE.sub('_', '.'.join(words))}.{started_at:%Y%m%dT%H%M%S.%f}Z.txt"


def record_run(tool: Sequence[str], arguments: Sequence[str], recording: RunRecording) -> int:
    """
    Run the tool and record its lines; return its exit code, or the negative number of a signal.

    Ctrl-C in a terminal also reaches the tool, and SIGTERM is forwarded to it. The lines that it printed
    before are kept, and the last line records the exit code.
    """
    started_at = datetime.now(UTC)
    facts = recording.run.facts | {"started_at": _iso(started_at), **parse_arguments(arguments)}
    recording.file.parent.mkdir(parents=True, exist_ok=True)
    with recording.file.open("xb") as file, _errors(recording.errors) as errors:
        out = _RunFile(file, recording)
        out.write(document(facts))
        with subprocess.Popen(tool, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None  # noqa: S101 (stdout is a pipe)
            recording.began(process)
            with handled_by(lambda number: _forward(number, process)):
                for line in process.stdout:
                    out.write(_iso(datetime.now(UTC)).encode() + b" " + line.rstrip(b"\n"))
                    recording.show(line)
                code = process.wait()
        ended = {"ended_at": _iso(datetime.now(UTC)), "exit_code": code}
        out.write(document(facts | ended))
    return code


def _errors(path: Path | None) -> AbstractContextManager[BinaryIO | None]:
    if path is None:
        return nullcontext()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb")


def _forward(number: int, process: subprocess.Popen[bytes]) -> None:
    """Handle a signal without an exception, which would cut a line in two; Ctrl-C reaches the tool itself."""
    if number == signal.SIGTERM:
        process.terminate()


class _RunFile:
    """Writes lines to the file of a run, and sends each with its position."""

    def __init__(self, file: Any, recording: RunRecording) -> None:  # noqa: ANN401 (a binary file)
        self._file, self._recording, self._offset, self._mark = file, recording, 0, ""

    def write(self, line: bytes) -> None:
        self._mark = self._mark or fingerprint(line)
        self._file.write(line + b"\n")
        self._file.flush()
        position = f"{self._recording.node}/{self._mark}/{self._offset}"
        self._offset += len(line) + 1
        raw = RawLine(line, self._recording.node, str(self._recording.file), position, Kind.PERF_TEST.value)
        self._recording.send(replace(raw, headers=self._recording.run.headers, end_offset=self._offset))


def lines_of(
    path: Path, node: str, run: RunDescription | None = None, *, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[RawLine]:
    """
    Yield the lines of a run's file, or of the plain output of an earlier run of the tool.

    Plain output has no timestamps, and none are added. `run` describes it, and is yielded as an additional
    first line. Two runs can print the same first line, so the positions depend on `run` too.

    Raises:
        CollectorError: the file does not describe its run, and `run` is None.
        DamagedFileError: the rest of the file cannot be read.

    """
    lines = read_lines(path, node, Kind.PERF_TEST.value, chunk_bytes=chunk_bytes)
    first = next(lines, None)
    recorded = run_of(first.value) if first else None
    described = recorded or run
    if described is None:
        message = f"{path} does not describe its run: add --run, and --arm if you compare variants"
        raise CollectorError(message)
    if first is None:
        return
    whole: Iterator[RawLine] = chain((first,), lines)
    if recorded is None:
        mark = fingerprint(document(described.facts) + first.value)
        prefix = f"{node}/{mark}"
        yield replace(
            first,
            value=document(described.facts),
            position=f"{prefix}/run",
            headers=described.headers,
            end_offset=0,
        )
        whole = (replace(line, position=f"{prefix}/{line.position.rpartition('/')[2]}") for line in whole)
    for line in whole:
        yield replace(line, headers=described.headers)


def run_of(line: bytes) -> RunDescription | None:
    """
    Parse the first line of a run's file; return None for other lines.

    >>> run_of(document({"run": "r1", "arm": "sticky"}))
    RunDescription(run='r1', arm='sticky', scenario=None, client_version=None, warm_up_s=0.0)
    >>> run_of(b"100 records sent") is None
    True
    """
    try:
        facts = json.loads(line)[RUN_DOCUMENT]
        return RunDescription(
            **{name: facts.get(name) for name in _TEXT_FIELDS}, warm_up_s=facts.get("warm_up_s") or 0.0
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def document(facts: dict[str, Any]) -> bytes:
    """Return the JSON line that describes a run."""
    return json.dumps({RUN_DOCUMENT: facts}, separators=(",", ":")).encode()


def parse_arguments(arguments: Sequence[str]) -> dict[str, Any]:
    """
    Parse the tool's arguments into fields of the run's description; mask the values of secrets.

    >>> fields = parse_arguments(["--topic", "t", "--throughput", "2048", "--num-records=10"])
    >>> [fields[name] for name in ("topic_name", "asked_records", "asked_records_per_s")]
    ['t', 10, 2048.0]
    >>> parse_arguments(["--record-size", "512"])["record_size_bytes"]
    512
    >>> parse_arguments(["--producer-props", "acks=1", "client.id=c1"])["client_id"]
    'c1'
    >>> parse_arguments([])["client_id"]
    'perf-producer-client'
    >>> parse_arguments(["--throughput", "-1"])["asked_records_per_s"] is None
    True
    >>> parse_arguments(["--producer-props", "ssl.key.password=hunter2"])["configuration"]
    ['--producer-props', 'ssl.key.password=***']
    >>> parse_arguments(["--producer-props=ssl.keystore.key=hunter2", "key.serializer=K"])["configuration"]
    ['--producer-props=ssl.keystore.key=***', 'key.serializer=K']
    """
    words = [word for argument in arguments for word in _split(argument)]
    options = dict(pairwise(words))
    rate = _number(options.get("--throughput"))
    records, size = (_number(options.get(name)) for name in ("--num-records", "--record-size"))
    return {
        "client_id": next(
            (found[1] for word in words if (found := CLIENT_ID.match(word))), DEFAULT_CLIENT_ID
        ),
        "topic_name": options.get("--topic"),
        "asked_records": None if records is None else int(records),
        "asked_records_per_s": rate if rate is not None and rate > 0 else None,
        "record_size_bytes": None if size is None else int(size),
        "configuration": [SECRET.sub(r"\1=***", argument) for argument in arguments],
    }


def _split(argument: str) -> list[str]:
    return argument.split("=", 1) if argument.startswith("--") else [argument]


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


def _iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
