"""What an audit of a stream's state works with: a writer, what was found about it, what is to be mended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.delta_log import LogState, rows_of_batch
from jobs.stream_log import Ends, Place, StreamLog

RESTORE = "restore it"
START_OVER = "or begin with a new [warehouse] root and checkpoints"


class StateError(Exception):
    """The state of a stream is damaged, and what it held cannot be told; nothing was written."""

    def __init__(self, file: Path, step: str, wrong: str, way_out: str) -> None:
        """Tell file, step and way out in one line."""
        super().__init__(f"{step}: {file} {wrong}; nothing was written: {way_out}")


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing to do before the stream starts, and why it is harmless."""

    told: str
    do: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """
    One query: its checkpoint, its id, the bronze table of each topic, and all its tables, that of gaps too.

    The first of `tables` is a bronze table that has every batch, with or without a row.
    """

    query_name: str
    checkpoint: Path
    app_id: str | None  # None as long as the checkpoint has none
    bronze: Mapping[str, Path]  # by topic
    tables: tuple[Path, ...]
    former_names: tuple[str, ...] = ()  # of the queries that it goes on from

    @property
    def id(self) -> str:
        """The application id in the tables; one that no table knows when there is none yet."""
        return self.app_id or ""


@dataclass(slots=True)
class Found:
    """What an audit has found out about one writer so far."""

    writer: Writer
    log: StreamLog
    logs: list[LogState]
    repairs: list[Repair] = field(default_factory=list)
    committed: int = -1  # newest batch that the commit log has, torn entries left out
    top: int = -1  # newest batch that the stream will find in the offset log
    ends: dict[int, Ends] = field(default_factory=dict)

    def txn(self, state: LogState) -> int:
        """Give the newest batch that a table has of this writer, -1 without any."""
        return state.txns.get(self.writer.id, -1)

    @property
    def bronze(self) -> dict[str, LogState]:
        """The bronze table of each topic."""
        states = {state.where: state for state in self.logs}
        return {topic: states[where] for topic, where in self.writer.bronze.items()}

    @property
    def in_bronze(self) -> int:
        """The newest batch that any bronze table has."""
        return max(self.txn(state) for state in self.bronze.values())

    def rows(self, batch: int) -> dict[Place, tuple[int, int]] | None:
        """
        Return the first and last offset of each partition that bronze has of a batch.

        None when the log of the table with every batch no longer names its files.
        """
        rows = rows_of_batch(self.logs[0], self.writer.id, batch)
        if rows is not None:
            for state in self.bronze.values():
                if state is not self.logs[0]:
                    rows |= rows_of_batch(state, self.writer.id, batch) or {}
        return rows

    def mend(self, told: str, do: Callable[[], None]) -> None:
        """Note a repair."""
        self.repairs.append(Repair(told, do))


def mend(repairs: Sequence[Repair], say: Callable[[str], None]) -> None:
    """Do what was found to be harmless, and tell it."""
    for repair in repairs:
        repair.do()
        say(f"mended: {repair.told}")
