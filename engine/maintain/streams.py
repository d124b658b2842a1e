"""Find how far streams have read and written a Delta table, and which files maintenance must keep."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from engine.delta.log_state import days_of_batch, entry, log_state
from engine.streams.audit.findings import Writer
from engine.streams.log import StreamLog

SECONDS_PER_HOUR = 3_600
NEVER_HOURS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReader:
    """One stream that reads the table; it has finished all versions below `version`."""

    query: str
    checkpoint: Path
    version: int
    is_starting: bool = False  # it still reads the snapshot of its first start, files of any age
    torn: Path | None = None  # a torn offset log entry, so tables and positions are unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What the slowest stream needs: files of the last `hours`; `why` if that extends the retention."""

    hours: int
    why: str = ""
    is_log_needed: bool = False


def readers(checkpoints: Path, table_id: str) -> list[StreamReader]:
    """
    Return the streams that read a table, according to Spark's offset logs in these checkpoints.

    Forces their newest commits to disk: a batch whose commit is lost in a power cut is read again.
    """
    found = []
    for folder in sorted(checkpoints.glob("*/offsets")):
        log, checkpoint = StreamLog(folder.parent), folder.parent
        last = _last_done(log)
        if last is None:
            continue
        sources = log.sources(last)
        if not sources:
            file = log.offsets_file(last)
            found.append(StreamReader(query=checkpoint.name, checkpoint=checkpoint, version=0, torn=file))
        of_table = [
            StreamReader(
                query=checkpoint.name,
                checkpoint=checkpoint,
                version=int(source["reservoirVersion"]),
                is_starting=bool(source.get("isStartingVersion")),
            )
            for source in sources
            if isinstance(source, dict) and source.get("reservoirId") == table_id
        ]
        if of_table:
            log.sync_commit(last)
        found += of_table
    return found


def days_begun(writers: Sequence[Writer], bronze: Path, day_column: str) -> set[date] | None:
    """
    Return the days of a batch that is in a bronze table but not in the commit log: silver may lack it.

    None when the log no longer has the days of the batch.
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
    """Return whether a writer of the table left a batch unfinished for over an hour; it needs the log."""
    for log in (StreamLog(writer.checkpoint) for writer in writers if where in writer.tables):
        if log.offsets and log.offsets[-1] not in log.commits:
            begun_at = log.offsets_file(log.offsets[-1]).stat().st_mtime
            if now.timestamp() - begun_at > SECONDS_PER_HOUR:
                return True
    return False


def needed(log: Path, streams: list[StreamReader], *, hours: int, log_hours: int, now: datetime) -> Needed:
    """
    Return how many hours of removed files VACUUM must keep: `hours`, or back to the slowest stream's version.

    A file that a stream has not read was added by an entry that it has not read, and was removed after that
    entry. So no stream needs a file that was removed before that entry. VACUUM goes by the time of the
    removal in the log, which is too early if the clock was set back: the earliest unread one counts. A stream
    that still reads the snapshot of its first start needs files of any age, and so may a stream whose
    position is unknown.
    """
    most, why, is_log_needed = hours, "", False
    latest = max(int(file.stem) for file in log.glob("*.json") if file.stem.isdigit())
    for stream in streams:
        if stream.torn is not None:
            most, is_log_needed = NEVER_HOURS, True
            why = f"{_of(stream)} has an unknown position, {stream.torn} is torn: all files are kept for it"
            continue
        unread = log / f"{stream.version:020}.json"
        if not unread.exists():
            if stream.version <= latest:
                why = f"{_of(stream)} cannot continue: the log no longer contains version {stream.version}"
            continue
        since_s = min([unread.stat().st_mtime, *_removals_s(log, stream.version, latest)])
        age_hours = int((now.timestamp() - since_s) // SECONDS_PER_HOUR) + 1
        is_log_needed |= age_hours >= log_hours
        wanted = NEVER_HOURS if stream.is_starting and age_hours > hours else age_hours
        if wanted > most:
            most = wanted
            if stream.version < latest:
                why = f"{_of(stream)} is at version {stream.version}, so files of {age_hours} h are kept"
    return Needed(hours=most, why=why, is_log_needed=is_log_needed)


def _removals_s(log: Path, first: int, last: int) -> Iterator[float]:
    """Yield when the entries of these versions say that they removed a file, in epoch seconds."""
    for version in range(first, last + 1):
        for action in entry(log, version) or []:
            if "remove" in action:
                yield action["remove"].get("deletionTimestamp", 0) / 1e3


def _of(stream: StreamReader) -> str:
    return f"the stream {stream.query} (if it is no longer used, remove {stream.checkpoint})"


def _last_done(log: StreamLog) -> int | None:
    """Return the last finished batch; without one, the first begun batch; None without any."""
    begun, done = log.offsets, set(log.commits)
    finished = (batch for batch in reversed(begun) if batch in done and log.is_commit_whole(batch))
    return next(finished, begun[0] if begun else None)
