"""Gold tables of partition reassignments (moves): progress and forecast."""

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
    column("moved_at", TimestampType(), "instant of the reassignment request, which identifies the move"),
    column("moved_by", StringType(), "client id and principal of the requester"),
]

REASSIGNMENT_PROGRESS = Table(
    layer="gold",
    name="reassignment_progress",
    about="A4: progress of each move by window, source and destination. A move is one "
    "ALTER_PARTITION_REASSIGNMENTS request. Window: by the leader's logged_at.",
    key=("cluster", "window_start", "moved_at", "source_id", "destination_id"),
    schema=StructType(
        [
            *WINDOW,
            *MOVE,
            column("source_id", IntegerType(), "leader of the partitions at the start"),
            column("destination_id", IntegerType(), "broker that receives replicas"),
            column("partitions", LongType(), "partitions of the whole move"),
            column("partitions_done", LongType(), "partitions done by the end of the window"),
            column("copies", LongType(), "replicas that the destination copies from the source"),
            column("copies_done", LongType(), "copies in the ISR by the end of the window"),
            column("bytes_moved", LongType(), "bytes that the destination fetched while it caught up"),
            column(
                "records_to_go", LongType(), "offsets that the destination lacks at the end of the window"
            ),
            column("copies_known", LongType(), "unfinished copies with a known remaining amount"),
            column(
                "bytes_to_go",
                DoubleType(),
                "remaining bytes, from log sizes, or else from offsets and the "
                "bytes per offset so far; NULL while unknown",
            ),
            column("to_go_by", StringType(), "source of bytes_to_go: log_sizes or offsets"),
            column("told_at", TimestampType(), "time of the newest data for bytes_to_go"),
            column(
                "inbound_bytes", LongType(), "bytes produced to the partitions that the destination copies"
            ),
            column("source_limit_bytes_per_s", LongType(), "leader throttle of the source; NULL without one"),
            column(
                "destination_limit_bytes_per_s",
                LongType(),
                "follower throttle of the destination; NULL without one",
            ),
            column("replication_factor", IntegerType(), "replication factor after the move"),
            column(
                "ended_at", TimestampType(), "when the last of its copies joined the ISR; NULL until all have"
            ),
            column("is_superseded", BooleanType(), "a copy was cancelled, or replaced by another move"),
        ]
    ),
)

REASSIGNMENT_FORECAST = Table(
    layer="gold",
    name="reassignment_forecast",
    about="Forecast of each move at each window, from the data up to then. Computed on read.",
    key=("cluster", "moved_at", "window_start"),
    is_stored=False,
    schema=StructType(
        [
            *WINDOW,
            *MOVE,
            column("partitions", LongType(), "partitions of the move"),
            column("partitions_done", LongType(), "partitions done by the end of the window"),
            column("bytes_moved", LongType(), "bytes moved so far, to all destinations"),
            column(
                "bytes_to_go", DoubleType(), "remaining bytes at the end of the window, to all destinations"
            ),
            column("rate_bytes_per_s", DoubleType(), "bytes moved per second in the window"),
            column(
                "net_bytes_per_s",
                DoubleType(),
                "decrease of the remaining bytes per second, for the broker that decides",
            ),
            column(
                "ruled_by",
                StringType(),
                "side of the broker that decides the end of the move: leader or follower",
            ),
            column(
                "ruled_by_id",
                IntegerType(),
                "broker that decides the end: the last one, preferably among those at their limit",
            ),
            column(
                "forecast_end_at",
                TimestampType(),
                "forecast end; NULL while the remaining bytes do not decrease",
            ),
            column("forecast_low_at", TimestampType(), "lower end of the 95 % interval"),
            column(
                "forecast_high_at", TimestampType(), "upper end of the 95 % interval; NULL if it is unbounded"
            ),
            column("n", LongType(), "windows that the forecast uses"),
        ]
    ),
)

REASSIGNMENT_SUMMARY = Table(
    layer="gold",
    name="reassignment_summary",
    about="Each move as a whole: progress, rate, forecast, and the end by KIP-73. Computed on read.",
    key=("cluster", "moved_at"),
    is_stored=False,
    schema=StructType(
        [
            WINDOW[0],
            *MOVE,
            column("state", StringType(), "state of the move: done, under_way or superseded"),
            column("ended_at", TimestampType(), "when its last copy joined the ISR; NULL until then"),
            column("partitions", LongType(), "partitions of the move"),
            column("partitions_done", LongType(), "finished partitions"),
            column("destinations", LongType(), "brokers that receive replicas"),
            column("bytes_moved", LongType(), "bytes moved, to all destinations"),
            column("bytes_to_go", DoubleType(), "remaining bytes"),
            column(
                "bytes_at_start",
                DoubleType(),
                "bytes to move at the start (KIP-73: MoveRatio x log size x brokers)",
            ),
            column("rate_bytes_per_s", DoubleType(), "mean rate of the move"),
            column(
                "inbound_bytes_per_s",
                DoubleType(),
                "bytes produced per second to the partitions of a destination; the maximum over destinations",
            ),
            column(
                "limit_bytes_per_s",
                LongType(),
                "lowest throttle of a source or destination; NULL without one",
            ),
            column(
                "ruled_by", StringType(), "side of the broker that decides the forecast: leader or follower"
            ),
            column("ruled_by_id", IntegerType(), "broker that decides the forecast"),
            column(
                "forecast_made_at",
                TimestampType(),
                "time of the forecast: at half of a finished move, else the newest",
            ),
            column("forecast_end_at", TimestampType(), "end that was forecast then"),
            column("forecast_low_at", TimestampType(), "lower end of its 95 % interval"),
            column(
                "forecast_high_at", TimestampType(), "upper end of the 95 % interval; NULL if it is unbounded"
            ),
            column("forecast_n", LongType(), "windows that the forecast uses"),
            column("forecast_error", DoubleType(), "(forecast end - actual end) / duration of the move"),
            column("kip_end_at", TimestampType(), "KIP-73: moved_at + bytes_at_start / (limit - inbound)"),
            column("kip_error", DoubleType(), "(kip_end_at - actual end) / duration of the move"),
            column("band_low_bytes_per_s", DoubleType(), "IN: with a lower throttle the move does not end"),
            column(
                "band_high_bytes_per_s",
                DoubleType(),
                "N - IN / R: with a higher throttle clients lack bandwidth; NULL without N",
            ),
            column("is_in_band", BooleanType(), "the throttle is inside the band; NULL if unknown"),
        ]
    ),
)
