"""A5: clients that lost their leader, one by one and by client version (KIP-951)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf

from answers import listing
from answers.clients import FEW, version_of
from answers.formats import count, ms, percent, text
from answers.gold.reader import QueryRows
from answers.gold.selection import IN_SPAN, NO_CLIENT, OF_CLIENT, OF_TOPIC, GoldSelection
from answers.leader_redirects.kip_951 import claims
from answers.listing import Column, Listing
from schemas.gold.leader_redirect import DISCONNECT
from schemas.rows import Row
from transforms.gold.leader_redirect.cause import FOUND_WITHIN_S

MIN_FOR_P99 = 100
"""The minimum number of events for a p99. With fewer events the p99 is the maximum."""

EVENTS = f"""
    SELECT * FROM gold.leader_redirect
    WHERE {IN_SPAN} AND {OF_CLIENT} AND {OF_TOPIC}
      AND ($broker::INTEGER IS NULL OR old_leader_id = $broker OR new_leader_id = $broker)
    ORDER BY errored_at, topic, partition, client_id, api, old_leader_id, kind, software_version"""
_MOVED = f"FILTER (kind IS DISTINCT FROM '{DISCONNECT}')"
_DIED = f"FILTER (kind = '{DISCONNECT}')"
BY_VERSION = f"""
    SELECT cluster, api, software_version, count(redirect_ms) {_MOVED} AS n,
           count(*) {_MOVED} - count(redirect_ms) {_MOVED} AS unfinished,
           median(redirect_ms) {_MOVED} AS redirect_p50_ms,
           CASE WHEN count(redirect_ms) {_MOVED} >= {MIN_FOR_P99}
                THEN quantile_cont(redirect_ms, 0.99) {_MOVED} END AS redirect_p99_ms,
           max(redirect_ms) {_MOVED} AS redirect_max_ms,
           median(client_part_ms) {_MOVED} AS client_part_p50_ms,
           median(broker_part_ms) {_MOVED} AS broker_part_p50_ms,
           avg(hinted::INTEGER) {_MOVED} AS hinted_share,
           sum(errors_at_old_leader) {_MOVED}::BIGINT AS wasted_requests,
           count(redirect_ms) {_DIED} AS disconnects,
           median(redirect_ms) {_DIED} AS disconnect_p50_ms, max(redirect_ms) {_DIED} AS disconnect_max_ms
    FROM ({EVENTS}) GROUP BY ALL ORDER BY api, software_version"""

# A client was served after all if batches of its producer follow, or the end of a later redirect.
UNENDED = f"""
    WITH lost AS (
        SELECT api, topic, coalesce(client_id, {NO_CLIENT}) AS client, partition, min(errored_at) AS since,
               max(errored_at) AS last_at, max(software_version) AS version,
               sum(errors_at_old_leader) AS errors, bool_or(hinted) AS is_hinted
        FROM ({EVENTS})
        WHERE redirect_ms IS NULL AND errored_at <= $lost_before GROUP BY ALL
    ),
    served AS (
        SELECT api, topic, coalesce(client_id, {NO_CLIENT}) AS client, partition, succeeded_at AS served_at
        FROM gold.leader_redirect WHERE {IN_SPAN}
        UNION ALL
        SELECT 'PRODUCE', topic, coalesce(client_id, {NO_CLIENT}), partition, window_start
        FROM gold.partition_skew WHERE {IN_SPAN} AND batches > 0
    ),
    ended AS (
        SELECT lost.*, min(served_at) FILTER (served_at > last_at) AS ended_at
        FROM lost LEFT JOIN served USING (api, topic, client, partition) GROUP BY ALL
    )
    SELECT api, topic, nullif(client, {NO_CLIENT}) AS client_id, max(version) AS software_version,
           list(partition ORDER BY partition) AS partitions, min(since) AS since,
           CASE WHEN count(ended_at) = count(*) THEN max(ended_at) END AS until,
           sum(errors)::BIGINT AS wasted_requests, bool_or(is_hinted) AS is_hinted
    FROM ended GROUP BY api, topic, client ORDER BY min(since), topic, client, api"""


def events(selection: GoldSelection) -> QueryRows:
    """Return one row per client, partition and lost leader."""
    return selection.rows(EVENTS)


def by_version(selection: GoldSelection) -> QueryRows:
    """Return `leader_redirect_summary`: one row per API and client version, disconnects separate."""
    return selection.rows(BY_VERSION)


def unended(selection: GoldSelection, newest: datetime) -> list[Row]:
    """
    Return the clients that got no leader back within 60 s, with the partitions: one row per client and topic.

    `newest` is the end of the data: a redirect within 60 s of it may still end. `until` is None while a
    partition does not serve the client.
    """
    return selection.rows(UNENDED, lost_before=newest - timedelta(seconds=FOUND_WITHIN_S))


def moved(versions: Sequence[Row]) -> list[Row]:
    """Return the versions whose leaders moved."""
    return [row for row in versions if row["n"] or row["unfinished"]]


def died(versions: Sequence[Row]) -> list[Row]:
    """Return the versions whose leaders died."""
    return [row for row in versions if row["disconnects"]]


def headline(versions: Sequence[Row]) -> str:
    """Return the sentence about clients that lost a leader; empty if there are none."""
    parts = []
    if moves := moved(versions):
        n = sum(row["n"] + row["unfinished"] for row in moves)
        parts.append(f"Clients lost a leader that moved {_times(n)}{_range(moves)}")
    if deaths := died(versions):
        begin = "; and" if parts else "Clients lost"
        longest = ms(max(row["disconnect_max_ms"] for row in deaths))
        lost = sum(row["disconnects"] for row in deaths)
        parts.append(f"{begin} a leader that died {_times(lost)}, for up to {longest} ms")
    return f"{''.join(parts)}." if parts else ""


def quiet(versions: Sequence[Row]) -> str:
    """Return the sentence of a page without a headline."""
    unserved = "Leaders were lost, and no client has been served again yet."
    return unserved if versions else "No client lost its leader in this span."


def sentences(versions: Sequence[Row], redirects: Sequence[Row]) -> list[str]:
    """Return a sentence for each version and API, and those about KIP-951's claims."""
    return [*map(_of_version, moved(versions)), *claims(redirects)]


def _range(moves: Sequence[Row]) -> str:
    """Return the medians of the fastest and the slowest version: of producers, else of consumers."""
    typical = [row for row in moves if row["n"] >= FEW and row["redirect_p50_ms"] is not None]
    producers = [row for row in typical if row["api"] == "PRODUCE"]
    name, rows = ("producers", producers) if producers else ("consumers", typical)
    if not rows:
        return ""
    ends = [pick(rows, key=lambda row: row["redirect_p50_ms"]) for pick in (min, max)]
    medians = " to ".join(dict.fromkeys(map(_median, ends)))
    return f", {name} for {medians} at the median"


def _median(row: Row) -> str:
    return f"{ms(row['redirect_p50_ms'])} ms ({version_of(row)}, n = {count(row['n'])})"


def _of_version(row: Row) -> str:
    start = f"{version_of(row)} ({row['api']}): {count(row['n'])} redirects"
    if row["n"] < FEW or row["redirect_p50_ms"] is None:
        return f"{start}, not enough data"
    tail = f", p99 {ms(row['redirect_p99_ms'])} ms" if row["redirect_p99_ms"] is not None else ""
    return (
        f"{start}, p50 {ms(row['redirect_p50_ms'])} ms{tail}; the client's part "
        f"{ms(row['client_part_p50_ms'])} ms, the broker's {ms(row['broker_part_p50_ms'])} ms; "
        f"{percent(row['hinted_share'])} hinted, {count(row['wasted_requests'])} requests wasted"
    )


def _times(n: int) -> str:
    return "once" if n == 1 else f"{count(n)} times"


def _longest_first(redirects: Sequence[Row]) -> list[Row]:
    """Return the events, those without an end first."""
    return sorted(
        redirects, key=lambda row: inf if row["redirect_ms"] is None else row["redirect_ms"], reverse=True
    )


_VERSION = (Column("version", version_of, is_text=True), listing.text("API", "api"))
REDIRECTS = Listing(
    name="redirect-table",
    title="Clients whose leader moved",
    lead="From the old leader's first error to the first success at the new leader (KIP-951).",
    rows=moved,
    columns=(
        *_VERSION,
        listing.count("redirects", "n"),
        listing.count("without end", "unfinished", in_terminal=False),
        listing.milliseconds("p50 ms", "redirect_p50_ms", style="strong"),
        listing.milliseconds("p99 ms", "redirect_p99_ms"),
        listing.milliseconds("longest ms", "redirect_max_ms", in_terminal=False),
        listing.milliseconds("client's part p50 ms", "client_part_p50_ms"),
        listing.milliseconds("broker's part p50 ms", "broker_part_p50_ms"),
        listing.percent("hinted", "hinted_share"),
        listing.count("wasted requests", "wasted_requests"),
    ),
    about={
        "p99 ms": f"From {MIN_FOR_P99} redirects on.",
        "hinted": "The error response contained the new leader.",
    },
)
DISCONNECTS = Listing(
    name="disconnect-table",
    title="Clients whose leader died",
    lead="From the dead leader's last response to the first success at its successor. Most of this time "
    "passes until the controller notices.",
    rows=died,
    columns=(
        *_VERSION,
        listing.count("lost leaders", "disconnects"),
        listing.milliseconds("p50 ms", "disconnect_p50_ms", style="strong"),
        listing.milliseconds("longest ms", "disconnect_max_ms"),
    ),
)
LOST_LEADERS = Listing(
    name="event-table",
    title="Lost leaders",
    lead="The longest first.",
    rows=_longest_first,
    columns=(
        listing.instant("lost at, UTC", "errored_at"),
        listing.text("kind", "kind"),
        listing.text("topic", "topic"),
        listing.identifier("partition", "partition"),
        listing.text("client id", "client_id", style="path", in_terminal=False),
        Column(
            "leaders",
            lambda row: f"{text(row['old_leader_id'])} \N{RIGHTWARDS ARROW} {text(row['new_leader_id'])}",
        ),
        listing.milliseconds("lost for ms", "redirect_ms", style="strong"),
        listing.milliseconds("client's part ms", "client_part_ms"),
        listing.milliseconds("broker's part ms", "broker_part_ms", in_terminal=False),
    ),
)
