"""All tables of a report, in the order of the page."""

from collections.abc import Callable, Sequence

from answers.data_quality import counts as data_quality
from answers.data_quality import missing_metrics
from answers.fetches import latency as fetch_latency
from answers.fetches import leader_local_means
from answers.fetches import stock as stock_latency
from answers.leader_redirects import redirects as leader_redirects
from answers.listing import Listed, Listing
from answers.metadata_lookups import lookups as metadata_lookups
from answers.partition_skew.sentences import PRODUCERS
from answers.runs import summaries as runs
from answers.slow_links import culprits, injected_delay, round_trips
from answers.slow_links.culprits import Headline
from answers.throttles.listings import MOVES, THROTTLES
from schemas.rows import Row
from serving.report.answers import Answers


def pairs_of(answers: Answers, headline: Headline) -> Sequence[Row]:
    """Return the round trips during the finding, because a short fault has no effect on the whole span."""
    is_found = headline.finding and answers.broker_rtt_accused
    return answers.broker_rtt_accused if is_found else answers.broker_rtt_summary


def tables_of(answers: Answers, headline: Headline) -> dict[str, Listed]:
    """Return the tables by their names."""
    finding = headline.finding
    pairs = round_trips.pair_rows(pairs_of(answers, headline), answers.broker_rtt_quiet if finding else [])
    fetches, versions = answers.fetch_latency_summary, answers.leader_redirect_summary
    stock = stock_latency.compared(answers.stock_fetch_total, answers.fetch_latency_accused or fetches)
    rows: list[tuple[Listing, Sequence[Row]]] = [
        (round_trips.PAIRS, pairs),
        (injected_delay.LISTING, answers.truth),
        (stock_latency.COMPARISON, stock),
        (fetch_latency.FOLLOWERS, fetches),
        (culprits.FINDINGS, culprits.listed(culprits.findings(answers.broker_rtt_culprit))),
        (fetch_latency.CONSUMERS, fetches),
        (fetch_latency.RAFTS, fetches),
        (leader_local_means.LISTING, answers.leader_local_mean_summary),
        (THROTTLES, answers.throttle_compliance),
        (MOVES, answers.reassignment_progress),
        (PRODUCERS, answers.partition_skew_summary),
        (leader_redirects.REDIRECTS, versions),
        (leader_redirects.DISCONNECTS, versions),
        (leader_redirects.LOST_LEADERS, answers.leader_redirect),
        (metadata_lookups.LISTING, answers.metadata_lookup),
        (runs.SUMMARY, answers.perf_summaries),
        (runs.CHANGES, answers.run_changes),
        (data_quality.NODES, answers.data_quality),
        (data_quality.SOURCES, answers.data_quality),
        (data_quality.FAILED_RULES, answers.quality_results),
        (missing_metrics.LISTING, answers.missing_metrics),
        (data_quality.REASONS, answers.quarantine_by_reason),
        (data_quality.QUARANTINE, answers.quarantine),
        (data_quality.SKIPPED, answers.skipped),
        (data_quality.NOT_UNDERSTOOD, answers.inputs.get("not_understood") or []),
    ]
    marks = {round_trips.PAIRS.name: accused_by(headline)}
    return {one.name: one.listed(found, marks.get(one.name)) for one, found in rows}


def accused_by(headline: Headline) -> Callable[[Row], bool]:
    """Return the function whether a pair is accused."""
    finding = headline.finding
    return lambda row: (
        finding is not None and culprits.is_accused(finding.row, row["follower_id"], row["leader_id"])
    )
