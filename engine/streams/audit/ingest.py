"""
Audit whether a query's checkpoint and its tables agree, before anything is written.

Only the batch id keeps a batch from being written twice. A checkpoint that was set back would reuse batch ids
that Delta has already seen, and Delta would silently skip the new rows. A torn or missing file is repaired if
its content can be proved; else the job stops and names the file. All cases: `docs/recovery.md`.
"""

from collections.abc import Sequence
from functools import partial

from engine.delta.log_state import LogState, has_rows_of, log_state, parsers_of_batch
from engine.process.hadoop_files import orphans, set_aside
from engine.streams.audit.findings import RESTORE, START_OVER, Findings, Repair, StateError, Writer
from engine.streams.audit.metadata import lost_metadata, torn_metadata
from engine.streams.audit.tables import name_of, table_repairs, torn_entry_repairs
from engine.streams.log import Ends, StreamLog
from engine.streams.note import NONE, written
from engine.streams.writer_id import WRITER_ID
from schemas.silver.not_kept import GAPS
from transforms.parse.record import PARSER_VERSION


def repairs_of(writers: Sequence[Writer]) -> list[Repair]:
    """
    Audit every writer and return the repairs, in order; change nothing.

    Raises:
        StateError: a damage cannot be repaired.

    """
    states = {where: log_state(where) for writer in writers for where in writer.tables}
    repairs = [repair for state in states.values() for repair in table_repairs(state)]
    audited = []
    for writer in writers:
        found = Findings(writer, StreamLog(writer.checkpoint), [states[where] for where in writer.tables])
        _audit(found)
        repairs += found.repairs
        audited.append(found)
    repairs += [repair for state in states.values() for repair in torn_entry_repairs(state, audited)]
    return repairs


def _audit(found: Findings) -> None:
    _id(found)
    _small_files(found)
    if not found.log.offsets and not found.log.commits:
        _new(found)
    else:
        _offsets(found)
    if found.top < 0:
        return
    _topic(found)
    _tables(found)
    _last_batch(found)


def _id(found: Findings) -> None:
    """Refuse a checkpoint without its id, and a lost checkpoint: lines would be written twice."""
    writer, log, bronze = found.writer, found.log, found.bronze.values()
    if writer.app_id is not None:
        return
    prefix = f"{writer.query_name}-"
    prefixes = (prefix, *(f"{name}-" for name in writer.former_names))
    txns = {app_id: batch for state in bronze for app_id, batch in state.txns.items()}
    known = {app_id: batch for app_id, batch in txns.items() if app_id.startswith(prefixes)}
    file = log.folder / WRITER_ID
    if log.offsets or log.commits:
        newest = max(log.offsets + log.commits, default=-1)
        candidates = [app_id for app_id, batch in known.items() if batch in (newest - 1, newest)]
        ids = ", ".join(app_id.removeprefix(prefix) for app_id in candidates) or "no id that fits"
        way_out = f"restore it ({name_of(found.logs[0])} contains {ids}), {START_OVER}"
        raise StateError(file, "reading the writer's id", "is torn or missing", way_out)
    if file.exists():
        found.add_repair(f"{file} is torn, and nothing was written with it", partial(set_aside, file))
    for topic, state in found.bronze.items():
        if known and has_rows_of(state.where, topic):
            wrong = f"has no batch, but {name_of(state)} has lines of {topic}: all would be written twice"
            raise StateError(log.folder, "looking for the checkpoint", wrong, f"{RESTORE}, {START_OVER}")


def _small_files(found: Findings) -> None:
    """Set aside torn files that belong to no batch, and write `metadata` again where Spark needs it."""
    folder, first = found.log.folder, found.log.folder / "sources" / "0" / "0"
    found.repairs += torn_metadata(folder)
    if first.exists() and found.log.initial() is None:
        found.add_repair(f"{first} is torn; the stream does not need it", partial(set_aside, first))
    for place in (folder, folder / "offsets", folder / "commits", folder / "sources" / "0"):
        for crc in orphans(place):
            found.add_repair(f"{crc} is a checksum without its file", crc.unlink)
    if found.log.offsets or found.log.commits or found.in_bronze >= 0:
        found.repairs += lost_metadata(folder)


def _new(found: Findings) -> None:
    """Audit a checkpoint without a batch; derive the offsets of batches that are already in bronze."""
    if found.in_bronze >= 0:
        found.top = found.in_bronze
        _derive(found)


def _offsets(found: Findings) -> None:
    """Find the batch that the stream continues from; derive its offsets from bronze if they are lost."""
    log = found.log
    whole = [n for n in log.commits if log.is_commit_whole(n)]
    found.committed = max(whole, default=-1)
    for n in (n for n in log.commits if n > found.committed):
        found.add_repair(
            f"{log.commits_file(n)} is torn; its batch is retried", partial(set_aside, log.commits_file(n))
        )
    newest = max((n for n in log.offsets if log.ends(n) is not None), default=-1)
    sure = max(found.committed, found.in_bronze)
    found.top = max(newest, sure)
    for n in (n for n in log.offsets if n > found.top):
        reason = f"{log.offsets_file(n)} is torn; nothing of its batch was written, Spark plans it again"
        found.add_repair(reason, partial(set_aside, log.offsets_file(n)))
    _derive(found)


def _derive(found: Findings) -> None:
    """Set the end offsets of the two newest batches, from the file of each or from its rows in bronze."""
    log = found.log
    for n in (found.top - 1, found.top):
        if n < 0:
            continue
        found.ends[n] = _ends(found, n)
        if log.ends(n) is None:
            reason = (
                f"{log.offsets_file(n)} is torn or missing; written again from the batch's rows in bronze"
            )
            found.add_repair(reason, partial(_write_ends, log, n, found.ends[n]))


def _ends(found: Findings, batch: int) -> Ends:
    """Return the end offsets of a batch from its file, else from the batch before it and its own rows."""
    missing: list[int] = []
    n, ends = batch, found.log.ends(batch)
    while ends is None and n >= 0:
        missing.append(n)
        n -= 1
        # Spark starts an unknown partition at its first offset, and fails when that offset is gone.
        ends = found.log.ends(n) if n >= 0 else found.log.initial() or {}
    for each in reversed(missing):
        rows = found.rows(each)
        if not rows or ends is None:  # a gap is a batch without a row
            file, wrong = found.log.offsets_file(batch), "is torn or missing"
            wrong = f"{wrong}, and the log of {name_of(found.logs[0])} no longer has the offsets of its batch"
            raise StateError(file, "reading the offset log", wrong, f"{RESTORE}, {START_OVER}")
        ends = ends | {place: last + 1 for place, (_, last) in rows.items()}
    assert ends is not None  # noqa: S101 (the loop ends with offsets, or raises)
    return ends


def _write_ends(log: StreamLog, batch: int, ends: Ends) -> None:
    if log.offsets_file(batch).exists():
        set_aside(log.offsets_file(batch))
    log.write_ends(batch, ends)


def _topic(found: Findings) -> None:
    others = {topic for topic, _ in found.ends[found.top]} - found.writer.bronze.keys()
    if others:
        wrong = f"reads {', '.join(sorted(others))} and the settings say {', '.join(found.writer.bronze)}"
        way_out = "set topic_prefix back, or [warehouse] checkpoints to a new folder"
        raise StateError(found.log.folder, "reading the offset log", wrong, way_out)


def _tables(found: Findings) -> None:
    """Compare the batches in the tables with those that the checkpoint says were written."""
    noted = written(found.log.folder)
    outdated: list[LogState] = []
    for index, state in enumerate(found.logs):
        name, has = name_of(state), found.txn(state)
        log_folder = state.where / "_delta_log"
        # `--accept-gap` records lost offsets before it writes those of their batch. If it was interrupted
        # there, the next run with this option finishes the batch.
        top = found.top + 1 if state.where.name == GAPS.name else found.top
        if has > top:
            wrong = f"has batch {has} of {found.writer.app_id}, the checkpoint ends with {found.top}"
            way_out = f"restore the newest entries of {name_of(found.logs[0])}, {START_OVER}"
            raise StateError(log_folder, "comparing batches", wrong, way_out)
        newest, before = noted.get(name, NONE)
        due = newest
        if index == 0:  # only the first table has every batch
            due, before = max(found.committed, found.top - 1), found.top - 1
        if has < before or has < due < found.top:
            wrong = f"ends with batch {has} of {found.writer.app_id}, but batch {due} was written into it"
            raise StateError(
                log_folder, "comparing batches", wrong, f"restore its newest entries, {START_OVER}"
            )
        outdated += [state] if has < due else []
    if outdated and found.committed == found.top:
        file = found.log.commits_file(found.top)
        names = ", ".join(name_of(state) for state in outdated)
        found.add_repair(
            f"{names} lost the newest log entry; batch {found.top} is retried", partial(set_aside, file)
        )
        found.committed = found.top - 1


def _last_batch(found: Findings) -> None:
    """Compare a batch that will be retried with its rows that the tables already have."""
    top, bronze = found.top, found.bronze
    if found.committed == top or found.in_bronze != top:
        return
    _same_parser(found)
    rows = found.rows(top)
    if not rows:
        return
    file, ends = found.log.offsets_file(top), found.ends[top]
    begin = found.ends.get(top - 1) or found.log.initial() or {}
    for place, (first, last) in rows.items():
        if first < begin.get(place, 0) or last >= ends.get(place, 0):
            table = name_of(bronze[place[0]])
            wrong = f"and {table} disagree on the lines of batch {top}: another driver wrote it"
            raise StateError(file, "comparing batches", wrong, f"set it aside, start again, {START_OVER}")
    # A bronze table gets all lines of its topic and batch in one commit, so none can follow.
    held = {
        place: end
        if found.txn(bronze[place[0]]) < top
        else rows[place][1] + 1
        if place in rows
        else begin.get(place, end)
        for place, end in ends.items()
    }
    has_gaps = any(state.where.name == GAPS.name and found.txn(state) == top for state in found.logs)
    if held != ends and not has_gaps:  # else silver.gaps has the offsets that bronze lacks
        reason = f"{file} has more lines than bronze has of batch {top}; the next batch reads the others"
        found.add_repair(reason, partial(_write_ends, found.log, top, held))


def _same_parser(found: Findings) -> None:
    """Refuse an unfinished batch of another parser version, which keeps and quarantines other lines."""
    begun = [state for state in found.logs[1:] if found.txn(state) == found.top]
    parsers = {version for state in begun for version in parsers_of_batch(state, found.writer.id, found.top)}
    if parsers - {PARSER_VERSION}:
        versions = ", ".join(map(str, sorted(parsers)))
        wrong = f"was begun by parser version {versions}, and this is {PARSER_VERSION}"
        way_out = "finish it with the version that began it (`plumbline ingest --once`), then upgrade"
        raise StateError(found.log.offsets_file(found.top), "comparing parsers", wrong, way_out)
