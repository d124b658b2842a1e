"""Whether an arm did the whole work: rows of its tables, counted without Spark, against the rows expected."""

from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

Counts = dict[str, tuple[int, int]]
"""By what was counted: the count, and the count expected."""


def check(arm: str, counts: Counts) -> None:
    """
    Check that an arm has done the whole work.

    Raises:
        ValueError: a count is not the one expected.

    """
    for name, (count, wanted) in counts.items():
        if count != wanted:
            message = f"{arm}: {name}: {count:,} and not {wanted:,}, so what it cost cannot be compared"
            raise ValueError(message)


def rows_of(where: Path) -> int:
    """Return the rows of a Delta table according to its log; 0 before the table exists."""
    try:
        table = DeltaTable(str(where))
    except TableNotFoundError:
        return 0
    return sum(table.get_add_actions(flatten=True)["num_records"].to_pylist())


def column(where: Path, name: str) -> list[Any]:
    """Return one column of a Delta table."""
    return list(DeltaTable(str(where)).to_pyarrow_table(columns=[name])[name].to_pylist())
