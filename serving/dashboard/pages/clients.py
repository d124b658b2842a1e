"""A3, A5 and A6: partition skew of producers, clients that lost a leader, metadata lookups."""

from dash.development.base_component import Component

from answers import leader_redirects, metadata_lookups, partition_skew
from schemas.rows import Row
from serving.dashboard.parts import Column, bullets, graph, nothing, number, section, table, text, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.answers import NONE, Answers
from serving.report.clients.figures import lookups_over_time, redirect_times, shares
from serving.report.clients.rows import measured, version_of, who
from serving.report.clients.sentences import sentences
from serving.report.opening import of_clients
from serving.report.page_text import count, decimal, instant, ms, percent

FILL = "plumbline ingest and plumbline build-gold --follow"


def partitions(request: DashboardRequest) -> list[Component]:
    """Return the page of partition skew."""
    of = request.selection
    spread, summaries = partition_skew.partitions(of), partition_skew.producers(of)
    answers = Answers(partition_skew=spread, partition_skew_summary=summaries)
    if not measured(summaries):
        lead = "Topics of one partition cannot be uneven and are left out."
        missing = nothing("no producer wrote to a topic of several partitions in this span.", fill=FILL)
        empty = verdict("No producer to judge in this span.", "unsure")
        return [empty, section("Producers and partitions", lead, missing, name="skew")]
    slow = of_clients(answers).get("skew")
    quiet = "No producer's spread over partitions has a leader that is slow for it."
    columns = [
        Column("producer", who, is_text=True),
        text("topic", "topic"),
        text("run", "run"),
        text("version", "software_version"),
        number("batches", "batches", count),
        number("partitions", "partitions", count),
        number("fullest / mean", "max_over_mean", decimal),
        number("as many even ones", "effective_partitions", decimal),
        number("slowest leader", "slowest_leader_id", _id),
        number("its share / others'", "slowest_ratio", decimal),
        number("its latency / others'", "slowest_latency_ratio", decimal),
        text("speaks for", "partitioner"),
    ]
    figure = graph("skew-shares", shares(spread, summaries), "Share of bytes of each partition, by producer.")
    lead = "Share of each partition in a producer's bytes; red belongs to the slowest leader for it."
    return [
        verdict(slow or quiet, "unsure" if slow else "calm", ["Judged from 300 batches on."]),
        section("Which partition the bytes go to", lead, figure, name="skew"),
        section(
            "Producers",
            "",
            table("skew-table", columns, measured(summaries)),
            _said(answers, "skew"),
            name="list",
        ),
    ]


def redirects(request: DashboardRequest) -> list[Component]:
    """Return the page of clients that lost their leader."""
    events = leader_redirects.events(request.selection)
    by_version = leader_redirects.by_version(request.selection)
    answers = Answers(leader_redirect=events, leader_redirect_summary=by_version)
    if not events:
        empty = verdict("No client lost its leader in this span.", "calm")
        missing = nothing("no leader moved or died under a client.", fill=FILL)
        return [empty, section("Clients that lost a leader", "", missing, name="redirect")]
    versions = [
        Column("version", version_of, is_text=True),
        text("request", "api"),
        number("redirects", "n", count),
        number("without end", "unfinished", count),
        number("p50 ms", "redirect_p50_ms", ms),
        number("p99 ms", "redirect_p99_ms", ms),
        number("client's part p50", "client_part_p50_ms", ms),
        number("broker's part p50", "broker_part_p50_ms", ms),
        number("hinted", "hinted_share", percent),
        number("requests wasted", "wasted_requests", count),
        number("dead leaders", "disconnects", count),
        number("longest of these", "disconnect_max_ms", ms),
    ]
    listed = [
        Column("lost at, UTC", lambda row: instant(row["errored_at"]), is_text=True),
        text("kind", "kind"),
        text("topic", "topic"),
        number("partition", "partition", _id),
        text("client id", "client_id"),
        Column("leader", lambda row: f"{_id(row['old_leader_id'])} → {_id(row['new_leader_id'])}"),
        number("lost for ms", "redirect_ms", ms),
        number("client's part", "client_part_ms", ms),
        number("broker's part", "broker_part_ms", ms),
    ]
    figure = graph("redirect-times", redirect_times(events), "How long each client was lost, by version.")
    sentence = (
        of_clients(answers).get("redirect") or "Leaders were lost, and no client has been served again yet."
    )
    by_time = table("event-table", listed, sorted(events, key=_longest_first))
    lead = "From the first error, or a dead leader's last answer, to the first success at the new one."
    return [
        verdict(sentence, "unsure"),
        section("How long clients were lost", lead, figure, name="redirect"),
        section(
            "By version",
            "",
            table("redirect-table", versions, by_version),
            _said(answers, "redirect"),
            name="list",
        ),
        section("Every event, longest first", "", by_time, name="events"),
    ]


def lookups(request: DashboardRequest) -> list[Component]:
    """Return the page of metadata lookups."""
    rows = metadata_lookups.lookups(request.selection)
    answers = Answers(metadata_lookup=rows)
    if not rows:
        empty = verdict("No client looked metadata up in this span.", "unsure")
        return [empty, section("Lookups", "", nothing("no METADATA request.", fill=FILL), name="lookups")]
    columns = [
        Column("client", lambda row: row["client_id"] or NONE, is_text=True),
        text("version", "software_version"),
        text("run", "run"),
        number("lookups", "lookups", count),
        number("for all topics", "all_topics_lookups", count),
        number("topics a lookup", "topics_per_lookup", decimal),
        number("new topics", "new_topics", count),
        number("let go", "evicted_topics", count),
        number("bytes answered", "response_bytes", count),
        number(
            "bytes a 1,000 new topics",
            "bytes_per_1000_new_topics",
            lambda value: count(value and round(value)),
        ),
        number("grows like new topics ^", "growth_exponent", decimal),
    ]
    drawn = graph(
        "lookups-figure",
        lookups_over_time(metadata_lookups.over_time(request.selection)),
        "Topics a lookup over time, by client.",
    )
    slow = of_clients(answers).get("metadata")
    total = sum(row["lookups"] for row in rows)
    quiet = f"No client asks for known topics again and again: {count(total)} lookups in all."
    return [
        verdict(slow or quiet, "unsure" if slow else "calm"),
        section("Topics a lookup asks for", "Those for all topics are left out.", drawn, name="lookups"),
        section("Clients", "", table("lookup-table", columns, rows), _said(answers, "lookups"), name="list"),
    ]


def _said(answers: Answers, name: str) -> Component:
    return bullets(sentences(answers)[name])


def _longest_first(row: Row) -> float:
    return -(row["redirect_ms"] if row["redirect_ms"] is not None else float("inf"))


def _id(value: int | None) -> str:
    return NONE if value is None else str(value)
