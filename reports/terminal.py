"""Injected against measured, laid out for a terminal."""

from collections.abc import Sequence

from rich.table import Table

from reports.answers import NONE, Row
from reports.page import ms


def truth_table(rows: Sequence[Row]) -> Table:
    """Lay out injected against measured for a terminal; the delayed pairs first and in bold."""
    table = Table(title="injected against measured, ms")
    for name in ("follower", "leader", "method", "quantile", "injected", "measured", "error", "n"):
        table.add_column(name, justify="left" if name in {"method", "quantile"} else "right")
    for row in rows:
        figures = (ms(row[name]) for name in ("injected_ms", "rise_ms", "error_ms"))
        pair = (str(row["follower_id"]), str(row["leader_id"]), row["method"], row["quantile"] or NONE)
        table.add_row(*pair, *figures, str(row["n"]), style="bold" if row["is_delayed"] else "dim")
    return table
