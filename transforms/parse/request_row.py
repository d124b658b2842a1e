"""
The silver row of a request line that can be read.

What a FETCH is, is told by the request and never by the client id, which is a user's text: a replica id
(`replicaState.replicaId` since v15, `replicaId` before) makes it a replica's; of those, one that fetches
`__cluster_metadata` is a KRaft node's ("raft"), since a raft fetch always names exactly that topic, and
every other one is a follower's, also with an empty list of topics (an incremental session without change).
A FETCH without a replica id is a consumer's. One whose request was not logged has no kind.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from transforms.parse import PARSER_VERSION
from transforms.parse.request_checks import broker_id, is_possible, is_raft, is_unlogged
from transforms.parse.request_document import PARTS
from transforms.parse.stamp import stamp_columns

SLACK_MS = 0.005
"""Total and its five parts are each cut to whole microseconds, so they differ by less than 5 of them."""

FLOAT_NOISE_MS = 1e-6


def _kind() -> Column:
    has_request = F.col("request").isNotNull() | F.col("old_session.replicaId").isNotNull()
    return (
        F.when(F.col("api") != "FETCH", "other")
        .when(~has_request, None)
        .when(F.col("replica_id").isNull(), "consumer")
        .when(is_raft(), "raft")
        .otherwise("follower")
    )


def _flags() -> Column:
    is_text = F.col("is_text")
    gap = F.col("totalTimeMs") - reduce(Column.__add__, (F.col(name) for name in PARTS))
    flags = [
        F.when(~gap.between(-FLOAT_NOISE_MS, SLACK_MS + FLOAT_NOISE_MS), "parts_do_not_add_up"),
        F.when(~is_text & F.col("request").isNull() & is_unlogged("request"), "no_request_body"),
        F.when(~is_text & F.col("response").isNull() & is_unlogged("response"), "no_response_body"),
        F.when(is_text, "text_form"),
    ]
    none = F.array().cast("array<string>")
    return F.when(F.coalesce(*flags).isNull(), none).otherwise(F.array_compact(F.array(*flags)))


def row(own_client_prefix: str) -> Column:
    """Give the columns of `schemas.silver.REQUESTS`."""
    request, response, old = F.col("request"), F.col("response"), F.col("old_session")
    is_fetch = F.col("api") == "FETCH"
    return F.struct(
        "cluster",
        broker_id().alias("broker_id"),
        *stamp_columns(),
        _started_at().alias("started_at"),
        "api",
        "api_version",
        F.col("clientId").alias("client_id"),
        F.col("correlationId").alias("correlation_id"),
        "connection",
        F.when(is_fetch, F.coalesce(request.sessionId, old.sessionId)).alias("session_id"),
        F.when(is_fetch, F.coalesce(request.sessionEpoch, old.sessionEpoch)).alias("session_epoch"),
        F.when(is_fetch, response.sessionId).alias("response_session_id"),
        "listener",
        _kind().alias("kind"),
        F.col("replica_id").alias("follower_id"),
        F.when(is_fetch, request.replicaState.replicaEpoch).alias("replica_epoch"),
        _told("softwareName").alias("software_name"),
        _told("softwareVersion").alias("software_version"),
        "principal",
        F.col("isForwarded").alias("is_forwarded"),
        F.col("totalTimeMs").alias("total_ms"),
        F.col("requestQueueTimeMs").alias("request_queue_ms"),
        F.col("localTimeMs").alias("local_ms"),
        F.col("remoteTimeMs").alias("remote_ms"),
        F.col("responseQueueTimeMs").alias("response_queue_ms"),
        F.col("sendTimeMs").alias("send_ms"),
        F.col("throttleTimeMs").alias("throttle_ms"),
        response.errorCode.alias("error_code"),
        "partitions",
        "topics_asked",
        "topics_answered",
        "response_bytes",
        F.startswith("clientId", F.lit(own_client_prefix)).alias("is_own_traffic"),
        _flags().alias("quality_flags"),
        "node",
        "source",
        "position",
        "topic",
        "partition",
        "offset",
        F.lit(PARSER_VERSION).alias("parser_version"),
    )


def _started_at() -> Column:
    # Spark rounds a double by way of its decimal text.
    total_us = F.when(is_possible("totalTimeMs"), F.floor(F.col("totalTimeMs") * 1_000 + 0.5))
    micros = F.unix_micros(F.col("stamp.logged_at")) - total_us
    return F.timestamp_micros(micros)


def _told(name: str) -> Column:
    return F.when(F.col(name) != "unknown", F.col(name))
