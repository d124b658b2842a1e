"""The inputs of a comparison of runs: from a warehouse, or built from raw files."""

from pathlib import Path

from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.runs.measured import CLUSTERS
from conf.names import Kind
from conf.settings import Settings
from engine.gold.inputs import WholeInputs
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.process.cores import Mapper
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.perf_test import PERF_SUMMARIES, PERF_WINDOWS, RUNS
from serving.report.run.gold_of_files import gold_rows
from serving.selecting import SeveralClustersError
from transforms.gold.builds import BUILDS

GOLD = (PARTITION_SKEW, LEADER_REDIRECT, METADATA_LOOKUP, FETCH_LATENCY)
SILVER = (RUNS, PERF_SUMMARIES, PERF_WINDOWS, QUARANTINE)


def tables_of_warehouse(warehouse: Path, cluster: str | None) -> GoldSelection:
    """
    Return the tables of one cluster.

    Raises:
        SeveralClustersError: no cluster is given and there are several, or the given one has no run.

    """
    gold = GoldReader.in_folder(warehouse)
    names = [row["cluster"] for row in gold.rows(CLUSTERS)]
    wanted = cluster or (names[0] if len(names) == 1 else None)
    if names and wanted not in names:
        raise SeveralClustersError(", ".join(names))
    return GoldSelection(gold=gold, cluster=wanted or "")


def tables_of_files(
    raw: Path, scratch: Path, cluster: str, *, has_requests: bool, run_all: Mapper = map
) -> GoldSelection:
    """Parse raw lines (`raw_files.write_raw`) into tables; without a request log, gold is empty."""
    lines = raw_lines(raw, Kind if has_requests else (Kind.PERF_TEST,))
    silver, _ = parse_files(lines, scratch / "silver", Settings(), run_all)
    wanted = [build for build in BUILDS if has_requests and not set(GOLD).isdisjoint(build.tables)]
    rows = gold_rows(wanted, WholeInputs(silver)) | {table: silver[table].to_table() for table in SILVER}
    return GoldSelection(gold=GoldReader.of_rows(rows), cluster=cluster)
