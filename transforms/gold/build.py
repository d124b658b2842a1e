"""How a gold table is declared where it is computed. `transforms.gold.builds.BUILDS` has all declarations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from schemas.fields import Table
from transforms.spans import Span, touched
from transforms.sql import Rows
from transforms.windows import WINDOW_S, Coverage, Reach


class Silver(Protocol):
    """Rows of silver."""

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        reach: Reach | None = None,
        *,
        where: str = "true",
    ) -> Rows:
        """
        Return columns of the rows that meet a condition (SQL).

        These are the rows around the windows; of a table in `Build.whole`, all rows. `reach` is at most the
        declared one (default).
        """


class Inputs(Silver, Protocol):
    """The rows that the windows of one step depend on."""

    @property
    def spans(self) -> Sequence[Span] | None:
        """The windows to build; None for all windows of the rows."""

    @property
    def windows(self) -> set[int] | None:
        """The windows of `spans`, in epoch seconds."""

    def derived(
        self,
        table: Table,
        columns: Sequence[str],
        function: Callable[[pa.RecordBatchReader], pa.Table],
        where: pc.Expression | None = None,
    ) -> pa.Table:
        """
        Return a function of the rows of each day of a table in `Build.whole`; of all rows if it has no days.

        Only rows that meet `where` are read, always the same for a function. The result of a day is kept
        until its rows change. `WholeInputs` has one result, of all rows.
        """

    def around(
        self,
        table: Table,
        columns: Sequence[str],
        seconds: Collection[int],
        reach: Reach,
        *,
        where: str = "true",
    ) -> Rows:
        """Return columns of the rows around other windows, which contain these seconds."""

    def covered(self) -> list[Coverage]:
        """Return whether the request lines of the windows are complete (`windows.coverage`)."""

    def has(self, table: Table) -> bool:
        """Return whether a table may have rows, near the windows if the build reads it near."""


class Arrived(NamedTuple):
    """New rows of an input, of one broker and window."""

    input: str  # name of the table
    cluster: str
    broker_id: int | None
    slot: int  # start of the window, epoch seconds
    lines: int
    newest: datetime  # UTC
    touches: frozenset[str]  # names (`Build.touch_name`) of the touches whose condition any row meets


class Memory(Protocol):
    """What a build remembers from batch to batch; all of it can be read from tables again."""

    def windows(self, touched: Sequence[set[int]], arrived: Sequence[Arrived]) -> set[int]:
        """Return the windows to build, given those that new rows touched, one set per `Touch`."""

    def built(self, spans: Sequence[Span], rows: Mapping[Table, pa.Table]) -> None:
        """Note the new rows of the spans."""


class RememberedTables(Protocol):
    """The tables of a warehouse, from which a `Memory` learns."""

    def rows(self, table: Table, columns: Sequence[str], among: Collection[int] | None = None) -> Rows:
        """Return columns of the rows in some windows (default: all rows)."""

    def derived(
        self,
        table: Table,
        columns: Sequence[str],
        function: Callable[[pa.RecordBatchReader], pa.Table],
        where: pc.Expression | None = None,
    ) -> pa.Table:
        """Return a function of the rows of each day of a table (see `Inputs.derived`)."""

    def windows(self, table: Table, among: Collection[int]) -> set[int]:
        """Return those windows (epoch seconds) in which a table has rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """
    The rows of an input that touch windows: the window of the row's instant, extended by the reach.

    `where` is the SQL condition of the rows. With `and_later`, a row touches all windows from its instant on.
    """

    table: Table
    where: str = "true"
    reach: Reach = Reach()  # noqa: RUF009 (it is frozen)
    and_later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """
    How some gold tables are built from silver; one table, or more if they share an expensive step.

    The rows of a window are a function of the rows that `reads` names: those of an input around the window
    (a `Reach`). All rows of the tables in `whole` are read; these are small. New rows touch windows
    (`touched_by`), and a touched window is built again whole.

    The tables in `followed_by` follow from the history of these rows (`engine.gold.culprit`).
    Without any row in the tables of `needs` there is nothing to build. `is_covered`: the rows say whether
    the lines of their window are complete, so a window is built again when it may be settled.
    """

    name: str
    tables: tuple[Table, ...]
    followed_by: tuple[Table, ...] = ()
    rows: Callable[[Inputs], Mapping[Table, pa.Table]]
    reads: Mapping[Table, Reach]
    whole: tuple[Table, ...] = ()
    touched_by: tuple[Touch, ...]
    needs: tuple[Table, ...] = ()
    is_covered: bool = False
    memory: Callable[[RememberedTables], Memory] | None = None

    @property
    def silver(self) -> tuple[Table, ...]:
        """The inputs."""
        return tuple(dict.fromkeys((*self.reads, *self.whole, *(touch.table for touch in self.touched_by))))

    def touch_name(self, n: int) -> str:
        """Return the name of a `Touch`."""
        return f"{self.name}_{n}"

    def touched(self, arrived: Sequence[Arrived], newest: int, newest_stored: int = 0) -> list[set[int]]:
        """
        Return the windows (epoch seconds) that new rows touch, one set per `Touch`.

        Windows after the `newest` row that has arrived are left out: their rows touch them again. After a
        restart, it is the newest window of gold. Then rows without gold may have arrived after it, so a touch
        with `and_later` goes on to the newest row that is stored.
        """
        found = []
        for n, touch in enumerate(self.touched_by):
            name, limit = self.touch_name(n), max(newest, newest_stored if touch.and_later else 0)
            slots = {row.slot for row in arrived if row.input == touch.table.name and name in row.touches}
            if touch.and_later and slots:
                slots = set(range(min(slots), limit + WINDOW_S, WINDOW_S))
            found.append({window for window in touched(slots, touch.reach) if window <= limit})
        return found
