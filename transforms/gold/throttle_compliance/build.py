"""How the tables of throttles and moves are built, and which times have any rows of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS
from transforms.frames import frame_of_arrow
from transforms.gold.build import Build, Inputs, Touch, Warehouse
from transforms.gold.metrics.counters import REACH as COUNTERS_REACH
from transforms.gold.metrics.facts import SAMPLES_COLUMNS, SERIES_COLUMNS, load_facts, load_samples
from transforms.gold.reassignment_progress.moves import BEFORE_S, BEGINS_WITHIN_S, calls, copies
from transforms.gold.reassignment_progress.replicated import CARRY_S, replica_lags, replicated
from transforms.gold.reassignment_progress.table import reassignment_progress
from transforms.gold.throttle_compliance.inputs import ThrottleInputs, brokers_of, inbound
from transforms.gold.throttle_compliance.limits import limits, throttled
from transforms.gold.throttle_compliance.metrics import WANTED, events, sizes
from transforms.gold.throttle_compliance.table import throttle_compliance
from transforms.gold.throttle_compliance.times import times_on
from transforms.spans import Span
from transforms.sql import connect
from transforms.windows import WINDOW_S, Reach

Persist = Callable[[DataFrame], DataFrame]

TABLES = (THROTTLE_COMPLIANCE, REASSIGNMENT_PROGRESS)

REQUESTS_REACH = Reach(lookback_s=2 * CARRY_S + WINDOW_S, lookahead_s=CARRY_S)
"""`CARRY_S` applies twice: the last known values are valid for later lines and for later windows."""

SCRAPES_REACH = COUNTERS_REACH
BEGUN_REACH = Reach(lookback_s=BEFORE_S + CARRY_S, lookahead_s=BEGINS_WITHIN_S)
"""The requests after the start of each open move, which show the new replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silver:
    """
    The input frames of the two tables.

    `requests` are those around the windows (`REQUESTS_REACH`), `begun` those after the start of moves
    (`BEGUN_REACH`). `changes`, `reassignments`, `isr_changes` and `topics` are whole tables, which are small.
    `events` and `sizes` come from metrics (see `throttle_metrics`).
    """

    requests: DataFrame
    begun: DataFrame
    topics: DataFrame
    changes: DataFrame
    reassignments: DataFrame
    isr_changes: DataFrame
    events: DataFrame
    sizes: DataFrame


def throttle_tables(silver: Silver, persist: Persist = lambda frame: frame) -> dict[Table, DataFrame]:
    """
    Build `throttle_compliance` and `reassignment_progress`.

    `persist` materialises frames that are read several times. The result does not depend on it, but without
    it planning takes longer than execution.
    """
    fetched = persist(replicated(silver.requests, silver.topics))
    called = persist(calls(silver.reassignments))
    begun = replicated(silver.begun, silver.topics)
    copied = persist(copies(called, begun, silver.isr_changes, silver.topics))
    brokers = persist(brokers_of(silver.requests, silver.events))
    inputs = ThrottleInputs(
        requests=silver.requests,
        produced=persist(inbound(silver.requests, silver.topics, copied)),
        fetched=fetched,
        lags=persist(replica_lags(fetched)),
        called=called,
        copies=copied,
        brokers=brokers,
        in_force=persist(limits(silver.changes, brokers)),
        listed=persist(throttled(silver.changes)),
        events=silver.events,
        sizes=silver.sizes,
    )
    return {
        THROTTLE_COMPLIANCE: throttle_compliance(inputs),
        REASSIGNMENT_PROGRESS: reassignment_progress(inputs),
    }


def throttle_metrics(inputs: Inputs) -> tuple[DataFrame, DataFrame]:
    """Return `events` and `sizes` as frames."""
    spark = inputs.whole(TOPICS).sparkSession
    at = F.timestamp_micros("at_us").alias("at")
    with connect({}) as db:
        load_facts(db, inputs.rows(METRIC_SERIES, SERIES_COLUMNS))
        load_samples(db, inputs.rows(METRIC_SAMPLES, SAMPLES_COLUMNS), WANTED)
        found = (frame_of_arrow(spark, db.sql(query()).to_arrow_table()) for query in (events, sizes))
        of_events, of_sizes = (frame.select("*", at).drop("at_us") for frame in found)
    return of_events, of_sizes


class ThrottledTimes:
    """The times with a throttle or a reassignment; windows outside of them have no rows."""

    def __init__(self, warehouse: Warehouse) -> None:
        """Read the times from tables."""
        self._warehouse, self._times = warehouse, list[tuple[float, float]]()
        self._learn()

    def windows(self, touched: Sequence[set[int]], arrived: Sequence[Row]) -> set[int]:
        """
        Return the touched windows that have a throttle or a reassignment.

        A setting that arrives late may end the throttle that rows were written about, so these rows count.
        """
        wanted = set().union(*touched)
        if not any(row["input"] in SETTINGS_NAMES for row in arrived):
            return self.during(wanted)
        self._learn()
        written = set().union(*map(self._warehouse.windows, TABLES))
        return self.during(wanted) | (wanted & written)

    def during(self, windows: Iterable[int]) -> set[int]:
        """Return the windows with a throttle or a reassignment."""
        reach = SCRAPES_REACH.lookback_s
        return {
            window
            for window in windows
            if any(since < window + WINDOW_S and until > window - reach for since, until in self._times)
        }

    def built(self, spans: Sequence[Span], rows: Mapping[Table, pa.Table]) -> None:
        """Do nothing: only settings and ends of moves change the times, and both arrive as rows."""

    def _learn(self) -> None:
        read = (THROTTLE_CHANGES, REASSIGNMENTS, REASSIGNMENT_PROGRESS)
        rows = times_on(*map(self._warehouse.read, read)).collect()
        self._times = [(float(row["since_s"]), float(row["until_s"] or "inf")) for row in rows]


def _frames(inputs: Inputs) -> Mapping[Table, DataFrame]:
    reassignments = inputs.whole(REASSIGNMENTS)
    of_events, of_sizes = throttle_metrics(inputs)
    return throttle_tables(
        Silver(
            requests=inputs.near(REQUESTS, REQUESTS_REACH),
            begun=inputs.around(REQUESTS, _requested(inputs, reassignments), BEGUN_REACH),
            topics=inputs.whole(TOPICS),
            changes=inputs.whole(THROTTLE_CHANGES),
            reassignments=reassignments,
            isr_changes=inputs.whole(ISR_CHANGES),
            events=of_events,
            sizes=of_sizes,
        ),
        persist=inputs.once,
    )


def _requested(inputs: Inputs, reassignments: DataFrame) -> list[int]:
    """Return the seconds in which reassignments were requested, of the few that there are."""
    if inputs.spans is None:
        return []
    end = max(span.end for span in inputs.spans)
    second = F.unix_seconds("moved_at").alias("second")
    rows = calls(reassignments).select(second).filter(F.col("second") < end).distinct().collect()
    return [int(row["second"]) for row in rows]


SETTINGS = (THROTTLE_CHANGES, REASSIGNMENTS, ISR_CHANGES)
SETTINGS_NAMES = tuple(table.name for table in SETTINGS)

BUILD = Build(
    name="throttles",
    tables=TABLES,
    frames=_frames,
    reads={REQUESTS: REQUESTS_REACH, METRIC_SAMPLES: SCRAPES_REACH},
    # A throttle that was set days ago is still in force, so its tables are read whole.
    whole=(*SETTINGS, TOPICS, METRIC_SERIES),
    touched_by=(
        Touch(of=REQUESTS, reach=REQUESTS_REACH),
        Touch(of=METRIC_SAMPLES, reach=SCRAPES_REACH),
        *(Touch(of=table, and_later=True) for table in SETTINGS),
    ),
    needs=(THROTTLE_CHANGES, REASSIGNMENTS),
    memory=ThrottledTimes,
)
