"""`gold.broker_rtt_culprit`: the broker, side or link that is slow."""

from pyspark.sql.types import ArrayType, DoubleType, IntegerType, StringType, StructType, TimestampType

from schemas.fields import Table, column
from schemas.gold.columns import SETTLED, WINDOW

SHAPE = StructType(
    [
        column("culprit", StringType(), "broker, follower_side, leader_side or link"),
        column("broker_id", IntegerType(), "the broker, for broker and side shapes"),
        column("follower_id", IntegerType(), "the follower, for follower_side and link"),
        column("leader_id", IntegerType(), "the leader, for leader_side and link"),
    ]
)

BROKER_RTT_CULPRIT = Table(
    layer="gold",
    name="broker_rtt_culprit",
    about="Who is slow: the shape that explains the window's round trips best, once the evidence is enough.",
    key=("cluster", "window_start"),
    schema=StructType(
        [
            *WINDOW,
            column(
                "culprit",
                StringType(),
                "none, broker, follower_side, leader_side, link, ambiguous or not_enough_data",
            ),
            column("broker_id", IntegerType(), "the slow broker, for broker and side shapes"),
            column("follower_id", IntegerType(), "the slow follower (side) or the link's follower"),
            column("leader_id", IntegerType(), "the slow leader (side) or the link's leader"),
            column("effect_ms", DoubleType(), "how much slower the accused pairs are in this window"),
            column("effect_low_ms", DoubleType(), "lower end of its 95 % interval"),
            column("effect_high_ms", DoubleType(), "upper end of its 95 % interval"),
            column("since", TimestampType(), "start of the first window of the evidence; NULL for none"),
            column("evidence", DoubleType(), "accumulated log likelihood ratio against none (CUSUM)"),
            column("runner_up", SHAPE, "the next best shape"),
            column("runner_up_margin", DoubleType(), "evidence by which the named shape beats the runner-up"),
            column("tied", ArrayType(SHAPE), "for ambiguous: the shapes that cannot be told apart"),
            column("method", StringType(), "paired or passive: the round trips that were judged"),
            column(
                "baseline", StringType(), "own: each pair's quiet history; peers: the pairs of this window"
            ),
            column("pairs_seen", IntegerType(), "ordered pairs with enough round trips in the window"),
            column("pairs_expected", IntegerType(), "ordered pairs of the brokers around the window"),
            *SETTLED,
        ]
    ),
)
