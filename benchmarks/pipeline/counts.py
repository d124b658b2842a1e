"""Check that an arm did all its work: count the rows of its tables without Spark."""

from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

Counts = dict[str, tuple[int, int]]
"""By name: the count and the expected count."""


def check(arm: str, counts: Counts) -> None:
    """
    Check that an arm has done all its work.

    Raises:
        ValueError: a count differs from the expected one.

    """
    for name, (count, wanted) in counts.items():
        if count != wanted:
            message = f"{arm}: {name}: {count:,} instead of {wanted:,}, so its cost cannot be compared"
            raise ValueError(message)


def rows_of(where: Path) -> int:
    """Return the number of rows of a Delta table by its log; 0 if the table does not exist."""
    try:
        table = DeltaTable(str(where))
    except TableNotFoundError:
        return 0
    return sum(table.get_add_actions(flatten=True)["num_records"].to_pylist())


def column(where: Path, name: str) -> list[Any]:
    """Return one column of a Delta table."""
    return list(DeltaTable(str(where)).to_pyarrow_table(columns=[name])[name].to_pylist())
