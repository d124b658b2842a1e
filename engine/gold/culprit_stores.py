"""Where round trips, their baselines and their culprits are: a warehouse, or the memory of a report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from engine.delta import tables
from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from transforms.gold.broker_rtt.grid import COLUMNS, Mask, seconds
from transforms.spans import Span

TABLES = (BROKER_RTT, BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT)


class Store(Protocol):
    """Where `broker_rtt`, its baselines and its culprits are."""

    def rows(self, table: Table, span: Span) -> pa.Table:
        """Return the rows of a span; of `broker_rtt` at least the columns of a grid."""

    def replace(self, table: Table, rows: Sequence[dict[str, Any]], span: Span) -> None:
        """Replace the rows of a span."""


class WarehouseStore:
    """The tables of a warehouse."""

    def __init__(self, warehouse: Path) -> None:
        """Use existing tables."""
        self._warehouse = warehouse

    def rows(self, table: Table, span: Span) -> pa.Table:
        """Return the rows of a span; of `broker_rtt` the columns of a grid."""
        columns = COLUMNS if table is BROKER_RTT else table.schema.names
        return tables.snapshot(self._warehouse, table).arrow(columns, table.instant, [span])

    def replace(self, table: Table, rows: Sequence[dict[str, Any]], span: Span) -> None:
        """Replace the rows of a span."""
        values = pa.Table.from_pylist(list(rows), schema=arrow_schema(table))
        tables.replace(values, self._warehouse, table, column=table.instant, spans=[span])


class MemoryStore:
    """The rows of a recording, in memory."""

    def __init__(self, broker_rtt: pa.Table) -> None:
        """Use these round trips; there are no baselines and culprits yet."""
        self._tables = {table: arrow_schema(table).empty_table() for table in TABLES}
        self._tables[BROKER_RTT] = broker_rtt

    def rows(self, table: Table, span: Span) -> pa.Table:
        """Return the rows of a span."""
        rows = self._tables[table]
        return rows.filter(pa.array(_is_in(rows, table.instant, span)))

    def replace(self, table: Table, rows: Sequence[dict[str, Any]], span: Span) -> None:
        """Replace the rows of a span."""
        kept = self._tables[table]
        kept = kept.filter(pa.array(~_is_in(kept, table.instant, span)))
        self._tables[table] = pa.concat_tables([kept, pa.Table.from_pylist(list(rows), schema=kept.schema)])


def _is_in(rows: pa.Table, column: str, span: Span) -> Mask:
    at = seconds(rows[column])
    return (at >= span.start) & (at < span.end)
