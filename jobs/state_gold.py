"""
Whether gold's checkpoint and tables are whole, looked at before anything is written.

Gold is a pure function of silver and a window is replaced whole, so a batch that is given again does no harm
and a stream that starts over makes the same gold: whatever is torn in the checkpoint is set aside.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jobs.delta_log import LogState, entry, log_state
from jobs.hadoop_files import orphans, set_aside
from jobs.state import RESTORE, Repair, StateError
from jobs.state_metadata import lost_metadata, torn_metadata
from jobs.state_note import VERSIONS, versions
from jobs.state_tables import name_of, of_table, without_torn_entry
from jobs.stream_log import StreamLog

AGAIN = "gold is built again from all of silver"


def gold_repairs(checkpoint: Path, gold: Sequence[Path], inputs: Sequence[Path]) -> list[Repair]:
    """
    Audit the checkpoint, gold's tables, and the logs of what the stream reads, in the stream's own order.

    Raises:
        StateError: something cannot be mended; nothing was changed.

    """
    read = [log_state(where) for where in inputs]
    for state in read:
        broken = state.hole or state.torn
        if broken is not None:
            step = f"reading the log of {name_of(state)}"
            way_out = f"run `plumbline ingest`, which may mend it, or {RESTORE}"
            raise StateError(broken, step, "is missing or not whole", way_out)
    states = [log_state(where) for where in gold]
    repairs = [repair for state in states for repair in of_table(state)]
    torn = [state for state in states if state.torn is not None]
    log = StreamLog(checkpoint)
    repairs += torn_metadata(checkpoint)
    goes_on_from = _newest_whole(log)
    noted = versions(checkpoint)
    back = [state for state in states if state.version < noted.get(state.where.name, -1)]
    if torn or back or goes_on_from is None:
        # What tells that gold was set back goes last: broken off in between, the next audit finds it again.
        told = [without_torn_entry(state, AGAIN) for state in torn]
        return repairs + _start_over(log) + told + _without_note(log, back)
    is_cut_off = _is_ahead(log, goes_on_from, read) or _has_lost(log, goes_on_from, read)
    return repairs + (_start_over(log) if is_cut_off else _set_back(log, goes_on_from))


def _newest_whole(log: StreamLog) -> int | None:
    """Give the newest batch that Spark can start from, for which it wants the one before it too."""
    whole = {n for n in log.offsets if log.is_offsets_whole(n)}
    return max((n for n in whole if n == 0 or n - 1 in whole), default=None)


def _set_back(log: StreamLog, newest: int) -> list[Repair]:
    files = [log.offsets_file(n) for n in log.offsets if n > newest]
    files += [log.commits_file(n) for n in log.commits if n > newest]
    files += [log.commits_file(n) for n in log.commits if n == newest and not log.is_commit_whole(n)]
    told = "is torn or left over; its batch is given again"
    repairs = [Repair(f"{file} {told}", partial(set_aside, file)) for file in files]
    for folder in (log.folder, log.folder / "offsets", log.folder / "commits"):
        repairs += [Repair(f"{crc} is a checksum without its file", crc.unlink) for crc in orphans(folder)]
    return repairs + list(lost_metadata(log.folder))


def _start_over(log: StreamLog) -> list[Repair]:
    if not log.offsets and not log.commits:
        return []
    folders = [folder for folder in (log.folder / "offsets", log.folder / "commits") if folder.exists()]
    return [Repair(f"{folder} is set aside; {AGAIN}", partial(set_aside, folder)) for folder in folders]


def _without_note(log: StreamLog, back: Sequence[LogState]) -> list[Repair]:
    if not back:
        return []
    names = ", ".join(name_of(state) for state in back)
    return [Repair(f"{names} lost its newest entries; {AGAIN}", partial(set_aside, log.folder / VERSIONS))]


def _has_lost(log: StreamLog, batch: int, read: Sequence[LogState]) -> bool:
    """Tell whether entries are damaged that the stream is yet to read and the table does without."""
    return any(
        entry(state.where / "_delta_log", version) is None
        for unread, state in _unread_from(log, batch, read)
        for version in range(unread, state.version + 1)
    )


def _is_ahead(log: StreamLog, batch: int, read: Sequence[LogState]) -> bool:
    """Tell whether gold has read versions that a table no longer has: others come under their numbers."""
    return any(unread > state.version + 1 for unread, state in _unread_from(log, batch, read))


def _unread_from(log: StreamLog, batch: int, read: Sequence[LogState]) -> Iterator[tuple[int, LogState]]:
    """Give each table with the first version of it that the stream has not read, behind a batch."""
    told: list[dict[str, Any] | None] = log.sources(batch)
    for at, state in zip(told, read, strict=False):
        if at is not None:
            yield int(at.get("reservoirVersion", 0)), state
