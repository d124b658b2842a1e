"""Ten-second windows, the input range of a gold row, and whether a window is complete."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WINDOW_S = 10
HOUR_S = 3600
SETTLE_S = 60
"""A window does not wait longer for a silent broker. A broker counts as expected this long after a line."""


_WINDOW_US = WINDOW_S * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """
    The range of one input outside its window that a gold row depends on.

    A row of the window [start, start + 10 s) is a function of the input's lines in
    [start - lookback_s, start + 10 s + lookahead_s). A line at `t` affects the windows of `t - lookahead_s`
    to `t + lookback_s`.
    """

    lookback_s: int = 0
    lookahead_s: int = 0


class Coverage(NamedTuple):
    """Whether the lines of a window are complete."""

    cluster: str
    window_start: datetime
    nodes_expected: int
    nodes_reporting: int
    is_settled: bool


NewestLines = dict[tuple[str, int, int], int]
"""The instant (epoch microseconds) of the newest request line, by cluster, broker and window (seconds)."""

LINE = ("cluster", "broker_id", "logged_at")
"""The columns of a request line that `newest_lines` reads."""

COVERAGE_REACH = Reach(lookback_s=SETTLE_S)
"""`is_settled` depends on later lines too: `engine.gold.coverage.Settling` builds unsettled windows again."""


def coverage(newest_us: NewestLines) -> list[Coverage]:
    """
    Return one row per window: the numbers of expected and reporting brokers, and `is_settled`.

    `newest_us` has the lines from `SETTLE_S` before the windows. After the windows, the newest line of each
    broker is enough.
    """
    of_broker: dict[tuple[str, int], int] = {}
    of_cluster: dict[str, int] = {}
    expected: dict[tuple[str, int], set[int]] = {}
    for (cluster, broker, window), at in newest_us.items():
        of_broker[cluster, broker] = max(at, of_broker.get((cluster, broker), at))
        of_cluster[cluster] = max(at, of_cluster.get(cluster, at))
        for start in range(window, window + SETTLE_S + 1, WINDOW_S):
            expected.setdefault((cluster, start), set()).add(broker)
    found = []
    for (cluster, start), brokers in expected.items():
        end_us = (start + WINDOW_S) * 1_000_000
        is_read = all(of_broker[cluster, broker] >= end_us for broker in brokers)
        is_given_up = of_cluster[cluster] > end_us + SETTLE_S * 1_000_000
        reporting = sum((cluster, broker, start) in newest_us for broker in brokers)
        found.append(
            Coverage(
                cluster=cluster,
                window_start=datetime.fromtimestamp(start, UTC),
                nodes_expected=len(brokers),
                nodes_reporting=reporting,
                is_settled=is_read or is_given_up,
            )
        )
    return found


def newest_lines(lines: pa.RecordBatchReader) -> NewestLines:
    """Return the newest of the request lines (`LINE`); re-sent lines have no effect."""
    newest: NewestLines = {}
    for batch in lines:
        for key, at_us in _newest_of(pa.table(batch)):
            newest[key] = max(at_us, newest.get(key, at_us))
    return newest


def _newest_of(lines: pa.Table) -> Iterator[tuple[tuple[str, int, int], int]]:
    known = lines.filter(pc.and_(pc.is_valid(lines["logged_at"]), pc.is_valid(lines["broker_id"])))
    at_us = known["logged_at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    windows = pa.array(np.floor_divide(at_us.to_numpy(), _WINDOW_US) * WINDOW_S, pa.int64())
    table = pa.table(
        [known["cluster"], known["broker_id"], windows, at_us], ["cluster", "broker", "window", "us"]
    )
    newest = table.group_by(["cluster", "broker", "window"]).aggregate([("us", "max")])
    for row in newest.to_pylist():
        yield (row["cluster"], row["broker"], row["window"]), row["us_max"]
