"""Whether all was done: the rows of what was written, counted without Spark, beside what there must be."""

from pathlib import Path
from typing import Any

from deltalake import DeltaTable

Counts = dict[str, tuple[int, int]]
"""What was counted, to how many there are and how many there must be."""


def check(arm: str, counts: Counts) -> None:
    """
    See that an arm has done the whole work.

    Raises:
        ValueError: something holds less or more than there is.

    """
    for name, (count, wanted) in counts.items():
        if count != wanted:
            message = f"{arm}: {name}: {count:,} and not {wanted:,}, so what it cost cannot be compared"
            raise ValueError(message)


def rows_of(where: Path) -> int:
    """Give the rows of a Delta table as its log tells them."""
    return sum(DeltaTable(str(where)).get_add_actions(flatten=True)["num_records"].to_pylist())


def column(where: Path, name: str) -> list[Any]:
    """Give one column of a Delta table."""
    return list(DeltaTable(str(where)).to_pyarrow_table(columns=[name])[name].to_pylist())
