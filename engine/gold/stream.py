"""Gold's one stream: its tables and its checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from conf.settings import Settings
from engine.delta import log_entries, tables
from engine.delta.log_state import REWRITING
from engine.gold.arrivals import inputs_of
from engine.gold.builder import gold_of
from engine.streams.audit.findings import Repair
from engine.streams.audit.gold import gold_repairs
from engine.streams.log import StreamLog
from engine.streams.note import note_versions
from schemas.bronze import BRONZE
from schemas.fields import Table
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver import SILVER
from transforms.gold.builds import BUILDS

EachBatch = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldStream:
    """
    A query from silver to gold, with the tables it writes, and those it reads in the order of its sources.

    Increment `version` when `read` changes, because a checkpoint fits only the query that wrote it.
    """

    name: str
    version: int
    gold: tuple[Table, ...]
    read: tuple[Table, ...]

    def checkpoint(self, settings: Settings) -> Path:
        """Return the folder of the query's checkpoint."""
        return Path(settings.warehouse.checkpoints).resolve() / f"{self.name}-v{self.version}"

    def writer(self, rows: DataFrame, settings: Settings, batches: EachBatch) -> DataStreamWriter:
        """Return the configured stream without starting it, so that a test can choose the trigger."""
        log = StreamLog(self.checkpoint(settings))

        def write(batch: DataFrame, batch_id: int) -> None:
            log.sync(batch_id)
            batches(batch, batch_id)

        writer = rows.writeStream.queryName(self.name).option("checkpointLocation", str(log.folder))
        return writer.foreachBatch(write)

    def repairs(self, settings: Settings) -> list[Repair]:
        """
        Audit gold and all tables of the ingest, whose lines gold counts, and return the repairs.

        Raises:
            StateError: a damage cannot be repaired.

        """
        others = [table for table in (*BRONZE, *SILVER) if table not in self.read]
        gold, read = (
            [Path(tables.path(settings.warehouse_root, table)) for table in of]
            for of in (self.gold, (*self.read, *others))
        )
        return gold_repairs(self.checkpoint(settings), gold, read)

    def note(self, settings: Settings) -> None:
        """
        Store the versions of gold's tables for the audit at the next start.

        What another job is committing to a table that the stream reads is on disk then: if a power cut took
        a version that the stream has read, the stream would miss the next one with its number.
        """
        folders = {table.name: Path(tables.path(settings.warehouse_root, table)) for table in self.gold}
        present = {name: where for name, where in folders.items() if (where / "_delta_log").is_dir()}
        versions = {name: log_entries.opened(where).version() for name, where in present.items()}
        for name, where in present.items():
            log_entries.settle(where, versions[name])  # `maintain` may have written it
        for where in (Path(tables.path(settings.warehouse_root, table)) for table in self.read):
            if (where / REWRITING).exists():
                log_entries.settle(where, log_entries.opened(where).version())
        note_versions(self.checkpoint(settings), versions)


STREAM = GoldStream(
    name="build_gold", version=4, gold=(*gold_of(BUILDS), DATA_QUALITY), read=inputs_of(BUILDS)
)
