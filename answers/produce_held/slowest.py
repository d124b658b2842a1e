"""The requests that a follower held back longest in its worst window, with the releasing FETCH."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from answers.formats import NONE
from answers.gold.selection import IN_SPAN, OF_TOPIC, GoldSelection
from answers.listing import Column, Listing, count, identifier, milliseconds, text
from schemas.fields import Table
from schemas.rows import Row
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.listeners import LISTENERS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES
from schemas.silver.topics import TOPICS
from transforms.gold.produce_held.held import CLIENT_EVENTS_REACH, RELEASED, load_held
from transforms.sql import Rows, connect
from transforms.windows import Reach

MOST = 20
WINDOW = timedelta(seconds=10)
WORST = f"""
    SELECT window_start AS worst FROM gold.produce_held
    WHERE {IN_SPAN} AND {OF_TOPIC} AND leader_id = $leader AND follower_id = $follower
    GROUP BY window_start ORDER BY sum_ms(held_sum_ms) DESC NULLS LAST, window_start LIMIT 1"""
"""The window in which the follower held requests back for the longest time in all."""

_NEAR = "cluster = $cluster AND logged_at >= $since AND logged_at < $until"
_CONDITIONS = {
    REQUESTS: f"{_NEAR} AND broker_id = $leader AND (api = 'PRODUCE' OR kind = 'follower')",
    CLIENT_EVENTS: f"{_NEAR} AND destination_id = $leader",
    ISR_CHANGES: f"{_NEAR} AND leader_id = $leader",
    TOPICS: "cluster = $cluster",
    LISTENERS: "cluster = $cluster",
}
_SLOWEST = f"""
    SELECT held.*, fetches.started_us, fetches.correlation_id, make_timestamptz(held.logged_us) AS logged_at
    FROM held LEFT JOIN fetches ON fetches.cluster = held.cluster AND fetches.position = ack
    WHERE held.follower_id = $follower AND outcome = '{RELEASED}' AND {OF_TOPIC}
    ORDER BY held_ms DESC, held.logged_us LIMIT {MOST}"""
_CLIENTS = f"""
    SELECT client_id, count(*) AS n, median(held_ms) AS held_p50_ms, max(held_ms) AS held_max_ms,
           median(remote_ms) AS remote_p50_ms
    FROM held WHERE follower_id = $follower AND outcome = '{RELEASED}' AND {OF_TOPIC} GROUP BY ALL
    ORDER BY sum(held_ms) DESC, client_id LIMIT {MOST}"""


def worst_window(selection: GoldSelection, leader: int, follower: int) -> datetime | None:
    """Return the start of the follower's worst window."""
    rows = selection.rows(WORST, leader=leader, follower=follower)
    return rows[0]["worst"] if rows else None


def slowest(selection: GoldSelection, leader: int, follower: int) -> tuple[list[Row], list[Row]]:
    """Return the requests and clients that a follower held back in its worst window; none without silver."""
    gold = selection.gold
    worst = worst_window(selection, leader, follower)
    if worst is None or not gold.has(REQUESTS):
        return [], []
    with connect({}) as db:
        load_held(db, SilverAround(selection, worst, leader), f"window_s = {int(worst.timestamp())}")
        found = (
            db.sql(query, params={"follower": follower, "topic": selection.topic}).to_arrow_table()
            for query in (_SLOWEST, _CLIENTS)
        )
        requests, clients = (rows.to_pylist() for rows in found)
    return requests, clients


class SilverAround:
    """Silver of a leader around a window."""

    def __init__(self, selection: GoldSelection, window: datetime, leader: int) -> None:
        """Read nothing yet."""
        self._gold = selection.gold
        before, after = CLIENT_EVENTS_REACH.lookback_s, CLIENT_EVENTS_REACH.lookahead_s
        self._parameters = {
            "cluster": selection.cluster,
            "leader": leader,
            "since": window - timedelta(seconds=before),
            "until": window + WINDOW + timedelta(seconds=after),
        }

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        reach: Reach | None = None,  # noqa: ARG002 (one window needs little)
        *,
        where: str = "true",
    ) -> Rows:
        """Return columns of the rows that meet a condition."""
        query = f"SELECT * FROM silver.{table.name} WHERE {_CONDITIONS[table]}"
        used = {name: value for name, value in self._parameters.items() if f"${name}" in query}
        rows = self._gold.arrow(query, used)
        return Rows(table=table, columns=tuple(columns), source=rows, where=where)


SLOWEST = Listing(
    name="held-request-table",
    title="Produce requests held longest",
    lead="In the worst window, one by one, with the FETCH that released each.",
    columns=(
        Column(
            "at the leader, UTC",
            lambda row: NONE if row["logged_at"] is None else f"{row['logged_at']:%H:%M:%S.%f}"[:-3],
            "logged_at",
            is_text=True,
        ),
        text("client id", "client_id", style="path", in_terminal=False),
        text("topic", "topic"),
        milliseconds("held ms", "held_ms", style="strong"),
        milliseconds("wait ms", "remote_ms"),
        milliseconds("busy ms", "busy_ms"),
        milliseconds("serve ms", "serve_ms"),
        milliseconds("network ms", "network_ms"),
        milliseconds("take ms", "take_ms"),
        milliseconds("own append ms", "own_append_ms", in_terminal=False),
        identifier("FETCH correlation id", "correlation_id", in_terminal=False),
        text("FETCH line", "ack", style="path", in_terminal=False),
    ),
)
CLIENTS = Listing(
    name="held-client-table",
    title="Producers held back most",
    lead="The clients that were held back most in the worst window.",
    columns=(
        text("client id", "client_id", style="path"),
        count("requests", "n"),
        milliseconds("held p50 ms", "held_p50_ms", style="strong"),
        milliseconds("held longest ms", "held_max_ms"),
        milliseconds("wait p50 ms", "remote_p50_ms", style="dim"),
    ),
)
