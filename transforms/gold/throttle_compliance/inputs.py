"""The inputs of the tables of throttles and moves: silver frames, and frames that both tables share."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.entries import produced
from transforms.gold.throttle_compliance.limits import during


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleInputs:
    """
    Frames that both tables read, each computed once.

    `requests`: silver around the windows. `fetched`, `lags`: from `replicated` and `replica_lags`. `called`,
    `copies`: from `moves.calls` and `moves.copies`. `produced`: from `inbound`. `in_force`, `listed`: from
    `limits` and `throttled`. `brokers`: from `brokers_of`. `events`, `sizes`: from `throttle_metrics`.
    """

    requests: DataFrame
    produced: DataFrame
    fetched: DataFrame
    lags: DataFrame
    called: DataFrame
    copies: DataFrame
    brokers: DataFrame
    in_force: DataFrame
    listed: DataFrame
    events: DataFrame
    sizes: DataFrame


def inbound(requests: DataFrame, topics: DataFrame, copies: DataFrame) -> DataFrame:
    """Return the `bytes` produced to partitions during a copy, one row per copy."""
    columns = ("cluster", "topic", "partition", "logged_at", "bytes")
    moving = copies.select(
        *(F.col(name).alias(f"of_{name}") for name in columns[:3]),
        *("moved_at", "source_id", "destination_id", "ended_at"),
    )
    is_same = [
        *(F.col(name) == F.col(f"of_{name}") for name in columns[:3]),
        *during("logged_at", "moved_at", "ended_at"),
    ]
    sent = produced(requests, topics).select(*columns, "leader_id")
    rows = sent.join(F.broadcast(moving), on=is_same, how="inner")
    return rows.select(*columns, "moved_at", "leader_id", "source_id", "destination_id")


def brokers_of(requests: DataFrame, events: DataFrame) -> DataFrame:
    """Return all brokers in the requests or events: cluster, broker_id."""
    seen = requests.select("cluster", "broker_id").unionByName(events.select("cluster", "broker_id"))
    return seen.filter(F.col("broker_id").isNotNull()).distinct()
