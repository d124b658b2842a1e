"""Build gold from a folder of raw files with the parse and gold functions of the streams."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.names import Kind
from conf.settings import Settings
from engine.gold.culprit import culprit_tables
from engine.gold.inputs import WholeInputs, dataset_of, gold_of_all
from engine.ingest.parsed_files import parse_into
from engine.ingest.raw_files import DAMAGE_MARK
from engine.ingest.sources import SOURCES
from reports.run.rows import GoldFrames
from schemas.bronze import RAW
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.silver.metrics import METRIC_SERIES
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.perf_test import CLIENT_METRICS, PERF_SUMMARIES, RUNS
from transforms.frames import frame_of_arrow
from transforms.gold.broker_rtt.grid import COLUMNS
from transforms.gold.build import Build
from transforms.gold.builds import BUILDS
from transforms.gold.data_quality import (
    BRONZE_COLUMNS,
    LINE,
    QUARANTINE_COLUMNS,
    SKIPPED_COLUMNS,
    data_quality,
)


class Layers:
    """Frames that are written to a folder once and read back, because later steps read each several times."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        """Use a scratch folder, which the caller removes."""
        self._spark, self._folder = spark, folder

    def keep(self, frame: DataFrame, name: str) -> DataFrame:
        """Compute a frame once; return a frame that reads the result."""
        where = str(self._folder / name)
        frame.write.mode("overwrite").parquet(where)
        return self._spark.read.schema(frame.schema).parquet(where)

    def keep_table(self, frame: DataFrame, table: Table) -> DataFrame:
        """Compute a table once; return a frame that reads the result."""
        return self.keep(frame, f"{table.layer}-{table.name}")

    def gold(self, builds: Iterable[Build], inputs: WholeInputs) -> dict[Table, DataFrame]:
        """Build gold from all rows of silver."""
        rows = {table: of for build in builds for table, of in gold_of_all(build, inputs).items()}
        return {table: self.keep_table(frame_of_arrow(self._spark, of), table) for table, of in rows.items()}


def gold_of_files(spark: SparkSession, raw: Path, scratch: Path, damages: Mapping[str, str]) -> GoldFrames:
    """Parse raw lines (`raw_files.write_raw`) and build every table of a report."""
    layers = Layers(spark, scratch)
    lines = raw_lines(spark, raw)
    silver, _ = parse_into(lines, scratch / "silver", Settings())
    inputs = WholeInputs.of_frames(silver)
    gold = layers.gold(BUILDS, inputs)
    quality = data_quality(
        [dataset_of(lines).scanner(columns=list(BRONZE_COLUMNS)).to_reader()],
        {source.kind.value: [inputs.rows(table, LINE) for table in source.of_lines] for source in SOURCES},
        inputs.rows(QUARANTINE, QUARANTINE_COLUMNS),
        inputs.rows(SKIPPED, SKIPPED_COLUMNS),
    )
    return GoldFrames(
        fetch_latency=gold[FETCH_LATENCY],
        broker_rtt=gold[BROKER_RTT],
        broker_rtt_culprit=culprits_of_files(gold[BROKER_RTT]),
        partition_skew=gold[PARTITION_SKEW],
        leader_redirect=gold[LEADER_REDIRECT],
        metadata_lookup=gold[METADATA_LOOKUP],
        leader_local_mean=gold[LEADER_LOCAL_MEAN],
        throttle_compliance=gold[THROTTLE_COMPLIANCE],
        reassignment_progress=gold[REASSIGNMENT_PROGRESS],
        metric_series=silver[METRIC_SERIES],
        perf_summaries=silver[PERF_SUMMARIES],
        client_metrics=silver[CLIENT_METRICS],
        runs=silver[RUNS],
        stock_fetch_total=gold[STOCK_FETCH_TOTAL],
        data_quality=frame_of_arrow(spark, quality),
        quarantine=with_damage(silver[QUARANTINE], damages),
        skipped=silver[SKIPPED],
    )


def raw_lines(spark: SparkSession, raw: Path, *kinds: Kind) -> DataFrame:
    """Return raw lines of these kinds (default: all) as rows of bronze; their folders may be empty."""
    folders = [str(raw / kind.value) for kind in kinds or Kind]
    return spark.read.schema(RAW).parquet(*folders)


def culprits_of_files(broker_rtt: DataFrame) -> DataFrame:
    """Build `gold.broker_rtt_culprit` with the history in the files themselves."""
    rows = culprit_tables(broker_rtt.select(*COLUMNS).toArrow())[BROKER_RTT_CULPRIT]
    return frame_of_arrow(broker_rtt.sparkSession, rows)


def with_damage(quarantine: DataFrame, damages: Mapping[str, str]) -> DataFrame:
    """Add the cause to the rows where a file could not be read further; `damages` are causes by source."""
    if not damages:
        return quarantine
    causes = F.create_map(*[F.lit(word) for pair in damages.items() for word in pair])
    is_damage = F.col("value").isNull() & F.col("position").endswith(DAMAGE_MARK)
    return quarantine.withColumn(
        "detail", F.when(is_damage, causes[F.col("source")]).otherwise(F.col("detail"))
    )
