"""How far back gold can be built: retention must not turn history into emptiness."""

import math
from collections.abc import Mapping
from pathlib import Path

from engine.delta import tables
from schemas.fields import Table
from transforms.windows import WINDOW_S, Reach


def first_whole_window(warehouse: Path, reaches: Mapping[Table, Reach]) -> int | None:
    """Give the first window (epoch seconds) whose silver is all there, None when none was ever deleted."""
    told = [
        math.ceil((at.timestamp() + reach.lookback_s) / WINDOW_S) * WINDOW_S
        for table, reach in reaches.items()
        if (at := tables.complete_from(warehouse, table)) is not None
    ]
    return max(told, default=None)
