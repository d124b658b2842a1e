"""
A producer performance test, watched: each line with the instant it was read, as a file and in Kafka.

The tool stamps nothing itself. The file is the run: a line that tells what was run, the tool's own lines,
each behind its instant, and a line that tells how it ended. What is published are the lines of that file,
with their places in it, so that a file sent again adds nothing.
"""

import json
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO

from collectors.errors import CollectorError
from collectors.log_files.lines import CHUNK_BYTES, RawLine, fingerprint, read_lines
from conf import java
from conf.names import RUN_DOCUMENT, Header, Kind

MAIN_CLASS = "org.apache.kafka.tools.ProducerPerformance"
# One language for all figures, whatever the machine's.
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-Xmx512m", "-Duser.language=en", "-Duser.country=US")
UNSAFE = re.compile(r"[^\w.-]+")
CLIENT_ID = re.compile(r"client\.id=(.*)", re.DOTALL)
DEFAULT_CLIENT_ID = "perf-producer-client"
SECRET = re.compile(
    r"(?i)^((?:--[\w-]+=)?[^=]*(?:passw|passphrase|jaas|secret|token|credential|(?:keystore|private)\.key)[^=]*)=.*$",
    re.DOTALL,
)


_TEXTS = ("run", "arm", "scenario", "client_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a line of a performance test is of."""

    run: str
    arm: str | None = None
    scenario: str | None = None
    client_version: str | None = None
    warm_up_s: float = 0.0

    @property
    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """The headers of its records, those that are told."""
        told = {
            Header.RUN: self.run,
            Header.ARM: self.arm,
            Header.SCENARIO: self.scenario,
            Header.CLIENT_VERSION: self.client_version,
        }
        return tuple((header.value, value.encode()) for header, value in told.items() if value)

    @property
    def facts(self) -> dict[str, Any]:
        """The same as fields of the run's document."""
        return {name: getattr(self, name) for name in (*_TEXTS, "warm_up_s")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """
    Where a run's lines go: always to a file; to Kafka and to a terminal when wanted.

    `began` is given the tool as it starts; `errors` is a file for its standard error, else the terminal's.
    """

    run: Run
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
    Return the command line of ProducerPerformance of a release; without one, of the newest that is here.

    `options` are further ones of Java.

    Raises:
        CollectorError: there is no Java, or no jars of that release; those that are here are named.

    """
    try:
        jars = java.class_path(client_version)
        return [java.java(), *JAVA_OPTIONS, *options, "-cp", jars, MAIN_CLASS, *arguments]
    except FileNotFoundError as error:
        raise CollectorError(str(error)) from error


def file_of(folder: Path, run: Run, started_at: datetime) -> Path:
    """Name a run's file by run, arm and start."""
    words = [word for word in (run.run, run.arm) if word]
    return folder / f"{UNSAFE.sub('_', '.'.join(words))}.{started_at:%Y%m%dT%H%M%S.%f}Z.txt"


def watched(tool: Sequence[str], arguments: Sequence[str], told: Told) -> int:
    """
    Run the tool to its end, each line as it comes; return its exit code, or minus the signal that ended it.

    A terminal's Ctrl-C goes to the tool as well, and SIGTERM is handed on to it: what it printed until then
    is kept, and the run says how it ended.
    """
    started_at = datetime.now(UTC)
    facts = told.run.facts | {"started_at": _iso(started_at), **asked(arguments)}
    told.file.parent.mkdir(parents=True, exist_ok=True)
    with told.file.open("xb") as file, _errors(told.errors) as errors:
        out = _Out(file, told)
        out.write(document(facts))
        with subprocess.Popen(tool, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
            told.began(process)
            with _handed_on(process):
                for line in process.stdout:
                    out.write(_iso(datetime.now(UTC)).encode() + b" " + line.rstrip(b"\n"))
                    told.show(line)
                code = process.wait()
        ended = {"ended_at": _iso(datetime.now(UTC)), "exit_code": code}
        out.write(document(facts | ended))
    return code


def _errors(path: Path | None) -> AbstractContextManager[BinaryIO | None]:
    if path is None:
        return nullcontext()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("wb")


@contextmanager
def _handed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let no signal tear a line in two: none of them raises here. A thread gets none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: lambda *_: process.terminate()}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Out:
    """Writes whole lines to the run's file and hands each on with its place in it."""

    def __init__(self, file: Any, told: Told) -> None:  # noqa: ANN401 (a binary file)
        self._file, self._told, self._offset, self._mark = file, told, 0, ""

    def write(self, line: bytes) -> None:
        self._mark = self._mark or fingerprint(line)
        self._file.write(line + b"\n")
        self._file.flush()
        position = f"{self._told.node}/{self._mark}/{self._offset}"
        self._offset += len(line) + 1
        raw = RawLine(line, self._told.node, str(self._told.file), position, Kind.PERF_TEST.value)
        self._told.send(replace(raw, headers=self._told.run.headers, end_offset=self._offset))


def lines_of(
    path: Path, node: str, run: Run | None = None, *, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[RawLine]:
    """
    Read the file of a run: one of ours, or what an earlier run of the tool has printed.

    An earlier run's lines have no instants, and none is made up; `run` says what they are of, and is told in
    a line of its own. What it printed first may be what another one did, so their places go by `run` too.

    Raises:
        CollectorError: the file does not say what it is of, and `run` is not given.
        DamagedFileError: the file cannot be read any further.

    """
    lines = read_lines(path, node, Kind.PERF_TEST.value, chunk_bytes=chunk_bytes)
    first = next(lines, None)
    own = run_of(first.value) if first else None
    of = own or run
    if of is None:
        message = f"{path} does not say what run it is of: give --run, and --arm if there are several"
        raise CollectorError(message)
    if first is None:
        return
    whole: Iterator[RawLine] = chain((first,), lines)
    if own is None:
        mark = fingerprint(document(of.facts) + first.value)
        place = f"{node}/{mark}"
        yield replace(
            first, value=document(of.facts), position=f"{place}/run", headers=of.headers, end_offset=0
        )
        whole = (replace(line, position=f"{place}/{line.position.rpartition('/')[2]}") for line in whole)
    for line in whole:
        yield replace(line, headers=of.headers)


def run_of(line: bytes) -> Run | None:
    """
    Read what was run from the first line of a file of ours.

    >>> run_of(document({"run": "r1", "arm": "sticky"}))
    Run(run='r1', arm='sticky', scenario=None, client_version=None, warm_up_s=0.0)
    >>> run_of(b"100 records sent") is None
    True
    """
    try:
        facts = json.loads(line)[RUN_DOCUMENT]
        return Run(**{name: facts.get(name) for name in _TEXTS}, warm_up_s=facts.get("warm_up_s") or 0.0)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def document(facts: dict[str, Any]) -> bytes:
    """Write the line that tells what was run."""
    return json.dumps({RUN_DOCUMENT: facts}, separators=(",", ":")).encode()


def asked(arguments: Sequence[str]) -> dict[str, Any]:
    """
    Read from the tool's arguments what it was asked for; secrets are left out of what is kept.

    >>> told = asked(["--topic", "t", "--throughput", "2048", "--num-records=10", "--record-size", "512"])
    >>> [told[name] for name in ("topic_name", "asked_records", "asked_records_per_s", "record_size_bytes")]
    ['t', 10, 2048.0, 512]
    >>> asked(["--producer-props", "acks=1", "client.id=c1"])["client_id"], asked([])["client_id"]
    ('c1', 'perf-producer-client')
    >>> asked(["--throughput", "-1"])["asked_records_per_s"] is None
    True
    >>> asked(["--producer-props", "ssl.key.password=hunter2"])["configuration"]
    ['--producer-props', 'ssl.key.password=***']
    >>> asked(["--producer-props=ssl.keystore.key=hunter2", "key.serializer=K"])["configuration"]
    ['--producer-props=ssl.keystore.key=***', 'key.serializer=K']
    """
    words = [word for argument in arguments for word in _split(argument)]
    options = dict(pairwise(words))
    rate = _number(options.get("--throughput"))
    records, size = (_number(options.get(name)) for name in ("--num-records", "--record-size"))
    return {
        "client_id": next((told[1] for word in words if (told := CLIENT_ID.match(word))), DEFAULT_CLIENT_ID),
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
