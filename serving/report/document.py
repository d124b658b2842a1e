"""The report as JSON: every key is always there, NULL is null, no NaN; `docs/report.md` lists the keys."""

import json
from collections.abc import Sequence

from answers import data_quality as quality
from answers import missing_metrics
from answers.data_quality import BALANCE, totals_of
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

QUARANTINE = ("reason", "kind", "node", "source", "position", "detail", "preview")
SUMMARY = ["window_start", *columns_of(BROKER_RTT_SUMMARY)]


def document(answers: Answers) -> Row:
    """Return the JSON document of the report."""
    return {
        "tables": {
            "fetch_latency": _rows(answers.fetch_latency, columns_of(FETCH_LATENCY)),
            "fetch_latency_summary": _rows(answers.fetch_latency_summary, columns_of(FETCH_LATENCY)),
            "fetch_latency_accused": _rows(answers.fetch_latency_accused, columns_of(FETCH_LATENCY)),
            "broker_rtt": _rows(answers.broker_rtt, columns_of(BROKER_RTT)),
            "broker_rtt_summary": _summary(answers.broker_rtt_summary),
            "broker_rtt_accused": _summary(answers.broker_rtt_accused),
            "broker_rtt_quiet": _summary(answers.broker_rtt_quiet),
            "broker_rtt_culprit": _rows(answers.broker_rtt_culprit, columns_of(BROKER_RTT_CULPRIT)),
            "partition_skew": _rows(answers.partition_skew, columns_of(PARTITION_SKEW_SPAN)),
            "partition_skew_summary": _rows(
                answers.partition_skew_summary, columns_of(PARTITION_SKEW_SUMMARY)
            ),
            "leader_redirect": _rows(answers.leader_redirect, columns_of(LEADER_REDIRECT)),
            "leader_redirect_summary": _rows(
                answers.leader_redirect_summary, columns_of(LEADER_REDIRECT_SUMMARY)
            ),
            "metadata_lookup": _rows(answers.metadata_lookup, columns_of(METADATA_LOOKUP_SUMMARY)),
            "throttle_compliance": _rows(
                answers.throttle_compliance, columns_of(THROTTLE_COMPLIANCE_SUMMARY)
            ),
            "throttle_compliance_windows": _rows(
                answers.throttle_compliance_windows, columns_of(THROTTLE_COMPLIANCE)
            ),
            "reassignment_progress": _rows(answers.reassignment_progress, columns_of(REASSIGNMENT_SUMMARY)),
            "reassignment_progress_windows": _rows(
                answers.reassignment_progress_windows, columns_of(REASSIGNMENT_FORECAST)
            ),
            "leader_local_mean": _rows(answers.leader_local_mean, columns_of(LEADER_LOCAL_MEAN)),
            "leader_local_mean_summary": _rows(
                answers.leader_local_mean_summary, columns_of(LEADER_LOCAL_MEAN_SUMMARY)
            ),
            "missing_metrics": _rows(answers.missing_metrics, columns_of(MISSING_METRICS)),
            "perf_summaries": _rows(answers.perf_summaries, columns_of(PERF_RUNS)),
            "run_changes": _rows(answers.run_changes, columns_of(RUN_CHANGES)),
            "stock_fetch_total": _rows(answers.stock_fetch_total, columns_of(STOCK_FETCH_TOTAL)),
            "quality_results": _rows(answers.quality_results, columns_of(QUALITY_RESULTS)),
            "quarantine": _rows(answers.quarantine, list(QUARANTINE)),
        },
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
    """Return the reasons to doubt the figures: files of other brokers, empty files, missing metrics."""
    return [
        *quality.doubts(answers.quarantine, answers.inputs.get("files", [])),
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


def _summary(rows: Sequence[Row]) -> list[Row]:
    # `window_start` is the start of the span, so that rows of windows and of spans have the same columns.
    return _rows([{**row, "window_start": row.get("since")} for row in rows], SUMMARY)


def as_text(content: Row) -> str:
    """
    Return the document as JSON text.

    Raises:
        ValueError: a number is NaN or infinite: `plain` was not applied.

    """
    return json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def table_names() -> dict[str, Table]:
    """Return the declared table of each key of `tables`; `docs/report.md` is checked against it."""
    return {
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
