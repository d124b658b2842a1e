"""How even a producer's batches fall over a span, and which partitioner the pattern speaks for."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.clients import PARTITION_SKEW_SUMMARY
from transforms.gold.partition_skew import SENT, ratio
from transforms.gold.partition_skew_span import REQUEST_LOG
from transforms.histogram import merge, quantile

ON_TOPIC = ("cluster", "topic", "client_id", "run")
CLIENT = (*ON_TOPIC, "method")
Z_95 = 1.959964
SLOW_LATENCY, SLOW_BATCH, MIN_BATCHES = 3.0, 1.5, 300
"""A leader so many times slower than the others, or with batches so much larger, tells partitioners apart."""

ANY = float("inf")
SHARES = {"adaptive": (0.7, 1.32), "uniform": (1.25, 2.3), "sticky": (2.0, ANY)}
"""Share of the slowest leader over the others', as `plumbline lab run skew` measured the arms."""

STAYS = {"adaptive": (0.0, 0.79), "uniform": (0.86, ANY), "sticky": (0.0, ANY)}
"""
Bytes of a stay on it over a full batch: a uniform partitioner comes to a slow leader as often as to others,
and by chance twice in a row; an adaptive one goes elsewhere. Where the leader is hardly busy shares overlap.
"""

REPEATS = 1.3
"""Batches to the same partition as the one before, over chance: built-in partitioners stay on one, measured
1.6 to 2.1; sticky ones leave it (0.1 to 0.9), and keys choose by chance (0.5 to 0.9)."""

EVEN_BATCHES = (0.67, 1.5)
"""A sticky partitioner gives each partition as many batches, a slow leader's are larger; keys do not."""

FULL = 0.9
"""And these are full: larger batches that are not may be those of keys that many records have."""

MIN_WINDOWS = 5
"""Below so many windows a slope has no interval."""


def partition_skew_summary(span: DataFrame, windows: DataFrame, payloads: DataFrame) -> DataFrame:
    """
    Judge each client on each topic: `span` as `partition_skew_span` gives it, `windows` it was added up from.

    `payloads` (`perf_runs.payloads`) tell what had to be sent: bytes that cannot hold it are flagged.

    Evenness is that of bytes; the chi-square is that of batches, since a producer chooses a partition for a
    batch and not for a record.
    """
    keyed, of_windows = (rows.withColumn("run", F.coalesce("run", F.lit(""))) for rows in (span, windows))
    return (
        evenness(keyed)
        .join(slowest_leader(keyed), on=list(CLIENT), how="left")
        .join(slope(of_windows), on=list(CLIENT), how="left")
        .transform(with_conservation, payloads)
        .withColumn("partitioner", partitioner())
        .withColumn("run", F.nullif("run", F.lit("")))
        .select(*PARTITION_SKEW_SUMMARY.schema.names)
    )


def partitioner() -> Column:
    """
    Name the partitioner that a slow leader's share speaks for; NULL between the bands, or without one.

    How batches follow one another tells a partitioner from keys, which have shares of their own.
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


def with_conservation(rows: DataFrame, payloads: DataFrame) -> DataFrame:
    """
    Flag bytes that do not add up: fewer than the records that were sent, uncompressed, have by themselves.

    Records are those of the batches counted; where only nodes are known, those of the run's summary line.
    """
    told = payloads.filter(~F.col("is_compressed")).select(
        F.col("cluster").alias("of_cluster"),
        F.col("run").alias("of_run"),
        F.col("client_id").alias("of_client"),
        "payload_records",
        "record_size_bytes",
    )
    is_its = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("run") == F.col("of_run"),
        F.col("client_id") == F.col("of_client"),
    ]
    is_log = F.col("method") == REQUEST_LOG
    records = F.when(is_log, F.col("records")).otherwise(F.col("payload_records"))
    counted = F.when(is_log, ratio(F.col("batches_counted"), F.col("batches"))).otherwise(1.0)
    is_short = F.col("bytes") * counted < records * F.col("record_size_bytes")
    flags = F.array_append("quality_flags", F.when(is_short, "bytes_do_not_add_up"))
    return rows.join(told, on=is_its, how="left").withColumn("quality_flags", F.array_compact(flags))


def evenness(span: DataFrame) -> DataFrame:
    """Add up each client's partitions on a topic, and tell how even their bytes and batches are."""
    grouped = span.groupBy(*CLIENT).agg(
        F.min("since").alias("since"),
        F.max("until").alias("until"),
        F.max("software_version").alias("software_version"),
        F.max("arm").alias("arm"),
        F.count(F.lit(1)).cast("int").alias("partitions"),
        *(F.sum(name).alias(name) for name in SENT),
        F.sort_array(F.collect_list("bytes")).alias("of_bytes"),
        F.sort_array(F.collect_list("batches")).alias("of_batches"),
        ratio(F.max("bytes_per_batch"), F.min("bytes_per_batch")).alias("bytes_per_batch_ratio"),
    )
    n, total = F.col("partitions"), F.col("bytes")
    mean, mean_batches = total / n, F.col("batches") / n
    ranked = F.zip_with("of_bytes", F.sequence(F.lit(1), n), lambda x, nth: x * (2 * nth - n - 1))
    by_chance = ratio(_squares("of_batches", F.lit(0.0)), F.col("batches") * F.col("batches"))
    flags = [F.when(F.col("retried") > 0, "retried_batches")]
    return grouped.withColumns(
        {
            "max_over_mean": ratio(F.array_max("of_bytes"), mean),
            "coefficient_of_variation": ratio(F.sqrt(_squares("of_bytes", mean) / n), mean),
            "gini": ratio(total_of(ranked), n * total),
            "top_share": ratio(F.array_max("of_bytes"), total),
            "effective_partitions": ratio(total * total, _squares("of_bytes", F.lit(0.0))),
            "chi_square": ratio(_squares("of_batches", mean_batches), mean_batches),
            "degrees_of_freedom": n - 1,
            "repeat_ratio": ratio(F.col("repeats"), F.col("followed") * by_chance),
            "quality_flags": F.array_compact(F.array(*flags)),
        }
    )


def slowest_leader(span: DataFrame) -> DataFrame:
    """
    Tell of each client on a topic the leader that is slowest for it, and what it gets beside the others.

    A leader is slow by its own log (its produce latency), or for the client alone (its batches fill up while
    they wait for answers on the way): `slow_by` tells which, NULL where neither stands out.
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
    told = F.struct(
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
        beside.groupBy(*CLIENT).agg(F.max(told).alias("slowest")).select(*CLIENT, "slowest.*").drop("score")
    )


def slope(windows: DataFrame) -> DataFrame:
    """
    Give the slope of share against the leader's mean latency, with the jackknife's interval over windows.

    Within each window share and latency are taken against their means there, so what all leaders share (a
    burst, a pause) does not count; windows are left out in turn, for the partitions of one are not
    independent.
    """
    latency = ratio(F.col("produce_sum_ms"), F.col("produce_n"))
    in_window = Window.partitionBy(*ON_TOPIC, "window_start")
    apart = windows.withColumn("latency_ms", latency).filter(F.col("latency_ms").isNotNull())
    apart = apart.withColumns(
        {
            "x": F.col("latency_ms") - F.avg("latency_ms").over(in_window),
            "y": F.col("share") - F.avg("share").over(in_window),
        }
    )
    each = apart.groupBy(*ON_TOPIC, "window_start").agg(
        F.sum(F.col("x") * F.col("y")).alias("xy"), F.sum(F.col("x") * F.col("x")).alias("xx")
    )
    sums = each.groupBy(*ON_TOPIC).agg(
        F.sum("xy").alias("xy"),
        F.sum("xx").alias("xx"),
        F.count(F.lit(1)).cast("int").alias("windows"),
        F.sort_array(F.collect_list(F.struct("xy", "xx"))).alias("each"),
    )
    left_out = F.transform("each", lambda w: ratio(F.col("xy") - w["xy"], F.col("xx") - w["xx"]))
    n, middle = F.col("windows"), ratio(F.col("xy"), F.col("xx"))
    mean = total_of(F.col("left_out")) / n
    spread = total_of(F.transform("left_out", lambda one: (one - mean) * (one - mean)))
    half = F.when(n >= MIN_WINDOWS, Z_95 * F.sqrt(spread * (n - 1) / n))
    return sums.withColumn("left_out", left_out).select(
        *ON_TOPIC,
        F.lit(REQUEST_LOG).alias("method"),
        "windows",
        middle.alias("share_per_ms"),
        (middle - half).alias("share_per_ms_low"),
        (middle + half).alias("share_per_ms_high"),
    )


def total_of(values: Column) -> Column:
    """
    Add an array up; NULL if one of them is NULL.

    >>> rows = spark.createDataFrame([([1.0, 2.5],), ([1.0, None],), ([],), (None,)], "of array<double>")
    >>> rows.select("of", total_of(F.col("of")).alias("total")).show()
    +-----------+-----+
    |         of|total|
    +-----------+-----+
    | [1.0, 2.5]|  3.5|
    |[1.0, NULL]| NULL|
    |         []|  0.0|
    |       NULL| NULL|
    +-----------+-----+
    <BLANKLINE>
    """
    return F.aggregate(values, F.lit(0.0), lambda total, one: total + one)


def _squares(values: str, about: Column) -> Column:
    return total_of(F.transform(values, lambda x: (x - about) * (x - about)))
