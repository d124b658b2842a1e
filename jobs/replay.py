"""
Parse the quarantine again: a line that today's parser can read becomes a row of silver, once.

Exit codes: 0 done, 1 failed, 2 wrong settings, 4 another process writes silver: stop the ingest first,
or wait for `maintain` to end. 5 the ingest has an unfinished batch or a file to repair: run
`plumbline ingest --once` first. 6 a disk is full, 130 stopped.

`plumbline replay --conf my.toml`; under plain Spark like `jobs/ingest.py`.
"""

import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.names import Kind
from conf.progress import Progress
from conf.settings import Settings
from engine.delta import tables
from engine.ingest.parsed_frames import parse_into
from engine.ingest.positions import writers
from engine.ingest.replay_metrics import restore_scrapes
from engine.ingest.sources import SOURCES, Source
from engine.ingest.task.task_plan import KEPT, QUARANTINED, SKIPPED
from engine.process.job import job, started_session, wrong_use
from engine.process.lease import MAINTENANCE, lease
from engine.process.signals import interrupt_on_signals
from engine.streams.audit.findings import StateError
from engine.streams.audit.ingest import repairs_of
from engine.streams.log import StreamLog
from jobs.ingest import SILVER_LAYER
from schemas.fields import Table
from schemas.silver.not_kept import QUARANTINE
from serving.settings import settings_of
from transforms.frames import united

RECORD = ["topic", "partition", "offset"]
AGAIN = "run it again, it restores no line twice"

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command()
def replay(
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True)
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be restored, write nothing.")
    ] = False,
) -> None:
    """
    Parse the quarantine again after a parser fix, and restore each line that can be read now, once.

    Restored lines leave the quarantine; the next build adds them to gold. Stop the ingest first.

    Example: `plumbline replay --conf my.toml --dry-run`

    Example: `plumbline replay --conf my.toml`
    """
    interrupt_on_signals()
    progress = Progress()
    with wrong_use(progress):
        settings = settings_of(conf or [])
        _ = settings.pseudonym_key
    root, timeout_s = settings.warehouse_root, settings.ingest.lease_timeout_s
    with (
        job("replay", settings, progress, stopped=f"stopped; {AGAIN}", again=AGAIN),
        lease(root, SILVER_LAYER, timeout_s=timeout_s, is_dry_run=dry_run),
        lease(root, MAINTENANCE, timeout_s=timeout_s, is_dry_run=dry_run),
    ):
        check_at_rest(settings)
        spark = started_session(settings, "replay")
        for source in SOURCES:
            with progress.step(f"reading the quarantined lines of {source.kind.value}"):
                counts = restore(spark, settings, source, dry_run=dry_run)
            progress.say(outcome_line(source, counts, dry_run=dry_run))


def check_at_rest(settings: Settings) -> None:
    """
    Check, before anything is written, that the ingest has stopped between two batches.

    The retry of an unfinished batch drops a torn newest log entry of its tables as its own. If the replay had
    written that entry, its rows would be lost.

    Raises:
        StateError: a batch is unfinished, or a file needs a repair.

    """
    queries = writers(settings)
    step, way_out = "checking the state of the ingest", "run `plumbline ingest --once` first"
    repairs = repairs_of(queries)
    if repairs:
        raise StateError(settings.warehouse_root, step, f"needs a repair ({repairs[0].reason})", way_out)
    for log in (StreamLog(query.checkpoint) for query in queries):
        if log.offsets and log.offsets[-1] not in log.commits:
            wrong = "belongs to an unfinished batch"
            raise StateError(log.offsets_file(log.offsets[-1]), step, wrong, way_out)


def outcome_line(source: Source, counts: Counter[str], *, dry_run: bool) -> str:
    """Format the outcomes of a source's quarantined lines as one line."""
    would = "would be restored" if dry_run else "restored"
    return (
        f"{source.kind.value}: {counts[KEPT]} {would}, {counts[QUARANTINED]} stay in "
        f"quarantine, {counts[SKIPPED]} that today's parser would skip stay too"
    )


def restore(
    spark: SparkSession, settings: Settings, source: Source, *, dry_run: bool = False
) -> Counter[str]:
    """
    Restore the readable quarantined lines of one source; return the number of lines by outcome.

    Silver is written before the quarantine is emptied. If a run stops between the two, the next run finds the
    rows in silver and skips them.
    """
    warehouse = settings.warehouse_root
    if dry_run and not all(tables.exists(warehouse, table) for table in source.tables):
        return Counter()
    for table in source.tables:
        tables.make(warehouse, table)
    raw = _raw_of_quarantine(spark, warehouse, source)
    with TemporaryDirectory(prefix="_replay-", dir=warehouse, ignore_cleanup_errors=True) as scratch:
        silver, tally = parse_into(raw, Path(scratch), settings)
        if source.kind is Kind.METRICS:
            return restore_scrapes(spark, settings, silver, raw, dry_run=dry_run)
        counts = Counter[str]()
        for key, records in tally.outcomes.items():
            counts[key.outcome] += records
        if not dry_run and counts[KEPT]:
            _append(spark, warehouse, source, silver)
            _empty_quarantine(spark, warehouse, source, silver)
        return counts


def _append(spark: SparkSession, warehouse: Path, source: Source, silver: Mapping[Table, DataFrame]) -> None:
    run = f"replay-{uuid.uuid4()}"
    for index, table in enumerate(source.silver):
        rows = _unknown(spark, warehouse, table, silver[table])
        tables.append(rows, warehouse, table, txn_app_id=run, txn_version=index)


def _empty_quarantine(
    spark: SparkSession, warehouse: Path, source: Source, silver: Mapping[Table, DataFrame]
) -> None:
    readable = united([silver[table].select(*RECORD) for table in source.of_lines]).distinct()
    quarantine = DeltaTable.forPath(spark, tables.path(warehouse, QUARANTINE)).alias("held")
    matching = quarantine.merge(readable.alias("readable"), _same_record("held", "readable"))
    with tables.rewriting(warehouse, QUARANTINE):
        matching.whenMatchedDelete().execute()


def _raw_of_quarantine(spark: SparkSession, warehouse: Path, source: Source) -> DataFrame:
    """Return the bronze rows of the quarantined lines; silver is always built from bronze."""
    held = tables.read(spark, warehouse, QUARANTINE).filter(F.col("kind") == source.kind.value)
    dates = [row["quarantined_date"] for row in held.select("quarantined_date").distinct().collect()]
    bronze = tables.read(spark, warehouse, source.bronze)
    return bronze.filter(F.col("ingest_date").isin(dates)).join(
        held.select(*RECORD).distinct(), on=RECORD, how="left_semi"
    )


def _unknown(spark: SparkSession, warehouse: Path, table: Table, rows: DataFrame) -> DataFrame:
    """Drop the rows that an earlier, interrupted run has restored."""
    key = RECORD if set(RECORD) <= set(table.schema.names) else list(table.key)
    known = tables.read(spark, warehouse, table)
    for column in table.partition_by:
        dates = [row[column] for row in rows.select(column).distinct().collect()]
        known = known.filter(F.col(column).isin(dates))
    return rows.join(known.select(*key).distinct(), on=key, how="left_anti").select(*table.schema.names)


def _same_record(left: str, right: str) -> Column:
    same = [F.col(f"{left}.{name}") == F.col(f"{right}.{name}") for name in RECORD]
    return same[0] & same[1] & same[2]


if __name__ == "__main__":
    app()
