"""A4 as tables: throttles and moves."""

from answers import formats
from answers.listing import (
    Column,
    Listing,
    broker,
    count,
    instant,
    interval,
    megabytes,
    percent,
    text,
    words,
)
from answers.throttles.sentences import DIRECTIONS, is_bad, worst_first
from schemas.rows import Row


def _partitions(row: Row) -> str:
    return f"{formats.count(row['partitions_done'])} of {formats.count(row['partitions'])}"


THROTTLES = Listing(
    name="throttle-table",
    title="Throttles",
    lead="KIP-73, by broker, direction and limit. docs/throttles.md explains states and thresholds.",
    rows=worst_first,
    is_marked=is_bad,
    columns=(
        broker("broker", "broker_id"),
        Column(
            "direction", lambda row: DIRECTIONS.get(row["direction"], formats.NONE), "direction", is_text=True
        ),
        words("state", "state", is_alarm=is_bad),
        instant("limited since, UTC", "limited_from", in_terminal=False),
        megabytes("limit MB/s", "limit_bytes_per_s"),
        megabytes("rate MB/s", "rate_bytes_per_s", style="strong"),
        percent("of the limit", "utilisation"),
        count("quota periods", "n", in_terminal=False),
        megabytes("highest 11 s MB/s", "best_window_bytes_per_s", in_terminal=False),
        megabytes("first 11 s MB/s", "first_window_bytes_per_s", in_terminal=False),
        megabytes("counters MB/s", "counter_bytes_per_s"),
        megabytes("byte-rate MBean MB/s", "bean_bytes_per_s", in_terminal=False),
        megabytes("highest byte-rate MB/s", "bean_max_bytes_per_s", in_terminal=False),
        megabytes("catching up MB", "catching_up_bytes", in_terminal=False),
        megabytes("in sync MB", "in_sync_bytes", in_terminal=False),
        megabytes("unlisted MB", "unlisted_bytes", in_terminal=False),
        text("explanation", "why", style="path", in_terminal=False),
    ),
    about={
        "rate MB/s": (
            "Throttled partitions in the request log, over whole quota periods after the first one."
        ),
        "byte-rate MBean MB/s": "The broker's own mean; it ramps up and down over 11 s.",
        "in sync MB": (
            "Bytes of listed replicas that are in sync: the quota counts them and never delays them."
        ),
        "unlisted MB": "Bytes of moving replicas that no list names: they are not throttled.",
    },
)
MOVES = Listing(
    name="move-table",
    title="Moves of replicas",
    lead="A move is one reassignment. The forecast divides what the new replicas lack by the rate at "
    "which that shrinks; the destination that ends last decides. A finished move has that of its half.",
    columns=(
        instant("move of, UTC", "moved_at"),
        words("state", "state"),
        Column("done", _partitions),
        megabytes("to go MB", "bytes_to_go"),
        megabytes("rate MB/s", "rate_bytes_per_s"),
        instant("forecast end, UTC", "forecast_end_at"),
        interval(
            "95 % interval, UTC",
            "forecast_low_at",
            "forecast_high_at",
            formats.instant,
            is_text=True,
            in_terminal=False,
        ),
        instant("ended, UTC", "ended_at", in_terminal=False),
        percent("error of the forecast", "forecast_error", in_terminal=False),
        text("by", "moved_by", in_terminal=False),
        count("to brokers", "destinations", in_terminal=False),
        megabytes("moved MB", "bytes_moved", in_terminal=False),
        megabytes("limit MB/s", "limit_bytes_per_s", in_terminal=False),
        megabytes("produced MB/s", "inbound_bytes_per_s", in_terminal=False),
        instant("forecast made, UTC", "forecast_made_at", in_terminal=False),
        instant("end by KIP-73, UTC", "kip_end_at", in_terminal=False),
    ),
    about={"done": "Partitions of the move."},
)
