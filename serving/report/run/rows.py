"""The rows that a report shows, of one cluster and one span."""

from dataclasses import dataclass, replace
from datetime import datetime

from answers.data_quality import counts as data_quality
from answers.data_quality import missing_metrics
from answers.fetches import latency as fetch_latency
from answers.fetches import leader_local_means
from answers.gold.reader import FIRST, LAST, GoldReader
from answers.gold.selection import GoldSelection, clusters_of
from answers.leader_redirects import redirects as leader_redirects
from answers.metadata_lookups import lookups as metadata_lookups
from answers.partition_skew import spread
from answers.runs import summaries as runs
from answers.slow_links import round_trips
from answers.slow_links.culprits import findings, headline, windows_of
from answers.slow_links.injected_delay import injected_against_measured
from answers.throttles import limits, moves
from schemas.rows import Row
from serving.report.answers import Answers
from serving.report.run.run_changes import run_changes


@dataclass(frozen=True, slots=True)
class ReportSpan:
    """Which windows to show; an end that is None is open."""

    since: datetime | None = None
    until: datetime | None = None


class SeveralClustersError(Exception):
    """A report is of one cluster; the message lists the clusters."""


class NoRowsError(Exception):
    """Gold has no rows."""


def selection_of(gold: GoldReader, cluster: str | None, span: ReportSpan) -> GoldSelection:
    """
    Return the selection of a cluster and a span.

    Raises:
        SeveralClustersError: no cluster is given and there are several, or there is none of that name.
        NoRowsError: no line was ever counted and no round trip was measured.

    """
    names = clusters_of(gold)
    if not names:
        raise NoRowsError
    wanted = cluster or (names[0] if len(names) == 1 else None)
    if wanted not in names:
        raise SeveralClustersError(", ".join(names))
    return GoldSelection(gold=gold, cluster=wanted, since=span.since or FIRST, until=span.until or LAST)


def answers_of(
    selection: GoldSelection, *, truth: Row | None, inputs: Row, network_bytes_per_s: float | None = None
) -> Answers:
    """Return what a report shows."""
    culprits = round_trips.culprits(selection)
    found, accused = findings(culprits), headline(culprits).finding
    core = accused.core if accused else ()
    summaries = runs.summaries(selection)
    changes, reasons = run_changes(summaries)
    return Answers(
        fetch_latency=fetch_latency.windows(selection),
        fetch_latency_summary=fetch_latency.fetches(selection),
        fetch_latency_accused=fetch_latency.fetches(selection, only=core),
        broker_rtt=round_trips.windows(selection),
        broker_rtt_summary=round_trips.round_trips(selection),
        broker_rtt_accused=round_trips.round_trips(selection, only=core),
        broker_rtt_quiet=round_trips.round_trips(selection, but=windows_of(found)) if found else (),
        broker_rtt_culprit=culprits,
        partition_skew=spread.partitions(selection),
        partition_skew_summary=spread.producers(selection),
        leader_redirect=leader_redirects.events(selection),
        leader_redirect_summary=leader_redirects.by_version(selection),
        metadata_lookup=metadata_lookups.lookups(selection),
        metadata_lookup_windows=metadata_lookups.windows(selection),
        leader_local_mean=leader_local_means.windows(selection),
        leader_local_mean_summary=leader_local_means.means(selection),
        missing_metrics=missing_metrics.missing_metrics(selection),
        throttle_compliance=limits.limits(selection),
        throttle_compliance_windows=limits.windows(selection),
        reassignment_progress=moves.moves(selection, network_bytes_per_s),
        reassignment_progress_windows=moves.forecast(selection),
        perf_summaries=summaries,
        run_changes=changes,
        run_changes_missing=reasons,
        stock_fetch_total=fetch_latency.stock(selection),
        data_quality=data_quality.by_source(selection),
        quarantine=data_quality.quarantined(selection),
        quarantine_by_reason=data_quality.quarantined_by_reason(selection),
        skipped=data_quality.skipped_by_logger(selection),
        inputs=inputs,
        truth=_compared(truth, selection) if truth else (),
    )


def _compared(truth: Row, selection: GoldSelection) -> list[Row]:
    return injected_against_measured(
        truth, lambda since, until: round_trips.round_trips(replace(selection, since=since, until=until))
    )
