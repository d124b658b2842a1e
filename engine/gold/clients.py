"""Rebuild windows of the gold tables about clients: partition skew, leader redirects, metadata lookups."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.arrivals import slots_of
from engine.gold.held_back import let_through
from engine.gold.limits import first_whole_window
from engine.process.progress import Progress
from schemas.fields import Table
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from transforms.gold.fetch_latency import pairing
from transforms.gold.leader_redirect import disconnect
from transforms.gold.leader_redirect import table as leader_redirect
from transforms.gold.leader_redirect.cause import FOUND_WITHIN_S
from transforms.gold.metadata_lookup import table as metadata_lookup
from transforms.gold.partition_skew import table as partition_skew
from transforms.spans import Span, in_steps, spans_of, touched, window_of
from transforms.windows import WINDOW_S, Reach, window_start

SILVER = (REQUESTS, CLIENT_EVENTS, LEADERSHIP_CHANGES, TOPICS, RUNS)

REACHES = {
    PARTITION_SKEW: partition_skew.REQUESTS_REACH,
    LEADER_REDIRECT: leader_redirect.REQUESTS_REACH,
    METADATA_LOOKUP: metadata_lookup.REQUESTS_REACH,
}
"""How far each table looks back and ahead in the requests: the widest of its inputs."""

Inputs = tuple[DataFrame, DataFrame, DataFrame, DataFrame, DataFrame]
"""Requests, topics, runs, leadership changes and followers' fetches."""


class ClientWriter:
    """
    Writes the gold tables about clients; its caller holds the lease.

    It remembers the windows with redirects, since any line of the following minute can end one. It also
    remembers the windows with a takeover from a leader that is silent so far: a later line can show which
    client lost it, or that the leader is alive.
    """

    group = "clients"
    gold = tuple(REACHES)

    def __init__(self, spark: SparkSession, warehouse: Path, progress: Progress) -> None:
        """Create the missing tables."""
        self._spark, self._warehouse, self._progress = spark, warehouse, progress
        for table in SILVER:
            tables.make(warehouse, table)
        for table in self.gold:
            tables.ensure(spark, warehouse, table)
        self.with_redirects = _windows(tables.read(spark, warehouse, LEADER_REDIRECT), "window_start")
        changes = tables.read(spark, warehouse, LEADERSHIP_CHANGES)
        self.with_takeovers = _windows(changes.filter(disconnect.is_takeover()), "logged_at")

    def build(self, arrived: Sequence[Row]) -> int:
        """Rebuild what new rows touch, table by table; return the number of windows."""
        windows = touched_by(arrived, self.with_redirects, self.with_takeovers)
        self.rebuild(windows)
        return sum(len(of) for of in windows.values())

    def rebuild(self, windows: Mapping[Table, Iterable[int]]) -> int:
        """Rebuild windows (epoch seconds); return how many were refused because silver is incomplete."""
        # Take the snapshots first: rows that retention deletes after the check below are still in them.
        silver = {table: tables.snapshot(self._warehouse, table) for table in SILVER}
        refused: set[int] = set()
        for table, near in windows.items():
            wanted = let_through(self._warehouse, near)
            oldest = first_whole_window(self._warehouse, {REQUESTS: REACHES[table]})
            too_old = {window for window in wanted if oldest is not None and window < oldest}
            refused |= too_old
            for spans in in_steps(spans_of(wanted - too_old)):
                self._replace(table, spans, silver)
        for span in spans_of(refused):
            self._progress.say(f"clients not rebuilt: {span}; silver is not complete there")
        return len(refused)

    def rebuild_span(self, span: Span) -> int:
        """Rebuild all windows of a span; return how many were refused."""
        return self.rebuild({table: range(span.start, span.end, WINDOW_S) for table in self.gold})

    def _replace(self, table: Table, spans: list[Span], silver: Mapping[Table, Snapshot]) -> None:
        def near(source: Table, reach: Reach) -> DataFrame:
            return silver[source].rows(self._spark, "logged_at", spans, reach)

        requests = near(REQUESTS, REACHES[table])
        topics, runs = (tables.read(self._spark, self._warehouse, of) for of in (TOPICS, RUNS))
        if table is PARTITION_SKEW:
            rows = partition_skew.partition_skew(requests.filter("api = 'PRODUCE'"), topics, runs)
        elif table is METADATA_LOOKUP:
            rows = metadata_lookup.metadata_lookup(requests, runs)
        else:
            changes = near(LEADERSHIP_CHANGES, leader_redirect.CHANGES_REACH)
            events = near(CLIENT_EVENTS, leader_redirect.CLIENT_EVENTS_REACH)
            fetches = pairing.fetches(requests.filter("kind = 'follower'"), events)
            rows = self._lost((requests, topics, runs, changes, fetches), spans)
        tables.replace(rows, self._warehouse, table, column="window_start", spans=spans)

    def _lost(self, inputs: Inputs, spans: Iterable[Span]) -> DataFrame:
        """Build redirects, and disconnects only if a leader was silent, which is cheap to check first."""
        requests, _, _, changes, _ = inputs
        silent = _windows(disconnect.silent_takeovers(requests, changes), "taken_over_at")
        rows = leader_redirect.leader_redirect(*inputs)
        if silent:
            rows = rows.unionByName(disconnect.leader_disconnect(*inputs))
        rows = rows.localCheckpoint()
        done = _within(spans)
        self.with_redirects = (self.with_redirects - done) | (_windows(rows, "window_start") & done)
        judged = _within(Span(span.start, span.end + FOUND_WITHIN_S) for span in spans)
        self.with_takeovers = (self.with_takeovers - judged) | (silent & judged)
        return rows


def _within(spans: Iterable[Span]) -> set[int]:
    return {window for span in spans for window in range(span.start, span.end, WINDOW_S)}


def _windows(rows: DataFrame, at: str) -> set[int]:
    """Return the windows (epoch seconds) of the rows."""
    starts = rows.select(F.unix_seconds(window_start(F.col(at))).alias("start")).distinct().collect()
    return {int(row["start"]) for row in starts if row["start"] is not None}


def touched_by(
    arrived: Sequence[Row], with_redirects: Iterable[int], with_takeovers: Iterable[int]
) -> dict[Table, set[int]]:
    """Return the windows of each table that can change, by its own kind of lines and by runs."""
    requests = [row for row in arrived if row["input"] == REQUESTS.name]
    slots = slots_of(arrived, REQUESTS, LEADERSHIP_CHANGES)
    of_runs = _of_runs(arrived, newest=max(slots, default=0))
    errors, produced, lookups = (
        {row["slot"] for row in requests if row[flag]} for flag in ("is_error", "is_produce", "is_lookup")
    )
    # A takeover's events begin up to a minute before it, and look for their clocks a minute further back.
    taken_over = {row["slot"] for row in arrived if row["is_takeover"]} | _near(
        with_takeovers, slots, before_s=2 * FOUND_WITHIN_S
    )
    found = {
        PARTITION_SKEW: touched(produced, REACHES[PARTITION_SKEW]) | of_runs,
        LEADER_REDIRECT: touched(errors, REACHES[LEADER_REDIRECT])
        | touched(taken_over, disconnect.TAKEOVER_REACH)
        | (of_runs & set(with_redirects))
        | _near(with_redirects, slots, before_s=FOUND_WITHIN_S),
        METADATA_LOOKUP: lookups | touched(errors, REACHES[METADATA_LOOKUP]) | of_runs,
    }
    return {table: windows for table, windows in found.items() if windows}


def _of_runs(arrived: Iterable[Row], *, newest: int) -> set[int]:
    """Return the windows in which runs lasted; one that has not ended lasts until the newest line."""
    return {
        window
        for row in arrived
        if row["input"] == RUNS.name
        for window in range(row["slot"], window_of(row["until"] or newest) + 2 * WINDOW_S, WINDOW_S)
    }


def _near(windows: Iterable[int], slots: Iterable[int], *, before_s: int) -> set[int]:
    """Return the windows with a new line from `before_s` before them to `FOUND_WITHIN_S` after them."""
    return {
        window
        for window in windows
        if any(window - before_s <= slot <= window + FOUND_WITHIN_S + WINDOW_S for slot in slots)
    }
