"""A3, A5 and A6: partition skew of producers, clients that lost a leader, metadata lookups."""

from dash.development.base_component import Component

from answers.leader_redirects import redirects as leader_redirects
from answers.metadata_lookups import lookups as metadata_lookups
from answers.partition_skew import sentences as skew
from answers.partition_skew.spread import MIN_BATCHES, producers
from answers.partition_skew.spread import partitions as partitions_of
from serving.dashboard.parts import bullets, graph, listed_section, nothing, section, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.client_figures import lookups_over_time, redirect_times, shares

FILL = "plumbline ingest and plumbline build-gold --follow"


def partitions(request: DashboardRequest) -> list[Component]:
    """Return the page of partition skew."""
    spread, rows = partitions_of(request.selection), producers(request.selection)
    listed = skew.PRODUCERS.listed(rows)
    if not listed.rows:
        lead = "Topics of one partition cannot be uneven and are left out."
        missing = nothing("no producer wrote to a topic of several partitions in this span.", fill=FILL)
        empty = verdict(skew.quiet(rows), "unsure")
        return [empty, section("Producers and partitions", lead, missing, name="skew")]
    slow = skew.headline(rows)
    figure = graph("skew-shares", shares(spread, rows), "Share of bytes of each partition, by producer.")
    lead = "Share of each partition in a producer's bytes; red belongs to the slowest leader for it."
    return [
        verdict(
            slow or skew.quiet(rows), "unsure" if slow else "calm", [f"Judged from {MIN_BATCHES} batches on."]
        ),
        section("Shares of the partitions", lead, figure, name="skew"),
        listed_section(listed, "list", bullets(skew.sentences(rows))),
    ]


def redirects(request: DashboardRequest) -> list[Component]:
    """Return the page of clients that lost their leader."""
    events = leader_redirects.events(request.selection)
    versions = leader_redirects.by_version(request.selection)
    if not events:
        empty = verdict(leader_redirects.quiet(versions), "calm")
        missing = nothing("no leader moved or died under a client.", fill=FILL)
        return [empty, section("Clients that lost a leader", "", missing, name="redirect")]
    figure = graph("redirect-times", redirect_times(events), "How long each client was lost, by version.")
    moved, died = leader_redirects.REDIRECTS.listed(versions), leader_redirects.DISCONNECTS.listed(versions)
    sentences = bullets(leader_redirects.sentences(versions, events))
    lead = "From the first error, or a dead leader's last response, to the first success at the new leader."
    return [
        verdict(leader_redirects.headline(versions) or leader_redirects.quiet(versions), "unsure"),
        section("How long clients were lost", lead, figure, name="redirect"),
        *([listed_section(moved, "moved", sentences)] if moved.rows else []),
        *([listed_section(died, "died")] if died.rows else []),
        listed_section(leader_redirects.LOST_LEADERS.listed(events), "events"),
    ]


def lookups(request: DashboardRequest) -> list[Component]:
    """Return the page of metadata lookups."""
    rows = metadata_lookups.lookups(request.selection)
    if not rows:
        empty = verdict(metadata_lookups.quiet(rows), "unsure")
        return [empty, section("Lookups", "", nothing("no METADATA request.", fill=FILL), name="lookups")]
    drawn = graph(
        "lookups-figure",
        lookups_over_time(metadata_lookups.over_time(request.selection)),
        "Topics per lookup over time, by client.",
    )
    slow = metadata_lookups.headline(rows)
    sentences = bullets(metadata_lookups.sentences(rows))
    return [
        verdict(slow or metadata_lookups.quiet(rows), "unsure" if slow else "calm"),
        section("Topics per lookup", "Lookups of all topics are left out.", drawn, name="lookups"),
        listed_section(metadata_lookups.LISTING.listed(rows), "list", sentences),
    ]
