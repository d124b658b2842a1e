"""The rows of a report, as plain Python."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from schemas.fields import HISTOGRAM, Table
from schemas.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The rows that a report shows, of one cluster and one span."""

    fetch_latency: Sequence[Row] = ()
    fetch_latency_summary: Sequence[Row] = ()  # one row a leader and fetcher over the whole span
    fetch_latency_accused: Sequence[Row] = ()  # the same over the span of the headline's finding
    broker_rtt: Sequence[Row] = ()
    broker_rtt_summary: Sequence[Row] = ()  # one row a pair and method over the whole span
    broker_rtt_accused: Sequence[Row] = ()  # the same over the span of the headline's finding
    broker_rtt_quiet: Sequence[Row] = ()  # the same over the windows outside every finding
    broker_rtt_culprit: Sequence[Row] = ()
    partition_skew: Sequence[Row] = ()  # one row a partition and client over the whole span
    partition_skew_summary: Sequence[Row] = ()  # one row a topic and client over the whole span
    leader_redirect: Sequence[Row] = ()
    leader_redirect_summary: Sequence[Row] = ()  # one row an API and client version over the whole span
    metadata_lookup: Sequence[Row] = ()  # one row a client over the whole span
    metadata_lookup_windows: Sequence[Row] = ()
    leader_local_mean: Sequence[Row] = ()
    leader_local_mean_summary: Sequence[Row] = ()  # one row a broker and request type over the whole span
    missing_metrics: Sequence[Row] = ()  # one row a node and answer that its metrics do not suffice for
    throttle_compliance: Sequence[Row] = ()  # one row a broker, direction and limit over the whole span
    throttle_compliance_windows: Sequence[Row] = ()
    reassignment_progress: Sequence[Row] = ()  # one row a move
    reassignment_progress_windows: Sequence[Row] = ()
    perf_summaries: Sequence[Row] = ()
    run_changes: Sequence[Row] = ()  # one row a change of an arm's level, in long series of runs
    run_changes_missing: Sequence[str] = ()  # why they were not looked for
    stock_fetch_total: Sequence[Row] = ()
    data_quality: Sequence[Row] = ()
    quality_results: Sequence[Row] = ()  # newest answer of each rule between the layers and span
    quarantine: Sequence[Row] = ()  # listed rows only; counts of all are in `quarantine_by_reason`
    quarantine_by_reason: Sequence[Row] = ()  # reason, lines
    skipped: Sequence[Row] = ()  # logger, reason, lines
    inputs: Row = field(default_factory=dict)
    truth: Sequence[Row] = ()  # of `answers.injected_delay.injected_against_measured`


def columns_of(table: Table) -> list[str]:
    """Return the columns of a table without its histograms."""
    return [field.name for field in table.schema.fields if field.dataType != HISTOGRAM]
