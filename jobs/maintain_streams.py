"""How far the streams have read and written a Delta table: what maintenance must leave there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from jobs.delta_log import days_of_batch, log_state
from jobs.state import Writer
from jobs.stream_log import StreamLog

SECONDS_AN_HOUR = 3_600
NEVER_HOURS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One stream that reads the table: versions below `version` it has done with."""

    query: str
    checkpoint: Path
    version: int
    is_starting: bool = False  # it still reads what was there at its first start, of whatever age
    torn: Path | None = None  # what would tell how far it has read, and of which tables


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
        log, checkpoint = StreamLog(folder.parent), folder.parent
        last = _last_done(log)
        if last is None:
            continue
        told = log.sources(last)
        if not told:
            file = log.offsets_file(last)
            found.append(Reader(query=checkpoint.name, checkpoint=checkpoint, version=0, torn=file))
        found += [
            Reader(
                query=checkpoint.name,
                checkpoint=checkpoint,
                version=int(one["reservoirVersion"]),
                is_starting=bool(one.get("isStartingVersion")),
            )
            for one in told
            if isinstance(one, dict) and one.get("reservoirId") == table_id
        ]
    return found


def days_begun(writers: Sequence[Writer], bronze: Path, day_column: str) -> set[date] | None:
    """
    Give the days of the batch that a bronze table has and whose end is not noted: silver may lack it.

    None when the log no longer tells of which days it is.
    """
    for writer in writers:
        log = StreamLog(writer.checkpoint)
        if bronze not in writer.bronze.values() or not log.offsets or log.offsets[-1] in log.commits:
            continue
        state = log_state(bronze)
        if state.txns.get(writer.id) == log.offsets[-1]:
            return days_of_batch(state, writer.id, log.offsets[-1], day_column)
    return set()


def stands_still(writers: Sequence[Writer], where: Path, now: datetime) -> bool:
    """Tell whether a table's writer left a batch unfinished an hour ago: its entry tells how to end it."""
    for log in (StreamLog(writer.checkpoint) for writer in writers if where in writer.tables):
        if log.offsets and log.offsets[-1] not in log.commits:
            begun_at = log.offsets_file(log.offsets[-1]).stat().st_mtime
            if now.timestamp() - begun_at > SECONDS_AN_HOUR:
                return True
    return False


def needed(log: Path, streams: list[Reader], *, hours: int, log_hours: int, now: datetime) -> Needed:
    """
    Say how many hours back VACUUM must leave files: `hours`, or since the slowest stream stood still.

    A file that a stream has yet to read was named by an entry it has not read; whoever removed the file did
    so later. So what was removed before that entry was written is wanted by no stream. One that still reads
    the table's first state wants files of any age, and so may one that does not tell what it has read.
    """
    most, why, is_log_needed = hours, "", False
    latest = max(int(entry.stem) for entry in log.glob("*.json") if entry.stem.isdigit())
    for stream in streams:
        if stream.torn is not None:
            most, is_log_needed = NEVER_HOURS, True
            why = f"{_of(stream)} does not tell what it has read, {stream.torn} is torn: all is kept for it"
            continue
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


def _last_done(log: StreamLog) -> int | None:
    """Give the last batch that was finished, the first one when none was."""
    begun, done = log.offsets, set(log.commits)
    finished = (batch for batch in reversed(begun) if batch in done and log.is_commit_whole(batch))
    return next(finished, begun[0] if begun else None)
