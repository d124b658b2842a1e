"""The slowest leader of a client, and the partitioner that its share of batches indicates."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.gold.partition_skew.ratios import ratio
from transforms.gold.partition_skew.table import CLIENT
from transforms.histogram import merge, quantile

SLOW_LATENCY, SLOW_BATCH, MIN_BATCHES = 3.0, 1.5, 300
"""The minimum ratios of latency and batch size to the other leaders, and the minimum number of batches."""

ANY = float("inf")
SHARES = {"adaptive": (0.7, 1.32), "uniform": (1.25, 2.3), "sticky": (2.0, ANY)}
"""Share of the slowest leader / share of the others, as measured by `plumbline lab run skew`."""

STAYS = {"adaptive": (0.0, 0.79), "uniform": (0.86, ANY), "sticky": (0.0, ANY)}
"""
Bytes of a stay on the slowest leader / a full batch. A uniform partitioner chooses a slow leader as often as
others, and by chance twice in a row; an adaptive one avoids it. At little load the shares overlap.
"""

REPEATS = 1.3
"""Batches to the same partition as the previous batch / chance. Measured: 1.6 to 2.1 for the partitioners of
KIP-794, which stay on a partition; 0.1 to 0.9 for sticky ones, which leave it; 0.5 to 0.9 for keys.
"""

EVEN_BATCHES = (0.67, 1.5)
"""A sticky partitioner sends equal numbers of batches to all partitions, and larger ones to a slow leader."""

FULL = 0.9
"""The minimum fill of these batches. Larger batches that are not full can result from frequent keys."""


def slowest_leader(span: DataFrame) -> DataFrame:
    """
    Return the slowest leader for each client on a topic, with its ratios to the other leaders.

    `slow_by` is `leader_latency` if the leader's log shows a high produce latency, and `batch_size` if only
    the client's batches are larger, because they wait longer for responses. It is NULL if neither applies.
    """
    stays = F.sum("followed") - F.sum("repeats")
    per_batch = ratio(F.sum("bytes"), F.sum("batches"))
    of_leader = (*CLIENT, "leader_id")
    latencies = merge(span, of_leader, "produce_hist").select(
        *of_leader, quantile(F.col("produce_hist"), 0.5).alias("p50_ms")
    )
    sums = span.groupBy(*of_leader).agg(
        per_batch.alias("per_batch"),
        ratio(per_batch, F.max("largest_batch_bytes")).alias("fill"),
        F.avg("share").alias("share"),
        F.avg("batches").alias("batches"),
        ratio(ratio(F.sum("bytes"), stays), F.max("largest_batch_bytes")).alias("stay"),
        F.count(F.lit(1)).alias("partitions"),
    )
    leaders = sums.join(latencies, on=list(of_leader), how="left")
    others = leaders.withColumnsRenamed(
        {name: f"of_{name}" for name in leaders.columns if name not in CLIENT}
    )
    elsewhere = 1 - 1 / (F.max("partitions") + F.sum("of_partitions"))
    beside = (
        leaders.join(others, on=list(CLIENT), how="inner")
        .filter(F.col("leader_id") != F.col("of_leader_id"))
        .groupBy(*CLIENT, "leader_id")
        .agg(
            ratio(F.max("p50_ms"), F.median("of_p50_ms")).alias("slowest_latency_ratio"),
            ratio(F.max("per_batch"), F.median("of_per_batch")).alias("slowest_batch_ratio"),
            ratio(F.max("share"), F.avg("of_share")).alias("slowest_ratio"),
            ratio(F.max("batches"), F.avg("of_batches")).alias("slowest_batches_ratio"),
            (F.max("stay") * elsewhere).alias("slowest_stay_ratio"),
            F.max("fill").alias("slowest_fill"),
        )
    )
    by_latency, by_batch = (
        F.coalesce(F.col(name) / limit, F.lit(0.0))
        for name, limit in (("slowest_latency_ratio", SLOW_LATENCY), ("slowest_batch_ratio", SLOW_BATCH))
    )
    ratios = F.struct(
        F.greatest(by_latency, by_batch).alias("score"),
        F.col("leader_id").alias("slowest_leader_id"),
        "slowest_latency_ratio",
        "slowest_batch_ratio",
        "slowest_ratio",
        "slowest_batches_ratio",
        "slowest_stay_ratio",
        "slowest_fill",
        F.when(by_latency >= 1, "leader_latency").when(by_batch >= 1, "batch_size").alias("slow_by"),
    )
    return (
        beside.groupBy(*CLIENT).agg(F.max(ratios).alias("slowest")).select(*CLIENT, "slowest.*").drop("score")
    )


def partitioner() -> Column:
    """
    Return the partitioner that the slow leader's share indicates; NULL outside the bands or without one.

    The order of batches distinguishes a partitioner from keys, which cause uneven shares themselves.
    """
    is_telling = F.col("slow_by").isNotNull() & (F.col("batches") >= MIN_BATCHES)
    stays = F.col("repeat_ratio") >= REPEATS
    is_full = F.col("slowest_fill") >= FULL
    is_even = F.col("slowest_batches_ratio").between(*EVEN_BATCHES)
    leaves = (F.col("repeat_ratio") < REPEATS) & is_even & is_full
    named = (
        F.when(
            _within("slowest_ratio", SHARES[name])
            & _within("slowest_stay_ratio", STAYS[name])
            & (leaves if name == "sticky" else stays),
            name,
        )
        for name in SHARES
    )
    return F.when(is_telling, F.coalesce(*named))


def _within(name: str, band: tuple[float, float]) -> Column:
    low, high = band
    return (F.col(name) >= low) & (F.col(name) < high)
