"""
Repairs of a table's log before a write: set aside files that are torn, left over, or belong to no table.

All cases: `docs/recovery.md`.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from engine.delta.log_state import REWRITING, LogState
from engine.process.hadoop_files import set_aside
from engine.streams.audit.findings import RESTORE, START_OVER, Findings, Repair, StateError


def table_repairs(state: LogState) -> Iterator[Repair]:
    """
    Yield the repairs of a table's log.

    Raises:
        StateError: an entry before the newest one is not whole, or the table has files but no log entry.

    """
    if state.hole is not None:
        torn = next((file for file in state.confusing if ".checkpoint" in file.name), None)
        also = f", and {torn.name} is not whole" if torn else ""
        wrong = f"is missing or not whole{also}, so the rows of the table are unknown"
        step = f"reading the log of {name_of(state)}"
        raise StateError(state.hole, step, wrong, f"{RESTORE}, {START_OVER}")
    if state.version < 0 and not state.torn and (state.where / "_delta_log").is_dir():
        yield from _of_empty_log(state)
        return
    for file in state.confusing:
        yield Repair(
            f"{file} is torn or left over; {name_of(state)} is whole without it", partial(set_aside, file)
        )


def _of_empty_log(state: LogState) -> Iterator[Repair]:
    if next(state.where.rglob("*.parquet"), None):
        wrong = "has no entry, but the folder has files of the table"
        step = f"reading the log of {name_of(state)}"
        raise StateError(state.where / "_delta_log", step, wrong, f"{RESTORE}, {START_OVER}")
    if state.confusing:
        reason = f"{state.where / '_delta_log'} has no entry; the table is created again"
        yield Repair(reason, partial(set_aside, state.where))


def torn_entry_repairs(state: LogState, found: Sequence[Findings]) -> Iterator[Repair]:
    """
    Set aside the torn newest entries of a table if a retried batch writes them again, or if none need to be.

    The first entry needs no batch: the job creates the table again. A commit of an interrupted `maintain` or
    `replay` needs none, because the next run does it again. The audit of the writers has already checked that
    no batch is missing.

    Raises:
        StateError: the rows of a torn entry would be lost.

    """
    is_retried = any(
        state in one.logs and one.committed < one.top and one.txn(state) < one.top for one in found
    )
    is_rewrite = (state.where / REWRITING).exists()
    if state.torn and state.version >= 0 and not (is_retried or is_rewrite):
        wrong = "is torn or its files are, and no retried batch would write it again"
        step = f"reading the log of {name_of(state)}"
        raise StateError(state.torn[0], step, wrong, f"{RESTORE}, {START_OVER}")
    yield from without_torn(
        state, "its batch is retried" if is_retried else "a `maintain` or `replay` was interrupted"
    )


def without_torn(state: LogState, outcome: str) -> Iterator[Repair]:
    """Yield the repairs that set torn newest entries aside; if the first one is torn, the whole table."""
    if state.torn and state.version < 0:
        reason = f"{state.torn[0]} is torn and the first entry; the table is created again"
        yield Repair(reason, partial(set_aside, state.where))
        return
    for file in reversed(state.torn):  # if it is interrupted, the next audit finds the others
        yield Repair(f"{file} is torn, or its files are; {outcome}", partial(set_aside, file))


def name_of(state: LogState) -> str:
    """Return the name of a table, `layer.name`."""
    return f"{state.where.parent.name}.{state.where.name}"
