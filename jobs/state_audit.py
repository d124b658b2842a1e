"""
Whether a query's checkpoint and its tables agree, looked at before anything is written.

A batch's number is all that keeps it from being written twice, so a checkpoint that was set back would give
old numbers to new lines and every table would leave them out. What is torn or missing is mended where it is
proved what it held; else the job stops and names the file. What happens when: `docs/recovery.md`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from jobs.delta_log import LogState, has_rows_of, log_state, rows_of_batch
from jobs.hadoop_files import orphans, set_aside
from jobs.state import RESTORE, START_OVER, Found, Repair, StateError, Writer
from jobs.state_note import NONE, written
from jobs.stream_log import Ends, StreamLog, is_json
from jobs.writer_id import WRITER_ID


def repairs_of(writers: Sequence[Writer]) -> list[Repair]:
    """
    Audit every writer; give what is to be mended, in order. Nothing is changed here.

    Raises:
        StateError: something cannot be mended.

    """
    states = {where: log_state(where) for writer in writers for where in writer.tables}
    repairs = [repair for state in states.values() for repair in of_table(state)]
    told = []
    for writer in writers:
        found = Found(writer, StreamLog(writer.checkpoint), [states[where] for where in writer.tables])
        _audit(found)
        repairs += found.repairs
        told.append(found)
    repairs += [repair for state in states.values() for repair in _of_torn_entry(state, told)]
    return repairs


def of_table(state: LogState) -> Iterator[Repair]:
    """
    Give what is to be set aside in a table's log.

    Raises:
        StateError: an entry in its middle is not whole, or all are gone and files of the table are there.

    """
    if state.hole is not None:
        aside = next((file for file in state.confusing if ".checkpoint" in file.name), None)
        also = f", and {aside.name} is not whole" if aside else ""
        wrong = f"is missing or not whole{also}, so what the table held cannot be told"
        step = f"reading the log of {_name(state)}"
        raise StateError(state.hole, step, wrong, f"{RESTORE}, {START_OVER}")
    if state.version < 0 and state.torn is None and (state.where / "_delta_log").is_dir():
        yield from _of_empty_log(state)
        return
    for file in state.confusing:
        yield Repair(f"{file} is torn or left over; {_name(state)} is whole without it", _aside(file))


def _of_empty_log(state: LogState) -> Iterator[Repair]:
    if next(state.where.rglob("*.parquet"), None):
        wrong = "holds no entry, and files of the table lie beside it"
        step = f"reading the log of {_name(state)}"
        raise StateError(state.where / "_delta_log", step, wrong, f"{RESTORE}, {START_OVER}")
    if state.confusing:
        told = f"{state.where / '_delta_log'} holds no entry; the table is made anew"
        yield Repair(told, _aside(state.where))


def _of_torn_entry(state: LogState, found: Sequence[Found]) -> Iterator[Repair]:
    """
    Drop the newest entry of a table when it is torn and a batch that is given again will write it.

    The first entry is written by whoever makes the table; that no batch is missing was looked at before.
    """
    if state.torn is None:
        return
    again = any(state in one.logs and one.committed < one.top for one in found)
    if not again and state.version >= 0:
        wrong = "is torn, and no batch that is given again would write it"
        step = f"reading the log of {_name(state)}"
        raise StateError(state.torn, step, wrong, f"{RESTORE}, {START_OVER}")
    yield without_torn_entry(state, "its batch is given again")


def without_torn_entry(state: LogState, way_on: str) -> Repair:
    """Set the torn newest entry of a table aside; with the first goes the whole folder."""
    assert state.torn is not None  # noqa: S101 (asked for by callers)
    if state.version < 0:
        return Repair(f"{state.torn} is torn and the first; the table is made anew", _aside(state.where))
    return Repair(f"{state.torn} is torn; {way_on}", _aside(state.torn))


def _audit(found: Found) -> None:
    _id(found)
    _metadata(found)
    if not found.log.offsets and not found.log.commits:
        _new(found)
    else:
        _offsets(found)
    if found.top < 0:
        return
    _topic(found)
    _tables(found)
    _last_batch(found)


def _id(found: Found) -> None:
    """Refuse a checkpoint that lost its id, or an id that lost its checkpoint: lines would be doubled."""
    writer, log, bronze = found.writer, found.log, found.logs[0]
    if writer.app_id is not None:
        return
    prefix = f"{writer.query_name}-"
    known = {app_id: batch for app_id, batch in bronze.txns.items() if app_id.startswith(prefix)}
    file = log.folder / WRITER_ID
    if log.offsets or log.commits:
        newest = max(log.offsets + log.commits, default=-1)
        likely = [app_id for app_id, batch in known.items() if batch in (newest - 1, newest)]
        ids = ", ".join(app_id.removeprefix(prefix) for app_id in likely) or "none that fits"
        way_out = f"restore it ({_name(bronze)} knows {ids}), {START_OVER}"
        raise StateError(file, "reading the writer's id", "is torn or missing", way_out)
    if file.exists():
        found.mend(f"{file} is torn, and nothing was written under it", _aside(file))
    if known and has_rows_of(bronze.where, writer.topic):
        wrong = f"has no batch yet, and {_name(bronze)} holds lines of {writer.topic}: they would be doubled"
        raise StateError(log.folder, "looking for the checkpoint", wrong, f"{RESTORE}, {START_OVER}")


def _metadata(found: Found) -> None:
    """Let Spark make files anew that it only wants to be there."""
    folder = found.log.folder
    for name in (folder / "metadata", folder / "sources" / "0" / "0"):
        is_whole = found.log.initial() is not None if name.name == "0" else is_json(name)
        if name.exists() and not is_whole:
            found.mend(f"{name} is torn; the stream does without it", _aside(name))
    for place in (folder, folder / "offsets", folder / "commits", folder / "sources" / "0"):
        for crc in orphans(place):
            found.mend(f"{crc} is a checksum without its file", crc.unlink)


def _new(found: Found) -> None:
    """Look at a checkpoint without a batch: the tables must have none of it either."""
    bronze = found.logs[0]
    if found.txn(bronze) >= 0:
        found.top = found.txn(bronze)
        _derive(found)


def _offsets(found: Found) -> None:
    """Find the batch that the stream goes on from; derive its offsets from bronze when they are gone."""
    log, bronze = found.log, found.logs[0]
    whole = [n for n in log.commits if log.is_commit_whole(n)]
    found.committed = max(whole, default=-1)
    for n in (n for n in log.commits if n > found.committed):
        found.mend(f"{log.commits_file(n)} is torn; its batch is given again", _aside(log.commits_file(n)))
    newest = max((n for n in log.offsets if log.ends(n) is not None), default=-1)
    sure = max(found.committed, found.txn(bronze))
    found.top = max(newest, sure)
    for n in (n for n in log.offsets if n > found.top):
        told = f"{log.offsets_file(n)} is torn; nothing of its batch was written, it is made anew"
        found.mend(told, _aside(log.offsets_file(n)))
    _derive(found)


def _derive(found: Found) -> None:
    """Tell where the two newest batches end, each from its file or else from its rows in bronze."""
    log = found.log
    for n in (found.top - 1, found.top):
        if n < 0:
            continue
        found.ends[n] = _ends(found, n)
        if log.ends(n) is None:
            told = f"{log.offsets_file(n)} is torn or missing; what bronze holds of its batch tells its end"
            found.mend(told, partial(_write_ends, log, n, found.ends[n]))


def _ends(found: Found, batch: int) -> Ends:
    """Take a batch's ends from its file, else from the batch before it and its own rows."""
    missing: list[int] = []
    n, ends = batch, found.log.ends(batch)
    while ends is None and n >= 0:
        missing.append(n)
        n -= 1
        # Spark lets a partition that it does not know begin at its start, and fails when that is gone.
        ends = found.log.ends(n) if n >= 0 else found.log.initial() or {}
    bronze = found.logs[0]
    for each in reversed(missing):
        rows = rows_of_batch(bronze, found.writer.id, each)
        if rows is None or ends is None:
            file, wrong = found.log.offsets_file(batch), "is torn or missing"
            told = f"{wrong}, and {_name(bronze)} no longer tells what its batch read"
            raise StateError(file, "reading the offset log", told, f"{RESTORE}, {START_OVER}")
        ends = ends | {place: last + 1 for place, (_, last) in rows.items()}
    assert ends is not None  # noqa: S101 (the loop ends with some, or raises)
    return ends


def _write_ends(log: StreamLog, batch: int, ends: Ends) -> None:
    if log.offsets_file(batch).exists():
        set_aside(log.offsets_file(batch))
    log.write_ends(batch, ends)


def _topic(found: Found) -> None:
    others = {topic for topic, _ in found.ends[found.top]} - {found.writer.topic}
    if others:
        wrong = f"reads {', '.join(sorted(others))} and the settings say {found.writer.topic}"
        way_out = "set topic_prefix back, or [warehouse] checkpoints to a new folder"
        raise StateError(found.log.folder, "reading the offset log", wrong, way_out)


def _tables(found: Found) -> None:
    """Hold the batches that the tables have against those that the checkpoint says were written."""
    noted = written(found.log.folder)
    behind: list[LogState] = []
    for nth, state in enumerate(found.logs):
        name, has = _name(state), found.txn(state)
        log_folder = state.where / "_delta_log"
        if has > found.top:
            wrong = f"has batch {has} of {found.writer.app_id} and the checkpoint only {found.top}"
            way_out = f"restore the newest entries of {_name(found.logs[0])}, {START_OVER}"
            raise StateError(log_folder, "comparing batches", wrong, way_out)
        newest, before = noted.get(name, NONE)
        due = newest
        if nth == 0:  # each batch goes into bronze
            due, before = max(found.committed, found.top - 1), found.top - 1
        if has < before or has < due < found.top:
            wrong = f"ends with batch {has} of {found.writer.app_id}, and batch {due} was written into it"
            raise StateError(
                log_folder, "comparing batches", wrong, f"restore its newest entries, {START_OVER}"
            )
        behind += [state] if has < due else []
    if behind and found.committed == found.top:
        file = found.log.commits_file(found.top)
        names = ", ".join(_name(state) for state in behind)
        found.mend(
            f"{names} lost the newest entry of the log; batch {found.top} is given again", _aside(file)
        )
        found.committed = found.top - 1


def _last_batch(found: Found) -> None:
    """Hold a batch that is given again against what bronze already has of it: it must be the same lines."""
    bronze = found.logs[0]
    if found.committed == found.top or found.txn(bronze) != found.top:
        return
    begin = found.ends.get(found.top - 1, {})
    rows = rows_of_batch(bronze, found.writer.id, found.top) or {}
    for place, (first, last) in rows.items():
        if first < begin.get(place, 0) or last >= found.ends[found.top].get(place, 0):
            wrong = (
                f"tells other lines than {_name(bronze)} has of batch {found.top}: another driver wrote it"
            )
            file = found.log.offsets_file(found.top)
            raise StateError(file, "comparing batches", wrong, f"set it aside, start again, {START_OVER}")


def _aside(file: Path) -> Callable[[], None]:
    return partial(set_aside, file)


def _name(state: LogState) -> str:
    return f"{state.where.parent.name}.{state.where.name}"
