"""The data of a state audit: the writer, the findings about it, and the repairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conf.exit_codes import CommandError, ExitCode
from conf.names import TelemetryPartition
from engine.delta.log_state import LogState, rows_of_batch
from engine.streams.log import Ends, StreamLog

RESTORE = "restore it"
START_OVER = "or begin with a new [warehouse] root and checkpoints"


class StateError(CommandError):
    """The state of a stream is damaged and cannot be derived again; nothing was written."""

    exit_code = ExitCode.STATE

    def __init__(self, file: Path, step: str, wrong: str, way_out: str) -> None:
        """Build one line with the step, the file, the damage, and what to do."""
        super().__init__(f"{step}: {file} {wrong}; nothing was written: {way_out}")


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair before the stream starts, and why it is harmless."""

    reason: str
    do: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """
    One query: its checkpoint, its id, the bronze table of each topic, and all its tables, `silver.gaps` too.

    The first of `tables` is a bronze table that has every batch, with or without a row.
    """

    query_name: str
    checkpoint: Path
    app_id: str | None  # None until the checkpoint has one
    bronze: Mapping[str, Path]  # by topic
    tables: tuple[Path, ...]
    former_names: tuple[str, ...] = ()  # of the queries that it continues

    @property
    def id(self) -> str:
        """The application id in the tables; empty, which no table contains, before the checkpoint has one."""
        return self.app_id or ""


@dataclass(slots=True)
class Findings:
    """The findings of an audit about one writer so far."""

    writer: Writer
    log: StreamLog
    logs: list[LogState]
    repairs: list[Repair] = field(default_factory=list)
    committed: int = -1  # newest batch in the commit log, without torn entries
    top: int = -1  # newest batch that the stream will find in the offset log
    ends: dict[int, Ends] = field(default_factory=dict)

    def txn(self, state: LogState) -> int:
        """Return the newest batch of this writer in a table, -1 without one."""
        return state.txns.get(self.writer.id, -1)

    @property
    def bronze(self) -> dict[str, LogState]:
        """The bronze table of each topic."""
        states = {state.where: state for state in self.logs}
        return {topic: states[where] for topic, where in self.writer.bronze.items()}

    @property
    def in_bronze(self) -> int:
        """The newest batch in any bronze table."""
        return max(self.txn(state) for state in self.bronze.values())

    def rows(self, batch: int) -> dict[TelemetryPartition, tuple[int, int]] | None:
        """
        Return the first and last offset of each partition of a batch in bronze.

        None when the log of the table with every batch no longer names the files of this batch.
        """
        rows = rows_of_batch(self.logs[0], self.writer.id, batch)
        if rows is not None:
            for state in self.bronze.values():
                if state is not self.logs[0]:
                    rows |= rows_of_batch(state, self.writer.id, batch) or {}
        return rows

    def add_repair(self, reason: str, do: Callable[[], None]) -> None:
        """Add a repair to the findings."""
        self.repairs.append(Repair(reason, do))


def apply_repairs(repairs: Sequence[Repair], say: Callable[[str], None]) -> None:
    """Apply each repair and report it."""
    for repair in repairs:
        repair.do()
        say(f"repaired: {repair.reason}")
