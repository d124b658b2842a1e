"""
Read the log of a Delta table file by file to find torn files; a Delta reader fails at the first one.

Only the newest whole checkpoint and the entries after it are read.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conf.names import TelemetryPartition
from engine.process.hadoop_files import is_as_written, orphans
from schemas.delta_log import open_log

CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.(\d{10}))?\.parquet")
VERSION_FILE = re.compile(r"\.?(\d{20})\.")
"""File name prefix of a version's files; checksum files have a leading dot."""

LAST_CHECKPOINT = "_last_checkpoint"
PLUMBLINE_FOLDERS = ("ingest_", "replay-")
"""Prefixes of the folders that the ingest and the replay write their files into."""

FILES = "plumblineFiles"
"""Key in `commitInfo`: how many files an entry adds and removes. It exposes an entry cut at a line end."""

REWRITING = "_rewriting"
"""File in a table's folder while a job other than a stream commits to the table."""

END = b"PAR1"
"""The last bytes of a Parquet file."""

RECORD, PARSER = ("topic", "partition", "offset"), "parser_version"

Action = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """The state of one table's log; `version` is -1 when it has no whole entry."""

    where: Path
    version: int = -1
    txns: dict[str, int] = field(default_factory=dict)
    torn: tuple[Path, ...] = ()  # the newest entries that are not whole, or whose files are not
    hole: Path | None = None  # an earlier entry that is missing or not whole; it cannot be repaired
    confusing: tuple[Path, ...] = ()  # files that make readers fail and that no reader needs


def log_state(where: Path) -> LogState:
    """Return the state of the log of the table in a folder; version -1 if there is no table."""
    log = where / "_delta_log"
    if not log.is_dir():
        return LogState(where=where)
    checksums = [*orphans(log), *log.glob("[0-9]*.crc")]  # first: a checksum is written after its entry
    whole, torn_checkpoints = _checkpoints(log)
    begin = max(whole, default=-1)
    confusing = [file for version in torn_checkpoints for file in torn_checkpoints[version]]
    confusing += _bad_hint(log, whole)
    txns = _txns_of_checkpoint(whole[begin]) if whole else {}
    entries = [n for file in log.glob("*.json") if file.stem.isdigit() and (n := int(file.stem)) > begin]
    found = {n: entry(log, n) for n in range(begin + 1, max(entries, default=begin) + 1)}
    newest = max((n for n, actions in found.items() if actions is not None), default=begin)
    if not _are_files_whole(where, found.get(newest) or []):
        if _only_rewrites(where, found[newest] or []):
            confusing.append(entry_file(log, newest))
            del found[newest]
        else:
            found[newest] = None
    version, hole = max((n for n, actions in found.items() if actions is not None), default=begin), None
    torn = [file for n in found if n > version and (file := entry_file(log, n)).exists()]
    if missing := [n for n in range(begin + 1, version) if found[n] is None]:
        version, hole, torn = missing[0] - 1, entry_file(log, missing[0]), []
    for n in range(begin + 1, version + 1):
        actions = found[n] or []
        txns |= {a["txn"]["appId"]: int(a["txn"]["version"]) for a in actions if "txn" in a}
    if begin >= 0 and version == begin and not torn and not entry_file(log, begin).exists():
        hole = entry_file(log, begin)  # readers need the newest entry even if its checkpoint is whole
    confusing += [
        file for file in checksums if (match := VERSION_FILE.match(file.name)) and int(match[1]) > version
    ]
    return LogState(
        where=where, version=version, txns=txns, torn=tuple(torn), hole=hole, confusing=tuple(confusing)
    )


def entry_file(log: Path, version: int) -> Path:
    """Return the log entry file of a version."""
    return log / f"{version:020}.json"


def entry(log: Path, version: int) -> list[Action] | None:
    """Return the actions of a version; None when its entry is missing or not whole."""
    file = entry_file(log, version)
    try:
        actions = [json.loads(line) for line in file.read_text().rstrip("\n").split("\n")]
    except (OSError, ValueError):
        return None
    if not actions or not all(isinstance(action, dict) for action in actions) or not is_as_written(file):
        return None
    return None if _lost_its_end(actions, is_ingested=log.parent.parent.name != "gold") else actions


def _lost_its_end(actions: list[Action], *, is_ingested: bool) -> bool:
    """Return whether an entry lacks files that it counts, or its last line: a batch id or a table schema."""
    info: Action = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    if info.get("operation") == "CREATE TABLE" and not any("metaData" in action for action in actions):
        return True
    named = sum("add" in action or "remove" in action for action in actions)
    if _files(info) not in {None, named}:
        return True
    is_append = info.get("operationParameters", {}).get("mode") == "Append"
    is_light = is_append and str(info.get("engineInfo", "")).startswith("delta-rs")
    if not is_light or any("txn" in action for action in actions):
        return False
    added = [action["add"]["path"] for action in actions if "add" in action]
    return any(path.startswith(PLUMBLINE_FOLDERS) for path in added) or (is_ingested and len(actions) == 1)


def _files(info: Action) -> int | None:
    """Return how many files an entry says it adds and removes; Plumbline's and delta-rs' OPTIMIZE say so."""
    metrics = info.get("operationMetrics", {})
    if {"numFilesAdded", "numFilesRemoved"} <= metrics.keys():  # Delta Spark has other metric names
        return int(metrics["numFilesAdded"]) + int(metrics["numFilesRemoved"])
    return int(info[FILES]) if FILES in info else None


def added_files(where: Path, actions: Sequence[Action]) -> Iterator[tuple[Path, int]]:
    """Yield path and size of the files that an entry adds."""
    adds = (action["add"] for action in actions if "add" in action)
    return ((where / unquote(add["path"]), int(add["size"])) for add in adds)


def _are_files_whole(where: Path, actions: Sequence[Action]) -> bool:
    """Return whether the files that an entry adds have their sizes and their last bytes; few are read."""
    return all(_has_its_end(file, size) for file, size in added_files(where, actions))


def _has_its_end(file: Path, size: int) -> bool:
    try:
        with file.open("rb") as opened:
            opened.seek(-len(END), os.SEEK_END)
            return opened.read() == END and opened.tell() == size
    except OSError:
        return False


def _only_rewrites(where: Path, actions: Sequence[Action]) -> bool:
    """Return whether an entry only merges files that are all still there."""
    changed = [action[kind] for action in actions for kind in ("add", "remove") if kind in action]
    removed = [where / unquote(action["remove"]["path"]) for action in actions if "remove" in action]
    return not any(each["dataChange"] for each in changed) and all(file.exists() for file in removed)


def rows_of_batch(
    state: LogState, app_id: str, batch: int
) -> dict[TelemetryPartition, tuple[int, int]] | None:
    """
    Return the first and last offset per partition that a batch has committed into a bronze table.

    None when the log no longer has them: the entry was cleaned up, or the files were rewritten.
    """
    files = _files_of_batch(state, app_id, batch)
    return None if files is None else _extremes(files)


def days_of_batch(state: LogState, app_id: str, batch: int, day_column: str) -> set[date] | None:
    """Return the days into which a batch has committed rows; None when the log no longer has its entry."""
    actions = _entry_of_batch(state, app_id, batch)
    if actions is None:
        return None
    days = (action["add"]["partitionValues"].get(day_column) for action in actions if "add" in action)
    return {date.fromisoformat(day) for day in days if day}


def parsers_of_batch(state: LogState, app_id: str, batch: int) -> set[int]:
    """Return the parser versions in the rows that a batch has committed into a table; may be empty."""
    files = _files_of_batch(state, app_id, batch) or []
    rows = [pq.read_table(file, columns=[PARSER], partitioning=None) for file in files if _has_parser(file)]
    return {version for batch_rows in rows for version in batch_rows[PARSER].unique().to_pylist()}


def _has_parser(file: Path) -> bool:
    return PARSER in pq.read_schema(file).names


def _files_of_batch(state: LogState, app_id: str, batch: int) -> list[Path] | None:
    actions = _entry_of_batch(state, app_id, batch)
    if actions is None:
        return None
    files = [state.where / action["add"]["path"] for action in actions if "add" in action]
    return files if all(file.exists() for file in files) else None


def _entry_of_batch(state: LogState, app_id: str, batch: int) -> list[Action] | None:
    log = state.where / "_delta_log"
    for version in range(state.version, -1, -1):
        actions = entry(log, version)
        if actions is None:
            return None
        batches = [txn["version"] for txn in map(_txn, actions) if txn and txn["appId"] == app_id]
        if batch in batches:
            return actions
        if batches and max(batches) < batch:
            return None
    return None


def has_rows_of(where: Path, topic: str) -> bool:
    """Return whether a bronze table has a row of a topic."""
    rows = open_log(where).to_pyarrow_dataset()
    return bool(rows.filter(pc.field("topic") == topic).head(1, columns=["topic"]).num_rows)


def _txn(action: Action) -> Action | None:
    txn = action.get("txn")
    return {"appId": txn["appId"], "version": int(txn["version"])} if txn else None


def _extremes(files: list[Path]) -> dict[TelemetryPartition, tuple[int, int]]:
    if not files:
        return {}
    rows = pa.concat_tables([pq.read_table(file, columns=list(RECORD), partitioning=None) for file in files])
    found = rows.group_by(["topic", "partition"]).aggregate([("offset", "min"), ("offset", "max")])
    return {
        (row["topic"], row["partition"]): (row["offset_min"], row["offset_max"]) for row in found.to_pylist()
    }


def _checkpoints(log: Path) -> tuple[dict[int, list[Path]], dict[int, list[Path]]]:
    """Return the files of the newest good checkpoint, and of each newer checkpoint, which is not."""
    found: dict[int, list[Path]] = {}
    parts: dict[int, int] = {}
    for file in sorted(log.glob("*.checkpoint*.parquet")):
        if match := CHECKPOINT.fullmatch(file.name):
            found.setdefault(int(match[1]), []).append(file)
            parts[int(match[1])] = int(match[2] or 1)
    newest_whole = -1
    for version in sorted(found, reverse=True):
        is_whole = len(found[version]) == parts[version] and all(map(_is_parquet, found[version]))
        if is_whole and not _hides_torn_rewrite(log, version):
            newest_whole = version
            break
    torn = {version: files for version, files in found.items() if version > newest_whole}
    return ({newest_whole: found[newest_whole]} if newest_whole >= 0 else {}), torn


def _hides_torn_rewrite(log: Path, version: int) -> bool:
    """
    Return whether a checkpoint is of the newest version, and this one was rewritten and is not whole.

    delta-rs and Delta Spark write a checkpoint before the version's files are synced.
    """
    if not (log.parent / REWRITING).exists() or entry_file(log, version + 1).exists():
        return False
    actions = entry(log, version)
    return actions is None or not _are_files_whole(log.parent, actions)


def _is_parquet(file: Path) -> bool:
    try:
        return is_as_written(file) and pq.read_table(file).num_rows > 0
    except (OSError, pa.ArrowException):
        return False


def _txns_of_checkpoint(files: list[Path]) -> dict[str, int]:
    rows = [row["txn"] for file in files for row in pq.read_table(file, columns=["txn"]).to_pylist()]
    return {row["appId"]: int(row["version"]) for row in rows if row}


def _bad_hint(log: Path, whole: dict[int, list[Path]]) -> list[Path]:
    """Return the `_last_checkpoint` file if it is torn or names no whole checkpoint."""
    hint = log / LAST_CHECKPOINT
    if not hint.exists():
        return []
    try:
        version = json.loads(hint.read_text())["version"]
        is_good = is_as_written(hint) and version in whole
    except (ValueError, KeyError, TypeError):
        is_good = False
    return [] if is_good else [hint]
