"""The tables of throttles and moves built from silver, for streams and folders of raw files."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from transforms.gold.metrics.counters import REACH as COUNTERS_REACH
from transforms.gold.metrics.counters import STARTED, increases, with_process_start
from transforms.gold.metrics.facts import facts
from transforms.gold.reassignment_progress.moves import BEFORE_S, BEGINS_WITHIN_S, calls, copies
from transforms.gold.reassignment_progress.replicated import CARRY_S, replica_lags, replicated
from transforms.gold.reassignment_progress.table import log_sizes, reassignment_progress
from transforms.gold.throttle_compliance.inputs import ThrottleInputs, brokers_of, inbound
from transforms.gold.throttle_compliance.limits import limits, throttled
from transforms.gold.throttle_compliance.metrics import REASSIGNED, REPLICATED, events
from transforms.gold.throttle_compliance.table import throttle_compliance
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


def throttle_metrics(series: DataFrame, samples: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return `events` and `sizes` from the whole `silver.metric_series` and from `silver.metric_samples`."""
    known = facts(series)
    whose = known.select("cluster", "series_id", "node", "meaning")
    named = samples.join(F.broadcast(whose), on=["cluster", "series_id"], how="inner")
    starts = named.filter(F.col("meaning") == STARTED).select("cluster", "node", "at", "value")
    counters = named.filter(F.col("meaning").isin(REASSIGNED, REPLICATED)).transform(
        with_process_start, starts
    )
    return events(known, samples, increases(counters)), log_sizes(known, samples)


def has_throttles(changes: DataFrame, reassignments: DataFrame) -> bool:
    """Return whether there is any throttle change or reassignment; otherwise both tables are empty."""
    changed = changes.select(F.lit(1)).union(reassignments.select(F.lit(1)))
    return not changed.isEmpty()
