"""Gold about leaders that move: how a client finds the next one (KIP-951)."""

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
from schemas.gold.columns import RUN, WINDOW

REDIRECT, DISCONNECT = "redirect", "disconnect"
"""`leader_redirect.kind`: an old leader that answers with an error, and one that is dead."""

LEADER_REDIRECT = Table(
    layer="gold",
    name="leader_redirect",
    about="A5: how long a client is lost when a leader moves (KIP-951) or dies, one row an event. "
    "Anchor: the logged_at of the old leader's first error, or of a dead one's last answer.",
    key=("cluster", "kind", "errored_at", "topic", "partition", "connection"),
    schema=StructType(
        [
            *WINDOW,
            column("topic", StringType(), "topic name; its id where no METADATA answer told the name"),
            column("partition", IntegerType(), "partition index"),
            column("api", StringType(), "PRODUCE or FETCH"),
            column(
                "kind",
                StringType(),
                "redirect: the old leader answered with an error; disconnect: it was dead",
            ),
            *RUN,
            column("connection", StringType(), "connection to the old leader, as the broker names it"),
            column("old_leader_id", IntegerType(), "broker that answered with the first error, or that died"),
            column(
                "new_leader_id", IntegerType(), "broker that served the first success; NULL if none was seen"
            ),
            column("leader_epoch", IntegerType(), "epoch of the new leader as hinted; NULL without a hint"),
            column(
                "error_code",
                IntegerType(),
                "first error: 6 NOT_LEADER_OR_FOLLOWER, 74 FENCED_LEADER_EPOCH; NULL of a disconnect",
            ),
            column(
                "hinted",
                BooleanType(),
                "the first error carried the new leader (KIP-951); NULL of a disconnect",
            ),
            column(
                "errored_at",
                TimestampType(),
                "when the old leader answered with the first error, or a dead one for the last time; its "
                "clock is that of the row",
            ),
            column("tried_at", TimestampType(), "arrival of the first request at the new leader"),
            column(
                "succeeded_at",
                TimestampType(),
                "when the new leader had served a request: its answer; of a FETCH less the wait in purgatory",
            ),
            column(
                "leads_from",
                TimestampType(),
                "when the new leader began to lead, its state-change log; NULL without",
            ),
            column("redirect_ms", DoubleType(), "errored_at to first success: succeeded_at - errored_at"),
            column(
                "client_part_ms",
                DoubleType(),
                "errored_at to first try at the new leader, less blocked_ms",
            ),
            column(
                "broker_part_ms",
                DoubleType(),
                "blocked_ms, and first try to first success there, replication too",
            ),
            column(
                "blocked_ms",
                DoubleType(),
                "of the time until the first try, that in which the new leader held earlier requests of the "
                "connection: it reads one at a time",
            ),
            column(
                "not_ready_ms",
                DoubleType(),
                "of it, until the new leader began to lead: leads_from - tried_at",
            ),
            column(
                "clock_bound_ms",
                DoubleType(),
                "how far the two brokers' clocks may still be apart; NULL where no fetch between them tells",
            ),
            column(
                "moved_by", StringType(), "who asked for the move: API, client id, principal; NULL: nobody"
            ),
            column(
                "metadata_requests",
                LongType(),
                "METADATA requests of the client between errored_at and success",
            ),
            column("errors_at_old_leader", LongType(), "requests answered with an error by the old leader"),
            column("errors_at_new_leader", LongType(), "errors of the new leader: it was not ready yet"),
        ]
    ),
)

LEADER_REDIRECT_SUMMARY = Table(
    layer="gold",
    name="leader_redirect_summary",
    about="Leader redirects by client version over a whole span, disconnects counted apart. Made on read.",
    key=("cluster", "api", "software_version"),
    schema=StructType(
        [
            WINDOW[0],
            column("api", StringType(), "PRODUCE or FETCH"),
            column("software_version", StringType(), "client software version; NULL when unknown"),
            column("n", LongType(), "redirects that ended in a success"),
            column("unfinished", LongType(), "redirects without a success in reach"),
            column("redirect_p50_ms", DoubleType(), "median of first error to first success"),
            column("redirect_p99_ms", DoubleType(), "p99 of the same; NULL below 100 redirects"),
            column("redirect_max_ms", DoubleType(), "longest"),
            column(
                "client_part_p50_ms",
                DoubleType(),
                "median of what the client needed until its first try there",
            ),
            column("broker_part_p50_ms", DoubleType(), "median of first try to first success there"),
            column(
                "hinted_share", DoubleType(), "share of redirects whose first error carried the new leader"
            ),
            column("wasted_requests", LongType(), "requests answered with an error by an old leader"),
            column("disconnects", LongType(), "events whose old leader was dead"),
            column("disconnect_p50_ms", DoubleType(), "median of its last answer to first success"),
            column("disconnect_max_ms", DoubleType(), "longest"),
        ]
    ),
)
