"""`gold.broker_rtt_baseline`: the normal round-trip time of each broker pair."""

from pyspark.sql.types import DoubleType, LongType, StringType, StructType, TimestampType

from schemas.fields import Table, column
from schemas.gold.broker_rtt import PAIR

BROKER_RTT_BASELINE = Table(
    layer="gold",
    name="broker_rtt_baseline",
    about="Normal round-trip time of each pair: its history without accused windows, fixed for each hour.",
    key=("cluster", "hour", "follower_id", "leader_id", "method"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("hour", TimestampType(), "hour that uses this baseline"),
            column("history_since", TimestampType(), "start of the history"),
            *PAIR,
            column("windows", LongType(), "number of settled windows"),
            column("p10_ms", DoubleType(), "median over windows of p10; NULL below the minimum of windows"),
            column("p10_spread_ms", DoubleType(), "1.4826 x median absolute deviation of p10 over windows"),
            column("p50_ms", DoubleType(), "median over windows of p50; NULL below the minimum of windows"),
            column("p50_spread_ms", DoubleType(), "1.4826 x median absolute deviation of p50 over windows"),
        ]
    ),
)
