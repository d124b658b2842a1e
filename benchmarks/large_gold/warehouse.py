"""Write gold of a large cluster as its builder does: files of whole hours, then commits of new windows."""

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
from deltalake.transaction import Transaction

from benchmarks.large_gold.cluster import LargeCluster
from engine.delta import appends, tables
from engine.delta.commits import by_key
from engine.delta.data_files import add_action
from engine.delta.file_writer import FileWriter
from engine.gold.culprit import CulpritWriter
from engine.gold.culprit_stores import WarehouseStore
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.data_quality import DATA_QUALITY
from transforms.spans import Span
from transforms.windows import HOUR_S, SETTLE_S

ROW_GROUP_S = 300
_BY_NAME = {f"{table.layer}.{table.name}": table for table in GOLD}


class ShortHistory(WarehouseStore):
    """A warehouse of which baselines read two hours: a day of this cluster takes gigabytes of memory."""

    def rows(self, table: Table, span: Span) -> pa.Table:
        """Return the rows of a span; of `broker_rtt` those of its last two hours."""
        if table is BROKER_RTT:
            span = Span(max(span.start, span.end - 2 * HOUR_S), span.end)
        return super().rows(table, span)


class LargeGold:
    """The gold tables of a large cluster in a warehouse; `end` is the end of its newest window."""

    def __init__(self, root: Path, cluster: LargeCluster, start: int) -> None:
        """Create the tables, without rows."""
        self.root, self.end, self._cluster = root, start, cluster
        for table in GOLD:
            tables.make(root, table)
        self._culprits = CulpritWriter(ShortHistory(root), start)

    def add_hour(self) -> None:
        """Add an hour: one file per table."""
        span = Span(self.end, self.end + HOUR_S)
        writer = FileWriter(self.root, f"hour-{span.start}")
        for start in range(*span, ROW_GROUP_S):
            for table, rows in self._cluster.rows(Span(start, start + ROW_GROUP_S)).items():
                for batch in rows.combine_chunks().to_batches():
                    writer.write(table, by_key(batch, table))
        for file in writer.closed():
            table = _BY_NAME[file.table]
            where = self.root / table.layer / table.name
            appends.append(where, [add_action(table, file)], Transaction("large-gold", span.start))
        self._follow(span)

    def extend(self, end: int, only: Collection[Table] = GOLD) -> None:
        """
        Replace the windows that may not have been settled, and add those up to `end`.

        Each table gets a commit, as from `plumbline build-gold`; `only` restricts the tables.
        """
        span = Span(self.end - SETTLE_S, end)
        for table, rows in self._cluster.rows(span).items():
            if table in only:
                tables.replace(rows, self.root, table, column=table.instant, spans=[span])
        if only is GOLD:
            self._follow(span)

    def _follow(self, span: Span) -> None:
        self.end = span.end
        self._culprits.rebuild([span])
        tables.overwrite(self._cluster.counts(self.end), self.root, DATA_QUALITY)
