"""Gold's one stream: its writers, its checkpoint, and the takeover from the four former streams."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from conf.settings import Settings
from engine.delta import log_entries, tables
from engine.gold.arrivals import INSTANTS
from engine.gold.clients import ClientWriter
from engine.gold.metrics import MetricsWriter
from engine.gold.throttles import ThrottleWriter
from engine.gold.writer import GoldWriter
from engine.process.hadoop_files import set_aside
from engine.streams.audit.findings import Repair
from engine.streams.audit.gold import gold_repairs
from engine.streams.log import StreamLog
from engine.streams.note import note_versions
from schemas.bronze import METRICS
from schemas.fields import Table
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES

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
        checkpoint = str(self.checkpoint(settings))
        writer = rows.writeStream.queryName(self.name).option("checkpointLocation", checkpoint)
        return writer.foreachBatch(batches)

    def repairs(self, settings: Settings) -> list[Repair]:
        """
        Return the repairs that an audit of gold and of its inputs finds.

        Raises:
            StateError: a damage cannot be repaired.

        """
        gold, read = (
            [Path(tables.path(settings.warehouse_root, table)) for table in of]
            for of in (self.gold, self.read)
        )
        return gold_repairs(self.checkpoint(settings), gold, read)

    def note(self, settings: Settings) -> None:
        """Store the versions of gold's tables for the audit at the next start."""
        folders = {table.name: Path(tables.path(settings.warehouse_root, table)) for table in self.gold}
        present = {name: where for name, where in folders.items() if (where / "_delta_log").is_dir()}
        versions = {name: log_entries.opened(where).version() for name, where in present.items()}
        note_versions(self.checkpoint(settings), versions)


WRITERS = (GoldWriter, ClientWriter, MetricsWriter, ThrottleWriter)

STREAM = GoldStream(
    name="build_gold",
    version=2,
    gold=(*(table for writer in WRITERS for table in writer.gold), DATA_QUALITY),
    read=tuple(INSTANTS),
)

FORMER = tuple(
    GoldStream(name=name, version=1, gold=writer.gold, read=read)
    for name, writer, read in (
        ("build_gold", GoldWriter, (METRICS, REQUESTS, CLIENT_EVENTS)),
        ("build_gold_clients", ClientWriter, (REQUESTS, LEADERSHIP_CHANGES, RUNS)),
        ("build_gold_metrics", MetricsWriter, (METRIC_SAMPLES, METRIC_SERIES, REQUESTS)),
        (
            "build_gold_throttles",
            ThrottleWriter,
            (REQUESTS, METRIC_SAMPLES, THROTTLE_CHANGES, REASSIGNMENTS, ISR_CHANGES),
        ),
    )
)
"""The four former streams, which this one continues (decision 025)."""


def starting_versions(settings: Settings) -> dict[Table, int]:
    """
    Return the first version to read of each table: the oldest that a former stream had not read to its end.

    Empty, so that gold is built from all of silver, if a former stream has no position, or if an audit finds
    its checkpoint or tables damaged. Spark ignores the versions once its own checkpoint has a batch.
    """
    found: dict[Table, int] = {}
    for stream in FORMER:
        sources = _last_read(StreamLog(stream.checkpoint(settings)))
        if len(sources) != len(stream.read) or stream.repairs(settings):
            return {}
        for table, offset in zip(stream.read, sources, strict=True):
            # The version before is read once more, because a table may have no newer one.
            version = max(0, int((offset or {}).get("reservoirVersion", 0)) - 1)
            found[table] = min(version, found.get(table, version))
    return found


def _last_read(log: StreamLog) -> list[dict[str, Any] | None]:
    """Return the offsets of each source after the last finished batch; empty without one."""
    done = [batch for batch in log.commits if log.is_offsets_whole(batch)]
    return log.sources(max(done)) if done else []


def former_repairs(settings: Settings) -> list[Repair]:
    """Return the removal of the former checkpoints, once this stream's first batch is planned."""
    if not StreamLog(STREAM.checkpoint(settings)).offsets:
        return []
    left = [folder for stream in FORMER if (folder := stream.checkpoint(settings)).exists()]
    return [
        Repair(f"{folder} is replaced by {STREAM.name}; set aside", partial(set_aside, folder))
        for folder in left
    ]
