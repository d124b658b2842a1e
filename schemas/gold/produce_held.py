"""`gold.produce_held`: how long PRODUCE requests wait for replication, and for which follower."""

from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import HISTOGRAM, Table, column
from schemas.gold.columns import WINDOW

WAITS = {
    "held": (50, 99),
    "remote": (50, 99),
    "busy": (50,),
    "serve": (50,),
    "network": (10, 50),
    "take": (50,),
    "own_append": (50,),
    "round_trip": (10, 50),
}
"""What is measured for each request, with its stored percentiles."""

_MEANING = {
    "held": "what the requests would have saved without this follower",
    "remote": "the wait for replication (remoteTimeMs) of requests that waited",
    "busy": "from the append to the follower's fetch before the releasing one: the follower was away",
    "serve": "from then on until the leader had answered that fetch; negative if before the append",
    "network": "from that answer to the arrival of the releasing fetch: both ways, and own_append",
    "take": "from the arrival of the releasing fetch to the release",
    "own_append": "network at the follower: its own append; NULL without the follower's log",
    "round_trip": "network - own_append; NULL without the follower's log",
}

_COUNTED = {
    "n": "PRODUCE requests; the sum of the six counts that follow",
    "n_released": "released by the follower, which held them for 1 ms or more",
    "n_tie": "released by the follower, which held them for less than 1 ms",
    "n_unmatched": "waited, but no fetch fits the release",
    "n_isr_change": "waited, no fetch fits, and the leader changed the ISR within a second",
    "n_failed": "errors REQUEST_TIMED_OUT or NOT_ENOUGH_REPLICAS",
    "n_not_held": "did not wait: acks 0 or 1, an ISR of one, or confirmed while the leader handled it",
}
COUNTS = tuple(_COUNTED)

_PAIR = [
    *WINDOW,
    column("leader_id", IntegerType(), "broker that appended the batches"),
    column(
        "follower_id",
        IntegerType(),
        "follower whose fetch released the requests, or that was missing; NULL for the others",
    ),
]
_TOPIC = column(
    "topic",
    StringType(),
    "topic name; the topic id if no METADATA response has the name; `others`: refused requests whose topics "
    "may not exist, and requests without a response but for 10,000 topics",
)
_VALUES = [
    *[column(name, LongType(), meaning) for name, meaning in _COUNTED.items()],
    *[
        column(f"{name}_p{q}_ms", DoubleType(), f"p{q} of {name}: {_MEANING[name]}")
        for name, quantiles in WAITS.items()
        for q in quantiles
    ],
    *[
        column(f"{name}_{stat}_ms", DoubleType(), f"exact {stat} of {name}")
        for name in WAITS
        for stat in ("sum", "min", "max")
    ],
]
_ERROR = column(
    "relative_error", DoubleType(), "half width of a bucket, 0.01; merge only histograms with the same value"
)

PRODUCE_HELD = Table(
    layer="gold",
    name="produce_held",
    about="A7: how long PRODUCE requests wait for replication, and for which follower (KIP-736). "
    "Window: by logged_at at the leader. A request counts once, for the topic that was confirmed last.",
    key=("cluster", "window_start", "leader_id", "follower_id", "topic"),
    schema=StructType(
        [
            *_PAIR,
            _TOPIC,
            *_VALUES,
            *[column(f"{name}_hist", HISTOGRAM, f"{name}, log buckets of ms") for name in WAITS],
            _ERROR,
        ]
    ),
)

PRODUCE_HELD_SUMMARY = Table(
    layer="gold",
    name="produce_held_summary",
    about="Who held produce back over a time range: one row per leader and follower; `window_start` is the "
    "first window. Computed on read.",
    key=("cluster", "leader_id", "follower_id"),
    is_stored=False,
    schema=StructType(
        [
            *_PAIR,
            column("until", TimestampType(), "end of the last window, UTC"),
            column("windows", LongType(), "windows with requests"),
            *_VALUES,
            column(
                "n_parts", LongType(), "n_released and n_tie with known parts: the fetch before is logged"
            ),
            column(
                "share_released",
                DoubleType(),
                "n_released / the leader's requests that waited (n - n_not_held - n_failed)",
            ),
            _ERROR,
        ]
    ),
)
