"""A warehouse for builds of gold: silver arrives in parts, and gold must equal a build from all of silver."""

import shutil
import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow.dataset as ds

from conf.progress import Progress
from conf.settings import Settings, WarehouseSettings
from engine.delta import tables
from engine.gold.arrivals import arrivals, inputs_of
from engine.gold.batches import Batches
from engine.gold.builder import Builder, gold_of
from engine.gold.culprit import culprit_tables
from engine.gold.inputs import WholeInputs, gold_of_all
from engine.gold.stream import STREAM
from schemas.gold.broker_rtt import BROKER_RTT
from tests.transforms.gold.silver_rows import as_rows, frame_of_arrow
from transforms.frames import frame_of
from transforms.gold.broker_rtt.grid import COLUMNS
from transforms.gold.build import Arrived


def append(rows, warehouse, table):
    """Append rows to a table, one file; Delta's own append of a few rows takes ten times as long."""
    tables.append(rows.coalesce(1), warehouse, table, txn_app_id=f"test-{uuid.uuid4()}", txn_version=0)


def arrived_at(of, slot, *touches):
    """Return new rows of an input in a window, with these touches."""
    newest = datetime.fromtimestamp(slot, UTC)
    return Arrived(of.name, "lab", None, slot, lines=1, newest=newest, touches=frozenset(touches))


def gold_at_once(spark, builds, inputs):
    """Return the gold of builds from all of silver as comparable rows, by name of the table."""
    gold = {table: rows for build in builds for table, rows in gold_of_all(build, inputs).items()}
    if any(build.followed_by for build in builds):
        gold |= culprit_tables(gold[BROKER_RTT].select(list(COLUMNS)))
    return {table.name: as_rows(frame_of_arrow(spark, rows)) for table, rows in gold.items()}


class GoldLab:
    """A warehouse, and the ways in which some builds make gold in it."""

    def __init__(self, spark, root, *builds):
        """Use the warehouse under `root`."""
        self.spark, self.root, self.builds = spark, root, builds
        warehouse = WarehouseSettings(root=str(root / "warehouse"), checkpoints=str(root / "checkpoints"))
        self.settings = Settings(warehouse=warehouse)
        self.warehouse = self.settings.warehouse_root
        self.silver = tuple({table.name: table for build in builds for table in build.silver}.values())

    @classmethod
    def empty(cls, spark, root, *builds):
        """Create the tables."""
        lab = cls(spark, root, *builds)
        lab.builder()
        return lab

    def copied(self, root):
        """Copy the tables, which is faster than creating them."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return type(self)(self.spark, root, *self.builds)

    def frame(self, table, rows):
        """Return rows as a frame of a silver table."""
        return frame_of(self.spark, rows, table.schema)

    def arrive(self, table, rows):
        """Append silver rows, one file per table."""
        append(self.frame(table, rows), self.warehouse, table)

    def run(self, builder=None):
        """Build gold of new silver; by default like a new process: no state but tables and the checkpoint."""
        rows = arrivals(self.spark, self.settings, builds=self.builds)
        stream = replace(STREAM, gold=gold_of(self.builds), read=inputs_of(self.builds))
        query = stream.writer(rows, self.settings, Batches(builder or self.builder(), Progress()))
        query.trigger(availableNow=True).start().awaitTermination()

    def builder(self):
        """Return a builder without remembered state."""
        return Builder(self.spark, self.warehouse, Progress(), self.builds)

    def rows(self, table):
        """Return a table as comparable rows."""
        return as_rows(tables.read(self.spark, self.warehouse, table))

    def gold(self):
        """Return the gold tables as comparable rows."""
        return {table.name: self.rows(table) for table in gold_of(self.builds)}

    def at_once(self):
        """Return the gold tables built from all of silver at once."""
        frames = {table: tables.read(self.spark, self.warehouse, table) for table in self.silver}
        inputs = WholeInputs({table: ds.dataset(frame.toArrow()) for table, frame in frames.items()})
        return gold_at_once(self.spark, self.builds, inputs)
