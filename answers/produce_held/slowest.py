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
from transforms.gold.produce_held.held import READS, RELEASED, load_held
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
    REQUESTS: f"{_NEAR} AND broker_id = $leader",
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


def slowest(selection: GoldSelection, leader: int, follower: int) -> Row | None:
    """
    Return the follower's worst window, and the requests and clients that it held back there.

    The keys are `worst`, the start, `requests` and `clients`. None without such requests, or without silver.

    Raises:
        answers.gold.reader.QueryBoundError: there are too many requests around the window.

    """
    span = selection.by_minute
    filters = (selection.cluster, leader, follower, selection.topic, span.since, span.until)
    key = ("produce_held_slowest", *map(repr, filters))
    return next(iter(selection.gold.computed(key, lambda: _found(selection, leader, follower))), None)


def _found(selection: GoldSelection, leader: int, follower: int) -> list[Row]:
    windows = selection.rows(WORST, leader=leader, follower=follower)
    if not windows or not selection.gold.has(REQUESTS):
        return []
    worst = windows[0]["worst"]
    with connect({}) as db:
        load_held(db, SilverAround(selection, worst, leader), f"window_s = {int(worst.timestamp())}")
        requests, clients = (
            db.sql(query, params={"follower": follower, "topic": selection.topic}).to_arrow_table()
            for query in (_SLOWEST, _CLIENTS)
        )
        found = {"worst": worst, "requests": requests.to_pylist(), "clients": clients.to_pylist()}
    return [found] if found["requests"] else []


class SilverAround:
    """Silver of a leader around a window."""

    def __init__(self, selection: GoldSelection, window: datetime, leader: int) -> None:
        """Read nothing yet."""
        self._gold, self._window = selection.gold, window
        self._parameters = {"cluster": selection.cluster, "leader": leader}

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        reach: Reach | None = None,
        *,
        where: str = "true",
    ) -> Rows:
        """Return columns of the rows that meet a condition."""
        reach = reach or READS.get(table, Reach())
        names = ", ".join(f'"{name}"' for name in columns)
        query = f"SELECT {names} FROM silver.{table.name} WHERE {_CONDITIONS[table]} AND ({where})"
        parameters = self._parameters | {
            "since": self._window - timedelta(seconds=reach.lookback_s),
            "until": self._window + WINDOW + timedelta(seconds=reach.lookahead_s),
        }
        used = {name: value for name, value in parameters.items() if f"${name}" in query}
        return Rows(table=table, columns=tuple(columns), source=self._gold.arrow(query, used))


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
