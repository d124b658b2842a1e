"""
Audit whether gold's checkpoint and tables are whole, before anything is written.

Gold is a pure function of silver, and each window is replaced whole. So a retried batch does no harm, and a
stream that starts over builds the same gold. A torn file in the checkpoint is therefore set aside.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from engine.delta.log_state import LogState, entry, log_state
from engine.process.hadoop_files import orphans, set_aside
from engine.streams.audit.findings import RESTORE, Repair, StateError
from engine.streams.audit.metadata import lost_metadata, torn_metadata
from engine.streams.audit.tables import name_of, table_repairs, without_torn
from engine.streams.log import StreamLog
from engine.streams.note import VERSIONS, versions

AGAIN = "gold is built again from all of silver"


def gold_repairs(checkpoint: Path, gold: Sequence[Path], inputs: Sequence[Path]) -> list[Repair]:
    """
    Return the repairs of the checkpoint and of gold's tables.

    `inputs` are the tables of the stream, in its order, then all others that the job reads.

    Raises:
        StateError: a damage cannot be repaired; nothing was changed.

    """
    read = [log_state(where) for where in inputs]
    for state in read:
        broken = state.hole or next(iter(state.torn), None)
        if broken is not None:
            step = f"reading the log of {name_of(state)}"
            way_out = f"start `plumbline ingest` again, which may repair it, or {RESTORE}"
            raise StateError(broken, step, "is missing or not whole", way_out)
    states = [log_state(where) for where in gold]
    repairs = [repair for state in states for repair in table_repairs(state)]
    log = StreamLog(checkpoint)
    repairs += torn_metadata(checkpoint)
    newest = _newest_whole(log)
    known = versions(checkpoint)
    set_back = [state for state in states if state.version < known.get(state.where.name, -1)]
    unknown = [state for state in states if state.torn and state.where.name not in known]
    if set_back or unknown or newest is None or _is_ahead(log, newest, read) or _has_lost(log, newest, read):
        # The evidence that gold was set back goes last. If the repair stops before, the next audit finds it.
        torn = [repair for state in states for repair in without_torn(state, AGAIN)]
        return repairs + _start_over(log) + torn + _without_note(log, set_back)
    torn = [repair for state in states for repair in without_torn(state, "no finished batch wrote it")]
    return repairs + torn + _set_back(log, newest)


def _newest_whole(log: StreamLog) -> int | None:
    """Return the newest batch that Spark can start from; Spark also needs the batch before it."""
    whole = {n for n in log.offsets if log.is_offsets_whole(n)}
    return max((n for n in whole if n == 0 or n - 1 in whole), default=None)


def _set_back(log: StreamLog, newest: int) -> list[Repair]:
    files = [log.offsets_file(n) for n in log.offsets if n > newest]
    # Spark reads the newest commit, whichever it is: a power cut can tear this one and lose those after it.
    done = max((n for n in log.commits if n <= newest and log.is_commit_whole(n)), default=-1)
    files += [log.commits_file(n) for n in log.commits if n > done]
    reason = "is torn or left over; the newest batch is retried"
    repairs = [Repair(f"{file} {reason}", partial(set_aside, file)) for file in files]
    for folder in (log.folder, log.folder / "offsets", log.folder / "commits"):
        repairs += [Repair(f"{crc} is a checksum without its file", crc.unlink) for crc in orphans(folder)]
    return repairs + list(lost_metadata(log.folder))


def _start_over(log: StreamLog) -> list[Repair]:
    if not log.offsets and not log.commits:
        return []
    folders = [folder for folder in (log.folder / "offsets", log.folder / "commits") if folder.exists()]
    return [Repair(f"{folder} is set aside; {AGAIN}", partial(set_aside, folder)) for folder in folders]


def _without_note(log: StreamLog, set_back: Sequence[LogState]) -> list[Repair]:
    if not set_back:
        return []
    names = ", ".join(name_of(state) for state in set_back)
    return [Repair(f"{names} lost its newest entries; {AGAIN}", partial(set_aside, log.folder / VERSIONS))]


def _has_lost(log: StreamLog, batch: int, read: Sequence[LogState]) -> bool:
    """Return whether entries are damaged that the stream has not read, but the table does not need."""
    return any(
        entry(state.where / "_delta_log", version) is None
        for unread, state in _unread_from(log, batch, read)
        for version in range(unread, state.version + 1)
    )


def _is_ahead(log: StreamLog, batch: int, read: Sequence[LogState]) -> bool:
    """Return whether gold has read versions that a table no longer has: new commits will reuse them."""
    return any(unread > state.version + 1 for unread, state in _unread_from(log, batch, read))


def _unread_from(log: StreamLog, batch: int, read: Sequence[LogState]) -> Iterator[tuple[int, LogState]]:
    """Yield the first version of each table that the stream has not read after a batch."""
    offsets: list[dict[str, Any] | None] = log.sources(batch)
    for offset, state in zip(offsets, read, strict=False):
        if offset is not None:
            yield int(offset.get("reservoirVersion", 0)), state
