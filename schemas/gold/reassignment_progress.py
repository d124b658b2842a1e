"""Gold about moves of replicas: how far one is, and when it will be done."""

from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import Table, column
from schemas.gold.columns import WINDOW

MOVE = [
    column("moved_at", TimestampType(), "instant of the reassignment, which names the move"),
    column("moved_by", StringType(), "client id and principal of whoever asked for it"),
]

REASSIGNMENT_PROGRESS = Table(
    layer="gold",
    name="reassignment_progress",
    about="A4: how a move of replicas gets on, a row a window, move, source and destination. A move is one "
    "ALTER_PARTITION_REASSIGNMENTS. Anchor: the leader's logged_at.",
    key=("cluster", "window_start", "moved_at", "source_id", "destination_id"),
    schema=StructType(
        [
            *WINDOW,
            *MOVE,
            column("source_id", IntegerType(), "broker that led the partitions at the start"),
            column("destination_id", IntegerType(), "broker that gets replicas"),
            column("partitions", LongType(), "partitions that the whole move is of"),
            column("partitions_done", LongType(), "of these, done by the window's end"),
            column("copies", LongType(), "replicas that it is to get from there"),
            column("copies_done", LongType(), "of these, in sync by the window's end"),
            column("bytes_moved", LongType(), "records that it got while it caught up"),
            column("records_to_go", LongType(), "offsets that it lacked at the window's end"),
            column("copies_known", LongType(), "copies whose way to go is known, of those not done"),
            column("bytes_to_go", DoubleType(), "still to go: by the logs' sizes, else by bytes an offset of "
                   "what it got; NULL while nothing tells"),
            column("to_go_by", StringType(), "log_sizes or offsets: what bytes_to_go was told by"),
            column("told_at", TimestampType(), "when that was told last"),
            column("inbound_bytes", LongType(), "produced into the partitions that were being copied to it"),
            column("source_limit_bytes_per_s", LongType(), "the source's throttle as leader; NULL without"),
            column("destination_limit_bytes_per_s", LongType(), "the destination's as follower"),
            column("replication_factor", IntegerType(), "replicas that the partitions are to have"),
            column("ended_at", TimestampType(), "when the last of its copies came in sync, once all have"),
            column("is_superseded", BooleanType(), "a copy was given up: cancelled, or moved elsewhere"),
        ]
    ),
)  # fmt: skip

REASSIGNMENT_FORECAST = Table(
    layer="gold",
    name="reassignment_forecast",
    about="What could be forecast of a move at each window. Made on read.",
    key=("cluster", "moved_at", "window_start"),
    schema=StructType(
        [
            *WINDOW,
            *MOVE,
            column("partitions", LongType(), "partitions of the move"),
            column("partitions_done", LongType(), "of these, done by the window's end"),
            column("bytes_moved", LongType(), "moved so far, to all destinations"),
            column("bytes_to_go", DoubleType(), "to go at the window's end, to all destinations"),
            column("rate_bytes_per_s", DoubleType(), "moved in the window, a second"),
            column(
                "net_bytes_per_s", DoubleType(), "by how much the way to go of what rules shrinks, a second"
            ),
            column(
                "ruled_by", StringType(), "leader or follower: the side of the broker whose end is the move's"
            ),
            column("ruled_by_id", IntegerType(), "that broker: held by its limit, and the last to be done"),
            column("forecast_end_at", TimestampType(), "when it will be; NULL while it does not get nearer"),
            column("forecast_low_at", TimestampType(), "earliest end of the 95 % interval"),
            column("forecast_high_at", TimestampType(), "latest end of it; NULL: no end is sure"),
            column("n", LongType(), "windows that the forecast rests on"),
        ]
    ),
)

REASSIGNMENT_SUMMARY = Table(
    layer="gold",
    name="reassignment_summary",
    about="A move as a whole: how far, how fast, until when, and what KIP-73's formula says. Made on read.",
    key=("cluster", "moved_at"),
    schema=StructType(
        [
            WINDOW[0],
            *MOVE,
            column("state", StringType(), "done, under_way or superseded"),
            column("ended_at", TimestampType(), "when its last copy came in sync; NULL while it has not"),
            column("partitions", LongType(), "partitions of the move"),
            column("partitions_done", LongType(), "of these, done"),
            column("destinations", LongType(), "brokers that get replicas"),
            column("bytes_moved", LongType(), "moved, to all destinations"),
            column("bytes_to_go", DoubleType(), "still to go"),
            column("bytes_at_start", DoubleType(), "to move when it began: MoveRatio x log size x brokers"),
            column("rate_bytes_per_s", DoubleType(), "moved, a second of its time"),
            column("inbound_bytes_per_s", DoubleType(), "produced into what a destination copies, the most"),
            column("limit_bytes_per_s", LongType(), "lowest throttle on the way; NULL without one"),
            column("ruled_by", StringType(), "leader or follower: the side that the forecast goes by"),
            column("ruled_by_id", IntegerType(), "broker that it goes by"),
            column("forecast_made_at", TimestampType(), "half-way of a move that is done, else now"),
            column("forecast_end_at", TimestampType(), "end as it was forecast then"),
            column("forecast_low_at", TimestampType(), "earliest end of its 95 % interval"),
            column("forecast_high_at", TimestampType(), "latest end of it; NULL: no end is sure"),
            column("forecast_n", LongType(), "windows that the forecast rests on"),
            column("forecast_error", DoubleType(), "forecast less actual end, over the move's time"),
            column("kip_end_at", TimestampType(), "KIP-73: moved_at + bytes_at_start / (limit - inbound)"),
            column("kip_error", DoubleType(), "that less the actual end, over the move's time"),
            column("band_low_bytes_per_s", DoubleType(), "IN: below it the move does not end"),
            column("band_high_bytes_per_s", DoubleType(), "N - IN / R: above it clients lack network; "
                   "NULL without N"),
            column("is_in_band", BooleanType(), "the throttle lies between; NULL when that is not known"),
        ]
    ),
)  # fmt: skip
