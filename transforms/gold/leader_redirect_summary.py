"""Leader redirects over a whole span by client version: what KIP-951 helps, what its lack costs."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.clients import LEADER_REDIRECT_SUMMARY

BY = ("cluster", "api", "software_version")
MIN_FOR_P99 = 100
"""Of fewer events the p99 is the longest one."""


def leader_redirect_summary(events: DataFrame) -> DataFrame:
    """Add up the events of `gold.leader_redirect` by API and client version."""
    n = F.count("redirect_ms")
    return (
        events.groupBy(*BY)
        .agg(
            n.alias("n"),
            F.count_if(F.col("redirect_ms").isNull()).alias("unfinished"),
            F.median("redirect_ms").alias("redirect_p50_ms"),
            F.when(n >= MIN_FOR_P99, F.percentile("redirect_ms", 0.99)).alias("redirect_p99_ms"),
            F.max("redirect_ms").alias("redirect_max_ms"),
            F.median("client_part_ms").alias("client_part_p50_ms"),
            F.median("broker_part_ms").alias("broker_part_p50_ms"),
            F.avg(F.col("hinted").cast("double")).alias("hinted_share"),
            F.sum("errors_at_old_leader").alias("wasted_requests"),
        )
        .select(*LEADER_REDIRECT_SUMMARY.schema.names)
    )
