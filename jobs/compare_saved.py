"""Comparisons kept: `gold.run_comparison`, for dashboards and for nights to come."""

import hashlib
import json
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from conf.settings import Settings
from jobs import tables
from reports.answers import plain
from reports.comparison import rows
from schemas.run_comparison import RUN_COMPARISON
from transforms.frames import frame_of
from verdicts.comparison import Comparison


def save_comparison(
    spark: SparkSession, settings: Settings, told: Comparison, *, cluster: str | None, scenario: str | None
) -> str:
    """Append the comparison's rows, once for the same answer about the same runs; say what was done."""
    known = {"scenario": scenario, "compared_at": datetime.now(UTC)}
    names = RUN_COMPARISON.schema.names
    kept = [[(row | known)[name] for name in names] for row in rows(told, cluster)]
    warehouse = settings.warehouse_root
    tables.ensure(spark, warehouse, RUN_COMPARISON)
    is_new = tables.append(
        frame_of(spark, kept, RUN_COMPARISON.schema).coalesce(1),
        warehouse,
        RUN_COMPARISON,
        txn_app_id=f"compare-{_asked(told, cluster, scenario)}",
        txn_version=0,
    )
    return "kept in gold.run_comparison" if is_new else "is in gold.run_comparison already"


def _asked(told: Comparison, cluster: str | None, scenario: str | None) -> str:
    """Name what was asked, of which runs, and what was said: a task that is tried again gives the same."""
    runs = [
        [run.arm, run.run, str(run.started_at), str(run.ended_at), run.starts, run.summaries]
        for run in (*told.baseline, *told.contender)
    ]
    asked = told.asked
    what = [
        cluster,
        scenario,
        asked.baseline,
        asked.contender,
        list(asked.metrics),
        asked.rule.tolerance,
        asked.is_unpaired,
    ]
    said = [plain(row) for row in rows(told, cluster)]  # gold may come later than the runs, and say more
    return hashlib.sha256(json.dumps([what, runs, said]).encode()).hexdigest()[:32]
