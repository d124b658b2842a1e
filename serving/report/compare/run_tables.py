"""The inputs of a comparison of runs: from a warehouse, or built from raw files."""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from answers.gold import GoldReader
from conf.names import Kind
from conf.settings import Settings
from engine.delta import tables
from engine.gold.inputs import WholeInputs
from engine.ingest.parsed_files import parse_into
from schemas.fields import Table
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.perf_test import PERF_SUMMARIES, PERF_WINDOWS, RUNS
from serving.report.run.gold_of_files import gold_rows, raw_lines
from serving.report.run.rows import SeveralClustersError
from transforms.frames import united
from transforms.gold.builds import BUILDS

GOLD = (PARTITION_SKEW, LEADER_REDIRECT, METADATA_LOOKUP, FETCH_LATENCY)
SILVER: dict[str, Table] = {
    "runs": RUNS,
    "perf_summaries": PERF_SUMMARIES,
    "perf_windows": PERF_WINDOWS,
    "quarantine": QUARANTINE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTables:
    """The inputs of a comparison: frames of silver of one cluster, and gold."""

    runs: DataFrame
    perf_summaries: DataFrame
    perf_windows: DataFrame
    quarantine: DataFrame
    gold: GoldReader


def tables_of_warehouse(
    spark: SparkSession, warehouse: Path, cluster: str | None
) -> tuple[RunTables, str | None]:
    """
    Return the tables of one cluster, and its name.

    Raises:
        SeveralClustersError: no cluster is given and there are several, or the given one has no run.

    """
    frames = {field: tables.read(spark, warehouse, table) for field, table in SILVER.items()}
    seen = united([frames[name].select("cluster") for name in ("runs", "perf_summaries")]).distinct()
    names = sorted(row["cluster"] for row in seen.collect() if row["cluster"] is not None)
    wanted = cluster or (names[0] if len(names) == 1 else None)
    if names and wanted not in names:
        raise SeveralClustersError(", ".join(names))
    is_its = F.col("cluster") == F.lit(wanted)
    of_cluster = {field: frame.filter(is_its) for field, frame in frames.items()}
    return RunTables(**of_cluster, gold=GoldReader.in_folder(warehouse)), wanted


def tables_of_files(spark: SparkSession, raw: Path, scratch: Path, *, has_requests: bool) -> RunTables:
    """Parse raw lines (`raw_files.write_raw`) into tables; without a request log, gold is empty."""
    kinds = () if has_requests else (Kind.PERF_TEST,)
    silver, _ = parse_into(raw_lines(spark, raw, *kinds), scratch / "silver", Settings())
    wanted = [build for build in BUILDS if has_requests and not set(GOLD).isdisjoint(build.tables)]
    gold = GoldReader.of_rows(gold_rows(wanted, WholeInputs.of_frames(silver)))
    return RunTables(**{field: silver[table] for field, table in SILVER.items()}, gold=gold)
