"""Find the telemetry files in a folder, with the node and kind of each, for reports without Kafka."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import is_gzip, is_unreadable, read_blocks
from collectors.own_files import LAB, LAB_STATE, LOGS, family_of, is_data
from conf.names import Kind

HEAD_BYTES, SEARCHED_BYTES = 64 * 1024, 16 * 1024 * 1024
"""A performance test shows at its head; a `server.log` may have other loggers for a long time."""


NO_NODE = "no parent folder has a name that ends in a number (other than a date); use --node PATTERN=ID"
NOT_TELEMETRY = (
    "neither its name nor its content is that of a request log, client log, state-change log or perf test; "
    "saved scrapes must be named *.prom"
)
NOT_GZIP = "compressed, but not with gzip: decompress it first"
PERF_TEST_NODE = "perf-test"
"""The node of a performance test outside a broker's folder: the client's host is unknown."""

NOT_A_FILE = "not a regular file"

_ROTATED = r"([.-][\w.:-]+)?"  # .1, .2026-11-21-10, .gz, or both
_BY_NAME = {
    Kind.REQUEST_LOG: re.compile(r".*request.*\.log" + _ROTATED, re.IGNORECASE),
    Kind.CLIENT_LOG: re.compile(r".*client.*\.log" + _ROTATED, re.IGNORECASE),
    Kind.STATE_CHANGE: re.compile(r".*state-change.*\.log" + _ROTATED, re.IGNORECASE),
    Kind.METRICS: re.compile(r".*\.prom(\.gz)?", re.IGNORECASE),
}
_BY_CONTENT = (
    (b"Completed request:", Kind.REQUEST_LOG),
    (b"(kafka.request.logger)", Kind.REQUEST_LOG),
    (b"NetworkClient)", Kind.CLIENT_LOG),
    (b"[ReplicaFetcher replicaId=", Kind.CLIENT_LOG),
    (b"(state.change.logger)", Kind.STATE_CHANGE),
    (b" starts at leader epoch ", Kind.STATE_CHANGE),
)
LONGEST_WORDS = max(len(words) for words, _ in _BY_CONTENT)
_PERF_TEST = re.compile(rb"^ *\{\"plumbline_run\"|\d records sent, [\d.,]+ records/sec \(", re.MULTILINE)
"""Output of a producer performance test. Its files can have any name, even `client-3.9.log`."""

_ENDS_IN_A_NUMBER = re.compile(r"\d$")
_ENDS_IN_A_DATE = re.compile(
    r"(?<!\d)20\d\d([-_.]?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])(?!\d)[-_.T]?(\d\d([-_.:]?\d\d){0,2})?Z?$"
)
"""A day, with or without a time: `logs-2026-11-29` is not the folder of broker 29."""


class NoSuchFolderError(Exception):
    """The folder to read from does not exist."""


@dataclass(frozen=True, slots=True)
class TelemetryFile:
    """A file to read: `node` is a folder name or a `--node` id, `kind` the suffix of the topic."""

    path: Path
    node: str
    kind: str


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """All files of a folder, in three lists; each list is sorted by path."""

    understood: list[TelemetryFile]
    not_understood: list[tuple[Path, str]]
    passed_over: list[tuple[Path, str]]  # known files without telemetry, and what they are


def discover(folder: Path, nodes: Mapping[str, str] | None = None) -> FoundFiles:
    """
    Return the files in `folder` and its subfolders, sorted into telemetry and other files.

    Hidden files are skipped; symbolic links are followed. The file name decides the kind, or else the first
    16 MiB do. A performance test is recognized by its content, whatever its name, unless it is named as a
    request log. Known files (`own_files`) are passed over if no kind is found; Kafka's data files always.

    `nodes` maps glob patterns to nodes. A pattern is matched against the relative path, the file name and
    each folder name; the first match wins. Without a match, the node is the nearest folder whose name ends
    in a number that is no date, up to and including `folder`.

    Raises:
        NoSuchFolderError: `folder` does not exist or is not a folder.

    """
    if not folder.is_dir():
        state = "is not a folder" if folder.exists() else "does not exist"
        message = f"{folder} {state}; give the folder that contains the brokers' logs, as in --from DIR"
        raise NoSuchFolderError(message)
    found = FoundFiles([], [], [])
    for path, is_lab_state in sorted(_files(folder)):
        if is_lab_state or is_data(path.name):
            found.passed_over.append(
                (path, (LAB_STATE if is_lab_state else family_of(path.name)) or path.name)
            )
            continue
        kind, reason = _kind_of(path)
        known = family_of(path.name) if kind is None else None
        node = _node_of(path, folder, nodes or {}) or (PERF_TEST_NODE if kind is Kind.PERF_TEST else None)
        if kind and node:
            found.understood.append(TelemetryFile(path, node, kind.value))
        elif known:
            found.passed_over.append((path, known))
        else:
            found.not_understood.append((path, reason or NO_NODE))
    return found


def _files(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yield each file, and whether it is a lab's state. A folder is walked once, before any link to it."""
    seen: set[str] = set()
    states: set[Path] = set()  # folders of a lab's state, without its logs
    for root, folders, names in os.walk(folder, followlinks=True):
        here = os.path.realpath(root)
        is_known, found = here in seen, sorted(name for name in folders if not name.startswith("."))
        seen.add(here)
        folders[:] = [] if is_known else sorted(found, key=lambda name: Path(root, name).is_symlink())
        is_inside = Path(root) in states
        is_state = is_inside or set(names) >= LAB
        states.update(Path(root, name) for name in folders if is_inside or (is_state and name != LOGS))
        shown = (name for name in names if not is_known and not name.startswith("."))
        yield from ((Path(root, name), is_state) for name in shown)


def _node_of(path: Path, folder: Path, nodes: Mapping[str, str]) -> str | None:
    below = path.relative_to(folder)
    for pattern, node in nodes.items():
        if any(fnmatch(name, pattern) for name in (str(below), *below.parts)):
            return node
    names = (*reversed(below.parts[:-1]), folder.resolve().name)
    return next((n for n in names if _ENDS_IN_A_NUMBER.search(n) and not _ENDS_IN_A_DATE.search(n)), None)


def _kind_of(path: Path) -> tuple[Kind | None, str]:
    """Return the kind, or None and the reason. With a matching name, the content need not be readable."""
    if not path.is_file():
        return None, NOT_A_FILE
    if is_unreadable(path):
        return None, NOT_GZIP
    by_name = next((kind for kind, name in _BY_NAME.items() if name.fullmatch(path.name)), None)
    try:
        head, by_content = _searched(path, is_named=by_name is not None)
    except OSError as error:
        return by_name, "" if by_name else f"cannot be read: {error.strerror or error}"
    if _PERF_TEST.search(head) and by_name is not Kind.REQUEST_LOG:
        return Kind.PERF_TEST, ""
    kind = by_name or by_content
    return kind, "" if kind else ("empty" if not head else NOT_TELEMETRY)


def _searched(path: Path, *, is_named: bool) -> tuple[bytes, Kind | None]:
    """Return the first 64 KiB and the kind by the content; of a torn gzip file, what can be read of it."""
    head, before, read, kind = b"", b"", 0, None
    with path.open("rb") as stream, suppress(TornGzipError):
        for block in read_blocks(stream, is_compressed=is_gzip(path)):
            head, read = head + block[: HEAD_BYTES - len(head)], read + len(block)
            around, before = before + block, block[-LONGEST_WORDS:]
            kind = kind or next((kind for words, kind in _BY_CONTENT if words in around), None)
            if read >= HEAD_BYTES and (is_named or kind or read >= SEARCHED_BYTES):
                break
    return head, kind
