"""Gold tables of METADATA requests: topics and cost by client (KIP-526)."""

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
    column("all_topics_lookups", LongType(), "lookups of all topics of the cluster"),
    column("topics_asked", LongType(), "requested topics, summed over lookups"),
    column("topics_asked_most", LongType(), "requested topics of the largest lookup"),
    column("topics_answered", LongType(), "topics in the responses"),
    column("response_bytes", LongType(), "size of the responses on the wire, calculated from their contents"),
    column("lookups_after_error", LongType(), "lookups within 1 s after an error 6 or 74 to the client"),
]

METADATA_LOOKUP = Table(
    layer="gold",
    name="metadata_lookup",
    about="A6: the cost of metadata lookups by client (KIP-526). Window: by logged_at at the broker.",
    key=("cluster", "window_start", "client_id", "software_version", "run"),
    schema=StructType(
        [
            *WINDOW,
            *RUN,
            *LOOKUPS,
            column(
                "topics", ArrayType(LongType()), "distinct requested topics, as xxhash64 of the name or id"
            ),
        ]
    ),
)

METADATA_LOOKUP_SUMMARY = Table(
    layer="gold",
    name="metadata_lookup_summary",
    about="The cost of metadata lookups by client over a time range. Computed on read.",
    key=("cluster", "client_id", "software_version", "run"),
    is_stored=False,
    schema=StructType(
        [
            WINDOW[0],
            *RUN,
            column("since", TimestampType(), "start of the first window with a lookup"),
            column("until", TimestampType(), "end of the last window with a lookup"),
            *LOOKUPS,
            column("new_topics", LongType(), "topics that the client requested for the first time"),
            column(
                "evicted_topics", LongType(), "topics missing from a later refresh (metadata.max.idle.ms)"
            ),
            column("lookups_per_new_topic", DoubleType(), "lookups / new topics"),
            column(
                "topics_per_lookup", DoubleType(), "requested topics / lookups, without lookups of all topics"
            ),
            column("bytes_per_1000_new_topics", DoubleType(), "1000 * response bytes / new topics"),
            column(
                "growth_exponent",
                DoubleType(),
                "x in: requested topics ~ new topics^x. 2 if each lookup requests all topics, 1 if only the "
                "new one; NULL for fewer than 5 windows with new topics or fewer than 16 new topics",
            ),
        ]
    ),
)
