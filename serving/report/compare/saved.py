"""Saved comparisons: `gold.run_comparison`, for dashboards and later comparisons."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from engine.delta import tables
from schemas.arrow import arrow_schema
from schemas.gold.run_comparison import RUN_COMPARISON
from schemas.rows import plain
from serving.report.compare.document import rows
from verdicts.comparison import Comparison


def save_comparison(
    warehouse: Path, comparison: Comparison, *, cluster: str | None, scenario: str | None
) -> str:
    """Append the rows of a comparison, once per result and runs; return a message with the outcome."""
    known = {"scenario": scenario, "compared_at": datetime.now(UTC)}
    values = [row | known for row in rows(comparison, cluster)]
    is_new = tables.append_rows(
        pa.Table.from_pylist(values, arrow_schema(RUN_COMPARISON)),
        warehouse,
        RUN_COMPARISON,
        txn_app_id=f"compare-{_fingerprint(comparison, cluster, scenario)}",
    )
    return "saved in gold.run_comparison" if is_new else "already in gold.run_comparison"


def _fingerprint(comparison: Comparison, cluster: str | None, scenario: str | None) -> str:
    """Return a hash of question, runs and result; a retried task gets the same hash."""
    runs = [
        [run.arm, run.run, str(run.started_at), str(run.ended_at), run.starts, run.summaries]
        for run in (*comparison.baseline, *comparison.contender)
    ]
    asked = comparison.request
    question = [
        cluster,
        scenario,
        asked.baseline,
        asked.contender,
        list(asked.metrics),
        asked.rule.tolerance,
        asked.is_unpaired,
    ]
    # The result is part of the hash: gold may be built after the runs and add metrics.
    result = [plain(row) for row in rows(comparison, cluster)]
    return hashlib.sha256(json.dumps([question, runs, result]).encode()).hexdigest()[:32]
