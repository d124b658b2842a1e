"""How far back gold can be built: where retention deleted silver, windows keep their rows."""

import math
from collections.abc import Mapping
from pathlib import Path

from engine.delta import tables
from schemas.fields import Table
from transforms.windows import WINDOW_S, Reach


def first_whole_window(warehouse: Path, reaches: Mapping[Table, Reach]) -> int | None:
    """Return the first window (epoch seconds) whose silver is complete; None if nothing was ever deleted."""
    starts = [
        math.ceil((at.timestamp() + reach.lookback_s) / WINDOW_S) * WINDOW_S
        for table, reach in reaches.items()
        if (at := tables.complete_from(warehouse, table)) is not None
    ]
    return max(starts, default=None)
