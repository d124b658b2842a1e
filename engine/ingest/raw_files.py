"""Write the files of brokers as bronze rows, into Parquet files of a separate folder, with bounded memory."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from collectors.files import TelemetryFile
from collectors.log_files.lines import CHUNK_BYTES, DamagedFileError, RawLine, read_lines
from collectors.log_files.siblings import marks_of
from collectors.perf_test.run import RunDescription, lines_of
from collectors.scrape_files import read_scrapes
from conf.names import Kind
from engine.process.cores import Mapper

GROUP_BYTES = 32 * 1024 * 1024
GROUP_ROWS = 50_000
"""A row group is complete when it reaches one of these limits, which bounds memory."""

LINE_BYTES = CHUNK_BYTES
"""Maximum length of a line; the rest is cut off. The collector's records have the same maximum."""

GZIP_FACTOR = 10
"""About how much smaller gzip makes a log."""

DAMAGE_MARK = "/damage"
"""Suffix of the position of a place that cannot be read; no line has it."""

INSTANT = pa.timestamp("us", tz="UTC")
WRITTEN = pa.schema(
    [
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("cluster", pa.string()),
        ("node", pa.string()),
        ("kind", pa.string()),
        ("time_zone", pa.string()),
        ("source", pa.string()),
        ("position", pa.string()),
        ("chunk", pa.string()),
        ("ingested_at", INSTANT),
        ("ingest_date", pa.date32()),
    ]
)
"""The columns of `schemas.bronze.RAW` that a file has; a reader sees the others as NULL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of the files, which they do not contain themselves."""

    folder: Path
    cluster: str
    time_zone: str
    ingested_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRead:
    """
    The counts of one file; `damage` is the place after which it cannot be read.

    `value_bytes` counts only the first `LINE_BYTES` of a longer line.
    """

    source: str
    node: str
    kind: str
    lines: int
    value_bytes: int
    damage: str | None


def write_raw(
    files: Sequence[TelemetryFile],
    origin: Origin,
    target: Path,
    *,
    on_file: Callable[[FileRead], None],
    run_all: Mapper = map,
) -> list[FileRead]:
    """
    Write every line of the files to `target/KIND`, one Parquet file per source; call `on_file` after each.

    Bytes and positions do not change, but a line longer than 4 MiB is cut off there. A place that cannot be
    read becomes a row without a value. The parser quarantines both and keeps the lines around them.
    """
    for kind in Kind:
        (target / kind.value).mkdir(parents=True, exist_ok=True)
    read = []
    write = partial(_write_one, origin=origin, target=target)
    for file in run_all(write, range(len(files)), files, _marks(files)):
        read.append(file)
        on_file(file)
    return read


def size_of(files: Iterable[TelemetryFile]) -> int:
    """Return the approximate number of bytes that these files have uncompressed."""
    return sum(file.path.stat().st_size * (GZIP_FACTOR if file.path.suffix == ".gz" else 1) for file in files)


def _marks(files: Sequence[TelemetryFile]) -> list[str]:
    """Return the mark of each file of lines: files of a node that begin with the same header differ."""
    logs: dict[tuple[str, str], list[int]] = {}
    for index, file in enumerate(files):
        if file.kind not in {Kind.METRICS, Kind.PERF_TEST}:
            logs.setdefault((file.node, file.kind), []).append(index)
    marks = [""] * len(files)
    for places in logs.values():
        for index, mark in zip(places, marks_of(files[index].path for index in places), strict=True):
            marks[index] = mark
    return marks


def _write_one(index: int, file: TelemetryFile, mark: str, origin: Origin, target: Path) -> FileRead:
    target = target / file.kind / f"source-{index:05d}.parquet"
    source = readable(file.path.relative_to(origin.folder))
    lines = value_bytes = 0
    damage: str | None = None
    with closing(pq.ParquetWriter(target, WRITTEN, compression="zstd", use_dictionary=_repeated())) as writer:
        for group in _groups(_until_damage(file, mark, origin.folder)):
            writer.write_table(_table([_row(line, source, origin) for line in group]))
            lines += len(group)
            for line in group:
                if isinstance(line, DamagedFileError):
                    damage = f"{line.reason} at {line.position}"
                else:
                    value_bytes += len(line.value)
    return FileRead(
        source=source, node=file.node, kind=file.kind, lines=lines, value_bytes=value_bytes, damage=damage
    )


def readable(path: Path) -> str:
    """Return a path as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _until_damage(file: TelemetryFile, mark: str, folder: Path) -> Iterator[RawLine | DamagedFileError]:
    try:
        if file.kind == Kind.METRICS:
            yield from read_scrapes(file.path, file.node)
        elif file.kind == Kind.PERF_TEST:
            yield from cut_off(
                lines_of(file.path, file.node, run_by_name(file.path, folder), chunk_bytes=LINE_BYTES)
            )
        else:
            lines = read_lines(file.path, file.node, file.kind, mark=mark, chunk_bytes=LINE_BYTES)
            yield from cut_off(lines)
    except DamagedFileError as damage:
        yield damage


def run_by_name(path: Path, folder: Path) -> RunDescription:
    """
    Return the run of a file that does not name one: the run is the name of the file, the arm its folder.

    >>> run_by_name(Path("logs/uniform/may-1.txt"), Path("logs"))
    RunDescription(run='may-1', arm='uniform', scenario=None, client_version=None, warm_up_s=0.0)
    >>> run_by_name(Path("logs/may-1.txt"), Path("logs")).arm is None
    True
    """
    arm = None if path.parent == folder else readable(Path(path.parent.name))
    return RunDescription(run=readable(Path(path.stem)), arm=arm)


def cut_off(lines: Iterator[RawLine]) -> Iterator[RawLine]:
    """
    Yield only the first part of a line that comes in parts; its `chunk` has the length of the whole line.

    A gzip file of a megabyte can contain a line of gigabytes. The file still has the cut bytes.
    """
    head: RawLine | None = None
    length_bytes = 0
    for line in lines:
        if line.chunk is None:
            yield line
            continue
        part, parts = line.chunk.split("/")
        if part == "1":
            head, length_bytes = line, 0
        length_bytes += len(line.value)
        if head and part == parts:
            yield replace(head, chunk=f"1/{parts} of {length_bytes} bytes", end_offset=line.end_offset)
            head = None


def _groups(lines: Iterator[RawLine | DamagedFileError]) -> Iterator[list[RawLine | DamagedFileError]]:
    group: list[RawLine | DamagedFileError] = []
    held_bytes = 0
    for line in lines:
        group.append(line)
        held_bytes += len(line.value) if isinstance(line, RawLine) else 0
        if held_bytes >= GROUP_BYTES or len(group) >= GROUP_ROWS:
            yield group
            group, held_bytes = [], 0
    if group:
        yield group


def _row(line: RawLine | DamagedFileError, source: str, origin: Origin) -> dict[str, Any]:
    is_line = isinstance(line, RawLine)
    return {
        "value": line.value if isinstance(line, RawLine) else None,
        "headers": [dict(zip(("key", "value"), header, strict=True)) for header in line.headers] or None
        if isinstance(line, RawLine)
        else None,
        "cluster": origin.cluster,
        "node": readable(Path(line.node)),
        "kind": line.kind,
        "time_zone": origin.time_zone,
        "source": source,
        "position": line.position if is_line else f"{line.position}{DAMAGE_MARK}",
        "chunk": line.chunk if isinstance(line, RawLine) else None,
        "ingested_at": origin.ingested_at,
        "ingest_date": origin.ingested_at.date(),
    }


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=WRITTEN)


def _repeated() -> list[str]:
    return [name for name in WRITTEN.names if name not in {"value", "position"}]
