"""
What of a table's log is to be set aside before anybody writes: what is torn, left over, or of no table.

What happens when: `docs/recovery.md`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from engine.delta.log_state import LogState
from engine.process.hadoop_files import set_aside
from engine.streams.audit.findings import RESTORE, START_OVER, Found, Repair, StateError


def table_repairs(state: LogState) -> Iterator[Repair]:
    """
    Give what is to be set aside in a table's log.

    Raises:
        StateError: an entry in its middle is not whole, or all are gone and files of the table are there.

    """
    if state.hole is not None:
        torn = next((file for file in state.confusing if ".checkpoint" in file.name), None)
        also = f", and {torn.name} is not whole" if torn else ""
        wrong = f"is missing or not whole{also}, so what the table held cannot be told"
        step = f"reading the log of {name_of(state)}"
        raise StateError(state.hole, step, wrong, f"{RESTORE}, {START_OVER}")
    if state.version < 0 and state.torn is None and (state.where / "_delta_log").is_dir():
        yield from _of_empty_log(state)
        return
    for file in state.confusing:
        yield Repair(f"{file} is torn or left over; {name_of(state)} is whole without it", aside(file))


def _of_empty_log(state: LogState) -> Iterator[Repair]:
    if next(state.where.rglob("*.parquet"), None):
        wrong = "holds no entry, and files of the table lie beside it"
        step = f"reading the log of {name_of(state)}"
        raise StateError(state.where / "_delta_log", step, wrong, f"{RESTORE}, {START_OVER}")
    if state.confusing:
        told = f"{state.where / '_delta_log'} holds no entry; the table is made anew"
        yield Repair(told, aside(state.where))


def torn_entry_repairs(state: LogState, found: Sequence[Found]) -> Iterator[Repair]:
    """
    Drop the newest entry of a table when it is torn and a batch that is given again will write it.

    The first entry is written by whoever makes the table; that no batch is missing was looked at before.
    """
    if state.torn is None:
        return
    again = any(state in one.logs and one.committed < one.top and one.txn(state) < one.top for one in found)
    if not again and state.version >= 0:
        wrong = "is torn, and no batch that is given again would write it"
        step = f"reading the log of {name_of(state)}"
        raise StateError(state.torn, step, wrong, f"{RESTORE}, {START_OVER}")
    yield torn_entry_repair(state, "its batch is given again")


def torn_entry_repair(state: LogState, way_on: str) -> Repair:
    """Set the torn newest entry of a table aside; with the first goes the whole folder."""
    assert state.torn is not None  # noqa: S101 (asked for by callers)
    if state.version < 0:
        return Repair(f"{state.torn} is torn and the first; the table is made anew", aside(state.where))
    return Repair(f"{state.torn} is torn; {way_on}", aside(state.torn))


def aside(file: Path) -> Callable[[], None]:
    """Give what sets a file or folder aside."""
    return partial(set_aside, file)


def name_of(state: LogState) -> str:
    """Name a table as users know it, `layer.name`."""
    return f"{state.where.parent.name}.{state.where.name}"
