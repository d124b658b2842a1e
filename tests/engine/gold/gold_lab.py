"""A warehouse for gold streams: silver arrives in parts, and gold must equal a build from all of silver."""

import shutil
import uuid
from dataclasses import replace

from conf.settings import Settings, Warehouse
from engine.delta import tables
from engine.gold.arrivals import INSTANTS, arrivals
from engine.gold.batches import Batches
from engine.gold.stream import STREAM
from engine.process.progress import Progress
from tests.transforms.gold.silver_rows import as_rows
from transforms.frames import frame_of


def append(rows, warehouse, table):
    """Append rows to a table, one file; Delta's own append of a few rows takes ten times as long."""
    tables.append(rows.coalesce(1), warehouse, table, txn_app_id=f"test-{uuid.uuid4()}", txn_version=0)


class GoldLab:
    """
    A warehouse and the ways gold is built in it.

    A subclass defines `writer_of`, its input tables `silver`, and `built`, which builds gold from all of
    silver at once.
    """

    def __init__(self, spark, root):
        """Use the warehouse under `root`."""
        self.spark, self.root = spark, root
        warehouse = Warehouse(root=str(root / "warehouse"), checkpoints=str(root / "checkpoints"))
        self.settings = Settings(warehouse=warehouse)
        self.warehouse = self.settings.warehouse_root

    @classmethod
    def empty(cls, spark, root):
        """Create the tables."""
        lab = cls(spark, root)
        for table in (*cls.silver, *cls.writer_of.gold):
            tables.ensure(spark, lab.warehouse, table)
        return lab

    def copied(self, root):
        """Copy the tables, which is faster than creating them."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return type(self)(self.spark, root)

    def frame(self, table, rows):
        """Return rows as a frame of a silver table."""
        return frame_of(self.spark, rows, table.schema)

    def arrive(self, table, rows):
        """Append silver rows, one file per table."""
        append(self.frame(table, rows), self.warehouse, table)

    def run(self):
        """Build gold of new silver, with no state but the tables and the checkpoint."""
        read = tuple(table for table in INSTANTS if table in self.silver)
        rows = arrivals(self.spark, self.settings, read=read)
        stream = replace(STREAM, gold=self.writer_of.gold, read=read)
        query = stream.writer(rows, self.settings, Batches([self.writer()], Progress()))
        query.trigger(availableNow=True).start().awaitTermination()

    def writer(self):
        """Return a writer without remembered state."""
        return self.writer_of(self.spark, self.warehouse, Progress())

    def gold(self):
        """Return the gold tables as comparable rows."""
        gold = self.writer_of.gold
        return {table.name: as_rows(tables.read(self.spark, self.warehouse, table)) for table in gold}

    def at_once(self):
        """Return the gold tables built from all of silver at once."""
        silver = {table: tables.read(self.spark, self.warehouse, table) for table in self.silver}
        return {table.name: as_rows(frame) for table, frame in self.built(silver).items()}
