"""`gold.stock_fetch_total`: the total time of follower fetches as Kafka reports it."""

from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructType, TimestampType

from schemas.fields import Table, column

STOCK_FETCH_TOTAL = Table(
    layer="gold",
    name="stock_fetch_total",
    about="Kafka's own metric FetchFollower TotalTimeMs of each broker, as scraped.",
    key=("cluster", "scraped_at", "leader_id"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("scraped_at", TimestampType(), "instant of the scrape, UTC"),
            column("leader_id", IntegerType(), "scraped broker"),
            column("mean_ms", DoubleType(), "Mean, since the start of the broker"),
            column(
                "p50_ms",
                DoubleType(),
                "50thPercentile of about the last five minutes, calculated from whole ms",
            ),
            column("p99_ms", DoubleType(), "99thPercentile of about the last five minutes"),
            column("count", LongType(), "Count, since the start of the broker"),
        ]
    ),
)
