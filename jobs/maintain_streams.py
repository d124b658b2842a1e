"""How far the streams have read a Delta table: what VACUUM and the cleaning of its log must leave there."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

SECONDS_AN_HOUR = 3_600
NEVER_HOURS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One stream that reads the table: versions below `version` it has done with."""

    query: str
    checkpoint: Path
    version: int
    is_starting: bool = False  # it still reads what was there at its first start, of whatever age


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What the slowest stream wants kept: everything of the last `hours`; `why` when that is long."""

    hours: int
    why: str = ""
    is_log_needed: bool = False


def readers(checkpoints: Path, table_id: str) -> list[Reader]:
    """Find the streams of these checkpoints that read a table, from Spark's own logs of offsets."""
    found = []
    for folder in sorted(checkpoints.glob("*/offsets")):
        offsets = _last_done(folder.parent)
        if offsets is None:
            continue
        told = [json.loads(line) for line in offsets.read_text().splitlines() if line.startswith("{")]
        found += [
            Reader(
                query=folder.parent.name,
                checkpoint=folder.parent,
                version=int(one["reservoirVersion"]),
                is_starting=bool(one.get("isStartingVersion")),
            )
            for one in told
            if one.get("reservoirId") == table_id
        ]
    return found


def needed(log: Path, streams: list[Reader], *, hours: int, log_hours: int, now: datetime) -> Needed:
    """
    Say how many hours back VACUUM must leave files: `hours`, or since the slowest stream stood still.

    A file that a stream has yet to read was named by an entry it has not read; whoever removed the file did
    so later. So what was removed before that entry was written is wanted by no stream. One that still reads
    the table's first state wants files of any age.
    """
    most, why, is_log_needed = hours, "", False
    latest = max(int(entry.stem) for entry in log.glob("*.json") if entry.stem.isdigit())
    for stream in streams:
        entry = log / f"{stream.version:020}.json"
        if not entry.exists():
            if stream.version <= latest:
                why = f"{_of(stream)} cannot go on: the log no longer holds version {stream.version}"
            continue
        age_hours = int((now.timestamp() - entry.stat().st_mtime) // SECONDS_AN_HOUR) + 1
        is_log_needed |= age_hours >= log_hours
        wanted = NEVER_HOURS if stream.is_starting and age_hours > hours else age_hours
        if wanted > most:
            most = wanted
            if stream.version < latest:
                why = f"{_of(stream)} stands at version {stream.version}, {age_hours} h old: kept for it"
    return Needed(hours=most, why=why, is_log_needed=is_log_needed)


def _of(stream: Reader) -> str:
    return f"the stream {stream.query} (if it was given up, remove {stream.checkpoint})"


def _last_done(checkpoint: Path) -> Path | None:
    """Give the offsets of the last batch that was finished, of the first one when none was."""
    done = [int(file.name) for file in checkpoint.glob("commits/*") if file.name.isdigit()]
    begun = [int(file.name) for file in checkpoint.glob("offsets/*") if file.name.isdigit()]
    wanted = [batch for batch in begun if batch in done]
    if not begun:
        return None
    return checkpoint / "offsets" / str(max(wanted, default=min(begun)))
