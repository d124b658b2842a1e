"""Build gold from a folder of raw files with the parse and gold functions of the streams."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from conf.settings import Settings
from engine.gold.culprit import culprit_tables
from engine.gold.inputs import WholeInputs, gold_of_all
from engine.ingest.parsed_files import parse_files, raw_lines
from engine.ingest.raw_files import DAMAGE_MARK
from engine.ingest.sources import SOURCES
from engine.process.cores import Mapper
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.brokers import BROKERS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRIC_SERIES
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.perf_test import CLIENT_METRICS, PERF_SUMMARIES, RUNS
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

SILVER = (
    BROKERS,
    LEADERSHIP_CHANGES,
    METRIC_SERIES,
    PERF_SUMMARIES,
    CLIENT_METRICS,
    RUNS,
    QUARANTINE,
    SKIPPED,
)
"""The tables of silver that answers read."""


def rows_of_files(
    raw: Path, scratch: Path, damages: Mapping[str, str], run_all: Mapper = map
) -> dict[Table, pa.Table]:
    """
    Parse raw lines (`raw_files.write_raw`) and build every table of a report (`Gold.of_rows`).

    `damages` are the causes why a file could not be read further, by source.
    """
    lines = raw_lines(raw)
    silver, _ = parse_files(lines, scratch / "silver", Settings(), run_all)
    inputs = WholeInputs(silver)
    gold = gold_rows(BUILDS, inputs)
    quality = data_quality(
        [lines.scanner(columns=list(BRONZE_COLUMNS)).to_reader()],
        {source.kind.value: [inputs.reader(table, LINE) for table in source.of_lines] for source in SOURCES},
        inputs.reader(QUARANTINE, QUARANTINE_COLUMNS),
        inputs.reader(SKIPPED, SKIPPED_COLUMNS),
    )
    rows = {table: inputs.reader(table, table.schema.names).read_all() for table in SILVER}
    rows[QUARANTINE] = with_damage(rows[QUARANTINE], damages)
    culprits = culprit_tables(gold[BROKER_RTT].select(list(COLUMNS)))[BROKER_RTT_CULPRIT]
    return {**gold, **rows, BROKER_RTT_CULPRIT: culprits, DATA_QUALITY: quality}


def gold_rows(builds: Iterable[Build], inputs: WholeInputs) -> dict[Table, pa.Table]:
    """Return the gold of builds from all rows of silver."""
    return {table: rows for build in builds for table, rows in gold_of_all(build, inputs).items()}


def with_damage(quarantine: pa.Table, damages: Mapping[str, str]) -> pa.Table:
    """Return the rows with the cause where a file could not be read further; `damages` are by source."""
    detail = quarantine["detail"]
    is_damage = pc.and_(quarantine["value"].is_null(), pc.ends_with(quarantine["position"], DAMAGE_MARK))
    for source, cause in damages.items():
        is_of_source = pc.and_(is_damage, pc.equal(quarantine["source"], source))
        detail = pc.if_else(pc.fill_null(is_of_source, fill_value=False), cause, detail)
    return quarantine.set_column(quarantine.column_names.index("detail"), "detail", detail)
