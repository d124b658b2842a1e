"""The new files of one batch: what each input of gold tells about the windows that must be built."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.delta import tables
from schemas.fields import Table
from schemas.silver.requests import REQUESTS
from transforms.frames import united
from transforms.gold.build import Arrived, Build, Touch
from transforms.gold.builds import BUILDS
from transforms.sql import Rows, connect, window_s


def inputs_of(builds: Iterable[Build]) -> tuple[Table, ...]:
    """Return the tables whose new rows touch windows, by name, which is the order of the query's sources."""
    found = {touch.table.name: touch.table for build in builds for touch in build.touched_by}
    return tuple(found[name] for name in sorted(found))


def arrivals(
    spark: SparkSession,
    settings: Settings,
    starting: Mapping[Table, int] | None = None,
    *,
    builds: Iterable[Build] = BUILDS,
) -> DataFrame:
    """
    Return the stream of new files of the inputs. Spark plans its batches; `arrived` reads the rows.

    `starting` gives the first version to read of a table; it counts only for a new checkpoint.
    """
    warehouse, starting = settings.warehouse_root, starting or {}
    return united(
        [
            _stream_of(spark, settings, table, starting.get(table, _start(warehouse, table)))
            for table in inputs_of(builds)
        ]
    )


def arrived(batch: DataFrame, warehouse: Path, builds: Iterable[Build]) -> list[Arrived]:
    """Count the rows of a batch's files by input, cluster, broker and window."""
    names = [name for name, _ in touches_of(builds)]
    inputs = {Path(tables.path(warehouse, table)): table for table in inputs_of(builds)}
    return [
        Arrived(
            input=inputs[where].name,
            cluster=cluster,
            broker_id=broker_id,
            slot=slot,
            lines=lines,
            newest=datetime.fromtimestamp(newest_us / 1e6, UTC),
            touches=frozenset(name for n, name in enumerate(names) if touches >> n & 1),
        )
        for where, paths in _files(batch, inputs).items()
        for cluster, broker_id, slot, lines, newest_us, touches in _counted(paths, inputs[where], builds)
    ]


def touches_of(builds: Iterable[Build]) -> list[tuple[str, Touch]]:
    """Return all touches with their names, in the order of the bits of the column `touches`."""
    return [(build.touch_name(n), touch) for build in builds for n, touch in enumerate(build.touched_by)]


def _files(batch: DataFrame, folders: Collection[Path]) -> dict[Path, list[str]]:
    """Return the data files of a batch by folder of a table; one Spark job, which reads no column of them."""
    found: dict[Path, list[str]] = {}
    for row in batch.coalesce(1).distinct().collect():  # one task, because a batch has few files
        path = Path(unquote(urlsplit(row["file"]).path))
        (where,) = set(path.parents) & set(folders)
        found.setdefault(where, []).append(str(path))
    return found


def _counted(paths: list[str], table: Table, builds: Iterable[Build]) -> list[Any]:
    rows = Rows(table=table, columns=tuple(table.schema.names), source=paths)
    broker, at = "broker_id" if table is REQUESTS else "NULL", f'"{table.instant}"'
    query = f"""
        SELECT
            cluster, {broker} AS broker_id, {window_s(f"epoch_us({at})")} AS slot, count(*),
            max(epoch_us({at})), bit_or({_touches(table, builds)})
        FROM rows WHERE {at} IS NOT NULL GROUP BY ALL
    """  # noqa: S608 (names of columns, and conditions that are declared)
    with connect({"rows": rows}) as db:  # it reads only the columns of the query
        return db.sql(query).fetchall()


def _touches(table: Table, builds: Iterable[Build]) -> str:
    """Return a bit per touch of an input."""
    bits = [
        f"CASE WHEN {touch.where} THEN {1 << n} ELSE 0 END"
        for n, (_, touch) in enumerate(touches_of(builds))
        if touch.table is table
    ]
    return f"({' | '.join(bits)})::BIGINT"


def _start(warehouse: Path, table: Table) -> int | None:
    """
    Return the version of a table without files, as the first one to read; None for its files of now.

    Delta would otherwise plan and run Spark jobs to list no file: most of the cost of a start.
    """
    snapshot = tables.snapshot(warehouse, table)
    return None if snapshot.paths() else snapshot.version


def _stream_of(spark: SparkSession, settings: Settings, table: Table, start: int | None) -> DataFrame:
    """Return the stream of the files appended to a table; its one column is the file of each row."""
    reader = (
        spark.readStream.format("delta")
        .option("maxFilesPerTrigger", settings.build_gold.max_files_per_trigger)
        .option("maxBytesPerTrigger", settings.build_gold.max_bytes_per_trigger)
        # Skip commits that delete or rewrite rows (retention, MERGE of a replay): they add no lines.
        .option("skipChangeCommits", "true")
    )
    if start is not None:
        reader = reader.option("startingVersion", start)
    return reader.load(tables.path(settings.warehouse_root, table)).select(F.input_file_name().alias("file"))
