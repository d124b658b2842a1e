"""`gold.broker_rtt_culprit`: the broker, side or link that is slow."""

from pyspark.sql.types import ArrayType, DoubleType, IntegerType, StringType, StructType, TimestampType

from schemas.fields import Table, column
from schemas.gold.columns import SETTLED, WINDOW

SHAPE = StructType(
    [
        column("culprit", StringType(), "broker, follower_side, leader_side or link"),
        column("broker_id", IntegerType(), "broker of a broker or side shape"),
        column("follower_id", IntegerType(), "follower of a follower_side or link shape"),
        column("leader_id", IntegerType(), "leader of a leader_side or link shape"),
    ]
)

BROKER_RTT_CULPRIT = Table(
    layer="gold",
    name="broker_rtt_culprit",
    about="The slow broker, side or link: the shape that best explains the round trips of a window.",
    key=("cluster", "window_start"),
    schema=StructType(
        [
            *WINDOW,
            column(
                "culprit",
                StringType(),
                "none, broker, follower_side, leader_side, link, ambiguous or not_enough_data",
            ),
            column("broker_id", IntegerType(), "slow broker of a broker or side shape"),
            column("follower_id", IntegerType(), "slow follower, or the link's follower"),
            column("leader_id", IntegerType(), "slow leader, or the link's leader"),
            column(
                "effect_ms", DoubleType(), "additional round-trip time of the accused pairs in this window"
            ),
            column("effect_low_ms", DoubleType(), "lower end of the 95 % interval of effect_ms"),
            column("effect_high_ms", DoubleType(), "upper end of the 95 % interval of effect_ms"),
            column(
                "since",
                TimestampType(),
                "start of the first window of the evidence; NULL if there is no culprit",
            ),
            column(
                "evidence",
                DoubleType(),
                "accumulated log-likelihood ratio against `none` (CUSUM); the share of a window is capped",
            ),
            column("runner_up", SHAPE, "second-best shape"),
            column(
                "runner_up_margin",
                DoubleType(),
                "evidence of the culprit minus evidence of the runner-up; the cap lowers both by the same",
            ),
            column("tied", ArrayType(SHAPE), "for ambiguous: the shapes with similar evidence"),
            column("method", StringType(), "method of the round trips: paired or passive"),
            column(
                "baseline",
                StringType(),
                "reference: own (each pair's history) or peers (the pairs of this window)",
            ),
            column("pairs_seen", IntegerType(), "ordered pairs with enough round trips in the window"),
            column("pairs_expected", IntegerType(), "ordered pairs of the brokers seen around the window"),
            *SETTLED,
        ]
    ),
)
