"""Which files under a folder are telemetry, of which node and kind: for reports without Kafka."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from collectors.log_files.gunzip import TornGzipError
from collectors.log_files.lines import is_gzip, is_unreadable, read_blocks
from collectors.own_files import LAB, LAB_STATE, LOGS, is_data, own
from conf.names import Kind

LOOKED_AT_BYTES = 64 * 1024

NO_NODE = "no folder ends in a number; use --node PATTERN=ID"
NOT_TELEMETRY = (
    "neither the name nor the content is a request log, a client log, a state-change log or a perf test, and "
    "a scrape is named *.prom"
)
NOT_GZIP = "compressed, and not by gzip: unpack it first"
PERF_TEST_NODE = "perf-test"
"""Of a performance test in a folder of no broker: where its client ran is not known."""

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
_PERF_TEST = re.compile(rb"^ *\{\"plumbline_run\"|\d records sent, [\d.,]+ records/sec \(", re.MULTILINE)
"""What a producer performance test prints: its files are called anything, `client-3.9.log` too."""

_ENDS_IN_A_NUMBER = re.compile(r"\d$")


class NoSuchFolderError(Exception):
    """The folder to read from is not there."""


@dataclass(frozen=True, slots=True)
class TelemetryFile:
    """One file whose lines can be read: `node` is the folder or id, `kind` the word of the topic."""

    path: Path
    node: str
    kind: str


@dataclass(frozen=True, slots=True)
class Found:
    """Every file of a folder, in one of three lists; each is in the order of its paths."""

    understood: list[TelemetryFile]
    not_understood: list[tuple[Path, str]]
    passed_over: list[tuple[Path, str]]  # known to hold no telemetry, and what they are


def discover(folder: Path, nodes: Mapping[str, str] | None = None) -> Found:
    """
    Sort the files under `folder`, hidden ones left out and links followed, into telemetry and the rest.

    Of the rest, what stands beside telemetry as a matter of course is passed over (`own_files`), unless its
    first 64 KiB do hold telemetry.

    `nodes` maps glob patterns, held against the path below `folder`, its name and its folders' names, to
    the node; the first that fits wins. Without one the nearest folder that ends in a number is the node,
    `folder` itself included and nothing above it. A file is known by its name, else by its first 64 KiB.

    Raises:
        NoSuchFolderError: `folder` is missing or no folder.

    """
    if not folder.is_dir():
        state = "is not a folder" if folder.exists() else "does not exist"
        message = f"{folder} {state}; give the folder that holds the brokers' logs, as in --from DIR"
        raise NoSuchFolderError(message)
    found = Found([], [], [])
    for path, is_lab_state in sorted(_files(folder)):
        if is_lab_state or is_data(path.name):
            found.passed_over.append((path, (LAB_STATE if is_lab_state else own(path.name)) or path.name))
            continue
        kind, reason = _kind_of(path)
        known = own(path.name) if kind is None else None
        node = _node_of(path, folder, nodes or {}) or (PERF_TEST_NODE if kind is Kind.PERF_TEST else None)
        if kind and node:
            found.understood.append(TelemetryFile(path, node, kind.value))
        elif known:
            found.passed_over.append((path, known))
        else:
            found.not_understood.append((path, reason or NO_NODE))
    return found


def _files(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Walk every folder once, by its own name before any link to it; tell what is a lab's state."""
    seen: set[str] = set()
    states: set[Path] = set()  # folders of a lab's state, its logs not among them
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
    return next((name for name in names if _ENDS_IN_A_NUMBER.search(name)), None)


def _kind_of(path: Path) -> tuple[Kind | None, str]:
    """Give the kind, or why there is none; a name that fits needs no readable content."""
    if not path.is_file():
        return None, NOT_A_FILE
    if is_unreadable(path):
        return None, NOT_GZIP
    by_name = next((kind for kind, name in _BY_NAME.items() if name.fullmatch(path.name)), None)
    try:
        head = _head(path)
    except OSError as error:
        return by_name, "" if by_name else f"cannot be read: {error.strerror or error}"
    if _PERF_TEST.search(head) and by_name is not Kind.REQUEST_LOG:
        return Kind.PERF_TEST, ""
    by_content = next((kind for words, kind in _BY_CONTENT if words in head), None)
    kind = by_name or by_content
    return kind, "" if kind else ("empty" if not head else NOT_TELEMETRY)


def _head(path: Path) -> bytes:
    """Read the first bytes; of a torn gzip what there is."""
    head = b""
    with path.open("rb") as stream:
        try:
            for block in read_blocks(stream, is_compressed=is_gzip(path)):
                head += block
                if len(head) >= LOOKED_AT_BYTES:
                    break
        except TornGzipError:
            return head
    return head[:LOOKED_AT_BYTES]
