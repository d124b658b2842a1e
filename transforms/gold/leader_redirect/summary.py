"""Leader redirects by client version over a time range, which show the effect of KIP-951."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.gold.leader_redirect import DISCONNECT, LEADER_REDIRECT_SUMMARY

BY = ("cluster", "api", "software_version")
MIN_FOR_P99 = 100
"""The minimum number of events for a p99. With fewer events the p99 is the maximum."""

OF_REDIRECTS = ("redirect_ms", "client_part_ms", "broker_part_ms", "hinted", "errors_at_old_leader")


def leader_redirect_summary(events: DataFrame) -> DataFrame:
    """Return one row per API and client version, with separate columns for disconnects."""
    n = F.count("redirect_ms")
    is_disconnect = F.col("kind").eqNullSafe(DISCONNECT)
    disconnect_ms = F.when(is_disconnect, F.col("redirect_ms"))
    of_redirects = {name: F.when(~is_disconnect, F.col(name)) for name in OF_REDIRECTS}
    return (
        events.withColumns({"disconnect_ms": disconnect_ms, **of_redirects})
        .groupBy(*BY)
        .agg(
            n.alias("n"),
            F.count_if(~is_disconnect & F.col("redirect_ms").isNull()).alias("unfinished"),
            F.median("redirect_ms").alias("redirect_p50_ms"),
            F.when(n >= MIN_FOR_P99, F.percentile("redirect_ms", 0.99)).alias("redirect_p99_ms"),
            F.max("redirect_ms").alias("redirect_max_ms"),
            F.median("client_part_ms").alias("client_part_p50_ms"),
            F.median("broker_part_ms").alias("broker_part_p50_ms"),
            F.avg(F.col("hinted").cast("double")).alias("hinted_share"),
            F.sum("errors_at_old_leader").alias("wasted_requests"),
            F.count("disconnect_ms").alias("disconnects"),
            F.median("disconnect_ms").alias("disconnect_p50_ms"),
            F.max("disconnect_ms").alias("disconnect_max_ms"),
        )
        .select(*LEADER_REDIRECT_SUMMARY.schema.names)
    )
