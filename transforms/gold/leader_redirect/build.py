"""How `leader_redirect` is built: which lines touch a redirect, and which redirects are remembered."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from transforms.frames import frame_of, frame_of_arrow, united
from transforms.gold.build import Build, Inputs, Touch, Warehouse
from transforms.gold.fetch_latency import pairing
from transforms.gold.leader_redirect.cause import FOUND_WITHIN_S
from transforms.gold.leader_redirect.client_tries import is_refused
from transforms.gold.leader_redirect.disconnect import (
    TAKEOVER_REACH,
    is_takeover,
    leader_disconnect,
    silent_takeovers,
)
from transforms.gold.leader_redirect.table import (
    CHANGES_REACH,
    CLIENT_EVENTS_REACH,
    REQUESTS_REACH,
    leader_redirect,
)
from transforms.spans import Span, windows_of
from transforms.spans import touched as spread
from transforms.sql import connect
from transforms.windows import WINDOW_S, window_start


class Redirects:
    """
    The windows with redirects, since any line of the following minute can end one, and the takeovers.

    A takeover's events begin up to a minute before it, and look for their clocks a minute further back. Any
    line near it can show which client lost its leader, or that the leader is alive.
    """

    def __init__(self, redirects: Iterable[int] = (), takeovers: Iterable[int] = ()) -> None:
        """Remember windows (epoch seconds)."""
        self._redirects, self._takeovers = set(redirects), set(takeovers)

    @classmethod
    def remembered(cls, warehouse: Warehouse) -> Self:
        """Read what is to be remembered from tables."""
        taken = warehouse.read(LEADERSHIP_CHANGES).filter(is_takeover())
        start = F.unix_seconds(window_start(F.col("logged_at"))).alias("start")
        rows = taken.select(start).distinct().collect()
        takeovers = (row["start"] for row in rows if row["start"] is not None)
        return cls(warehouse.windows(LEADER_REDIRECT), takeovers)

    def windows(self, touched: Sequence[set[int]], arrived: Sequence[Row]) -> set[int]:
        """Add the windows of the redirects and takeovers that have new lines near them."""
        of_errors, of_takeovers, of_runs = touched
        lines = {row["slot"] for row in arrived if row["input"] in LINES}
        self._takeovers |= {row["slot"] for row in arrived if row[BUILD.flag(1)]}
        near_takeovers = _near(self._takeovers, lines, before_s=2 * FOUND_WITHIN_S)
        return (
            of_errors
            | of_takeovers
            | spread(near_takeovers, TAKEOVER_REACH)
            | (of_runs & self._redirects)
            | _near(self._redirects, lines, before_s=FOUND_WITHIN_S)
        )

    def built(self, spans: Sequence[Span], rows: Mapping[Table, pa.Table]) -> None:
        """Remember the redirects of these windows."""
        self._redirects -= windows_of(spans)
        starts = rows[LEADER_REDIRECT]["window_start"].to_pylist()
        self._redirects |= {int(start.timestamp()) for start in starts}


def _near(windows: Iterable[int], slots: Iterable[int], *, before_s: int) -> set[int]:
    """Return the windows with a new line from `before_s` before them to `FOUND_WITHIN_S` after them."""
    return {
        window
        for window in windows
        if any(window - before_s <= slot <= window + FOUND_WITHIN_S + WINDOW_S for slot in slots)
    }


def _frames(inputs: Inputs) -> Mapping[Table, DataFrame]:
    """Build redirects and disconnects. Both are expensive, and it is cheap to see that there are none."""
    requests, changes = inputs.near(REQUESTS), inputs.near(LEADERSHIP_CHANGES)
    kinds = []
    if not inputs.is_empty(requests.filter(is_refused())):
        kinds.append(leader_redirect)
    if inputs.has(LEADERSHIP_CHANGES) and not inputs.is_empty(silent_takeovers(requests, changes)):
        kinds.append(leader_disconnect)
    if not kinds:
        return {LEADER_REDIRECT: frame_of(requests.sparkSession, [], LEADER_REDIRECT.schema)}
    fetches = frame_of_arrow(requests.sparkSession, _paired(inputs))
    topics, runs = inputs.whole(TOPICS), inputs.whole(RUNS)
    return {LEADER_REDIRECT: united([kind(requests, topics, runs, changes, fetches) for kind in kinds])}


def _paired(inputs: Inputs) -> pa.Table:
    """Return the follower fetches with both lines, which give the clock offsets."""
    with connect(pairing.rows_of(inputs)) as db:
        found = db.sql(f"""
            SELECT
                cluster, kind, leader_id, follower_id, logged_us, received_us, total_ms, send_ms, elapsed_ms
            FROM ({pairing.fetches(pairing.skew_of(inputs))})
            WHERE kind = 'follower' AND elapsed_ms IS NOT NULL
        """).to_arrow_table()
    for side in ("logged", "received"):
        at = found.column_names.index(f"{side}_us")
        found = found.set_column(at, f"{side}_at", found[f"{side}_us"].cast(pa.timestamp("us", "UTC")))
    return found


LINES = (REQUESTS.name, LEADERSHIP_CHANGES.name)

BUILD = Build(
    name="leader_redirect",
    tables=(LEADER_REDIRECT,),
    frames=_frames,
    reads={
        REQUESTS: REQUESTS_REACH,
        LEADERSHIP_CHANGES: CHANGES_REACH,
        CLIENT_EVENTS: CLIENT_EVENTS_REACH,
    },
    whole=(TOPICS, RUNS),
    touched_by=(
        Touch(of=REQUESTS, where=is_refused, reach=REQUESTS_REACH),
        Touch(of=LEADERSHIP_CHANGES, where=is_takeover, reach=TAKEOVER_REACH),
        Touch(of=RUNS, and_later=True),
    ),
    memory=Redirects.remembered,
)
