"""Gold about metadata: what a client asks for and what it costs (KIP-526)."""

from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    LongType,
    StructType,
    TimestampType,
)

from schemas.fields import Table, column
from schemas.gold.columns import RUN, WINDOW

LOOKUPS = [
    column("lookups", LongType(), "METADATA requests"),
    column("all_topics_lookups", LongType(), "of these, for all topics of the cluster"),
    column("topics_asked", LongType(), "topics asked for, summed over lookups"),
    column("topics_asked_most", LongType(), "topics of the largest lookup"),
    column("topics_answered", LongType(), "topics in the answers"),
    column("response_bytes", LongType(), "size of the answers on the wire, worked out from what they hold"),
    column("lookups_after_error", LongType(), "within 1 s of an answer 6 or 74 to the client"),
]

METADATA_LOOKUP = Table(
    layer="gold",
    name="metadata_lookup",
    about="A6: what metadata lookups cost a client (KIP-526). Anchor: logged_at at the broker.",
    key=("cluster", "window_start", "client_id", "software_version", "run"),
    schema=StructType(
        [
            *WINDOW,
            *RUN,
            *LOOKUPS,
            column(
                "topics", ArrayType(LongType()), "the topics asked for, each once: xxhash64 of name or id"
            ),
        ]
    ),
)

METADATA_LOOKUP_SUMMARY = Table(
    layer="gold",
    name="metadata_lookup_summary",
    about="What metadata lookups cost a client over a whole span. Made on read.",
    key=("cluster", "client_id", "software_version", "run"),
    schema=StructType(
        [
            WINDOW[0],
            *RUN,
            column("since", TimestampType(), "start of the first window with a lookup"),
            column("until", TimestampType(), "end of the last one"),
            *LOOKUPS,
            column("new_topics", LongType(), "topics that the client asked for in no window before"),
            column(
                "evicted_topics", LongType(), "topics that a later refresh left out (metadata.max.idle.ms)"
            ),
            column("lookups_per_new_topic", DoubleType(), "lookups / new topics"),
            column(
                "topics_per_lookup", DoubleType(), "topics asked / lookups, those for all topics left out"
            ),
            column("bytes_per_1000_new_topics", DoubleType(), "1000 * response bytes / new topics"),
            column(
                "growth_exponent",
                DoubleType(),
                "topics asked in total ~ new topics^x: 2 where each one asks for all, 1 where for itself; "
                "NULL below 5 windows with new topics or 16 of them",
            ),
        ]
    ),
)
