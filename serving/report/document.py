"""The report as JSON: every key is always there, NULL is null, no NaN; `docs/report.md` lists the keys."""

import json
from collections.abc import Mapping, Sequence

from answers.data_quality import counts as quality
from answers.data_quality import missing_metrics
from answers.data_quality.counts import BALANCE, totals_of
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT, BROKER_RTT_SUMMARY
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN, LEADER_LOCAL_MEAN_SUMMARY, MISSING_METRICS
from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY
from schemas.gold.metadata_lookup import METADATA_LOOKUP_SUMMARY
from schemas.gold.partition_skew import PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY
from schemas.gold.perf_runs import PERF_RUNS
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.gold.reassignment_progress import REASSIGNMENT_FORECAST, REASSIGNMENT_SUMMARY
from schemas.gold.run_comparison import RUN_CHANGES
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE, THROTTLE_COMPLIANCE_SUMMARY
from schemas.rows import Row, plain
from serving.report.answers import Answers, columns_of
from serving.report.headline import headline_of

QUARANTINE = ("reason", "kind", "node", "source", "position", "detail", "preview")
TABLES: Mapping[str, Table] = {
    "fetch_latency": FETCH_LATENCY,
    "fetch_latency_summary": FETCH_LATENCY,
    "fetch_latency_accused": FETCH_LATENCY,
    "broker_rtt": BROKER_RTT,
    "broker_rtt_summary": BROKER_RTT_SUMMARY,
    "broker_rtt_accused": BROKER_RTT_SUMMARY,
    "broker_rtt_quiet": BROKER_RTT_SUMMARY,
    "broker_rtt_culprit": BROKER_RTT_CULPRIT,
    "partition_skew": PARTITION_SKEW_SPAN,
    "partition_skew_summary": PARTITION_SKEW_SUMMARY,
    "leader_redirect": LEADER_REDIRECT,
    "leader_redirect_summary": LEADER_REDIRECT_SUMMARY,
    "metadata_lookup": METADATA_LOOKUP_SUMMARY,
    "throttle_compliance": THROTTLE_COMPLIANCE_SUMMARY,
    "throttle_compliance_windows": THROTTLE_COMPLIANCE,
    "reassignment_progress": REASSIGNMENT_SUMMARY,
    "reassignment_progress_windows": REASSIGNMENT_FORECAST,
    "leader_local_mean": LEADER_LOCAL_MEAN,
    "leader_local_mean_summary": LEADER_LOCAL_MEAN_SUMMARY,
    "missing_metrics": MISSING_METRICS,
    "perf_summaries": PERF_RUNS,
    "run_changes": RUN_CHANGES,
    "stock_fetch_total": STOCK_FETCH_TOTAL,
    "quality_results": QUALITY_RESULTS,
}
"""The keys of `tables`, which are fields of `Answers`, with the tables that declare their columns."""


def document(answers: Answers) -> Row:
    """Return the JSON document of the report."""
    headline = headline_of(answers)
    tables = {key: _rows_of(getattr(answers, key), table) for key, table in TABLES.items()}
    return {
        "verdict": {
            "sentence": headline.sentence,
            "mood": headline.mood,
            "evidence": list(headline.small_print),
        },
        "tables": tables | {"quarantine": _rows(answers.quarantine, list(QUARANTINE))},
        "data_quality": data_quality(answers),
        "inputs": plain(answers.inputs),
    }


def data_quality(answers: Answers) -> Row:
    """Return the counts of lines: in all, by source, by reason and by logger."""
    totals = totals_of(answers.data_quality)
    return {
        **totals,
        "is_balanced": totals["lines_read"] == sum(totals[part] for part in BALANCE[1:]),
        "doubts": doubts(answers),
        "by_source": _rows(answers.data_quality, columns_of(DATA_QUALITY)),
        "quarantined_by_reason": _rows(answers.quarantine_by_reason, ["reason", "lines"]),
        "skipped_by_logger": _rows(answers.skipped, ["logger", "reason", "lines"]),
    }


def doubts(answers: Answers) -> list[str]:
    """Return the reasons to doubt the figures: bad lines, misplaced or empty files, missing metrics."""
    return [
        *quality.doubts(
            answers.data_quality,
            answers.quarantine_by_reason,
            answers.quarantine,
            answers.inputs.get("files", []),
        ),
        *missing_metrics.doubts(answers.missing_metrics),
        *answers.run_changes_missing,
    ]


def passed_over(answers: Answers) -> str:
    """Return one line that names the files that were not read, because they contain no telemetry."""
    others = answers.inputs.get("passed_over") or []
    named = ", ".join(f"{of['what']} ({of['files']})" for of in others)
    return f"skipped: no telemetry in the first 16 MiB: {named}" if others else ""


def _rows(rows: Sequence[Row], columns: list[str]) -> list[Row]:
    return [{column: plain(row.get(column)) for column in columns} for row in rows]


def _rows_of(rows: Sequence[Row], table: Table) -> list[Row]:
    columns = columns_of(table)
    if table is BROKER_RTT_SUMMARY:  # rows of windows and of spans have the same columns
        rows, columns = (
            [{**row, "window_start": row.get("since")} for row in rows],
            ["window_start", *columns],
        )
    return _rows(rows, columns)


def as_text(content: Row) -> str:
    """
    Return the document as JSON text.

    Raises:
        ValueError: a number is NaN or infinite: `plain` was not applied.

    """
    return json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
