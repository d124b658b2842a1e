"""Gold tables of leader changes: how long clients take to find the new leader (KIP-951)."""

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
"""Values of `leader_redirect.kind`: the old leader returned an error, or it was dead."""

LEADER_REDIRECT = Table(
    layer="gold",
    name="leader_redirect",
    about="A5: how long a client has no leader when a leader moves (KIP-951) or dies. One row per event. "
    "Window: by logged_at of the old leader's first error, or of a dead leader's last response.",
    key=("cluster", "kind", "errored_at", "api", "client_id", "topic", "partition", "old_leader_id"),
    schema=StructType(
        [
            *WINDOW,
            column("topic", StringType(), "topic name; the topic id if no METADATA response has the name"),
            column("partition", IntegerType(), "partition index"),
            column("api", StringType(), "PRODUCE or FETCH"),
            column(
                "kind",
                StringType(),
                "redirect: the old leader returned an error; disconnect: it was dead",
            ),
            *RUN,
            column("connection", StringType(), "always NULL, and gone in the next version: it had addresses"),
            column("old_leader_id", IntegerType(), "broker that returned the first error, or that died"),
            column("new_leader_id", IntegerType(), "broker of the first success; NULL if there was none"),
            column("leader_epoch", IntegerType(), "epoch of the new leader in the hint; NULL without a hint"),
            column(
                "error_code",
                IntegerType(),
                "first error: 6 NOT_LEADER_OR_FOLLOWER, 74 FENCED_LEADER_EPOCH; NULL for a disconnect",
            ),
            column(
                "hinted",
                BooleanType(),
                "the first error contained the new leader (KIP-951); NULL for a disconnect",
            ),
            column(
                "errored_at",
                TimestampType(),
                "first error of the old leader, or last response of a dead leader; the row uses its clock",
            ),
            column("tried_at", TimestampType(), "arrival of the client's first request at the new leader"),
            column(
                "succeeded_at",
                TimestampType(),
                "first successful response of the new leader; for a FETCH, without the wait in purgatory",
            ),
            column(
                "leads_from",
                TimestampType(),
                "when the new leader became leader, by its state-change log; NULL without that log",
            ),
            column("redirect_ms", DoubleType(), "time without a leader: succeeded_at - errored_at"),
            column(
                "client_part_ms",
                DoubleType(),
                "tried_at - errored_at - blocked_ms",
            ),
            column(
                "broker_part_ms",
                DoubleType(),
                "succeeded_at - tried_at + blocked_ms, which includes replication",
            ),
            column(
                "blocked_ms",
                DoubleType(),
                "time before the first request in which the new leader processed earlier requests of the "
                "connection: a broker reads one request at a time",
            ),
            column(
                "not_ready_ms",
                DoubleType(),
                "part of broker_part_ms before the new leader became leader: leads_from - tried_at",
            ),
            column(
                "clock_bound_ms",
                DoubleType(),
                "maximum remaining difference of the two brokers' clocks; NULL without fetches between them",
            ),
            column(
                "moved_by",
                StringType(),
                "requester of the move: API, client id, principal; NULL if no request was found",
            ),
            column(
                "metadata_requests",
                LongType(),
                "METADATA requests of the client from errored_at to succeeded_at",
            ),
            column("errors_at_old_leader", LongType(), "error responses of the old leader"),
            column(
                "errors_at_new_leader",
                LongType(),
                "error responses of the new leader, which was not ready yet",
            ),
        ]
    ),
)

LEADER_REDIRECT_SUMMARY = Table(
    layer="gold",
    name="leader_redirect_summary",
    about="Leader redirects and disconnects by client version over a time range. Computed on read.",
    key=("cluster", "api", "software_version"),
    is_stored=False,
    schema=StructType(
        [
            WINDOW[0],
            column("api", StringType(), "PRODUCE or FETCH"),
            column("software_version", StringType(), "client software version; NULL if unknown"),
            column("n", LongType(), "redirects with a success"),
            column("unfinished", LongType(), "redirects without a success within 60 s"),
            column("redirect_p50_ms", DoubleType(), "median time from the first error to the first success"),
            column("redirect_p99_ms", DoubleType(), "p99 of this time; NULL for fewer than 100 redirects"),
            column("redirect_max_ms", DoubleType(), "maximum of this time"),
            column(
                "client_part_p50_ms",
                DoubleType(),
                "median of client_part_ms",
            ),
            column("broker_part_p50_ms", DoubleType(), "median of broker_part_ms"),
            column(
                "hinted_share", DoubleType(), "share of redirects whose first error contained the new leader"
            ),
            column("wasted_requests", LongType(), "error responses of old leaders"),
            column("disconnects", LongType(), "events with a dead old leader"),
            column(
                "disconnect_p50_ms", DoubleType(), "median time from its last response to the first success"
            ),
            column("disconnect_max_ms", DoubleType(), "maximum of this time"),
        ]
    ),
)
