"""
Lines of a broker's request log (`kafka.request.logger` at DEBUG) as rows of `silver.requests`.

What a FETCH is, is told by the request and never by the client id, which is a user's text: a replica id
(`replicaState.replicaId` since v15, `replicaId` before) makes it a replica's; of those, one that fetches
`__cluster_metadata` is a KRaft node's ("raft"), since a raft fetch always names exactly that topic, and
every other one is a follower's, also with an empty list of topics (an incremental session without change).
A FETCH without a replica id is a consumer's. One whose request was not logged has no kind.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.silver import REQUESTS, TOPICS
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import (
    KEPT,
    fails,
    once,
    quarantined,
    rows_of,
    sample,
    skipped,
    with_outcome,
)
from transforms.parse.request_body import (
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    REQUEST,
    RESPONSE,
    partitions,
    topics_asked,
    topics_told,
)
from transforms.parse.request_text import START as TEXT_START
from transforms.parse.request_text import read_text
from transforms.parse.stamp import is_blank, stamp_columns, unreadable, untimed, with_stamp

__all__ = ["kept", "parse_request_log", "quarantined", "skipped", "topics"]

MARK = "Completed request:"
LOGGER = "kafka.request.logger"

PARTS = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseQueueTimeMs", "sendTimeMs")
TIMES = ("totalTimeMs", *PARTS)

DOCUMENT = f"""isForwarded BOOLEAN,
    requestHeader STRUCT<requestApiKeyName STRING, requestApiVersion INT, correlationId INT, clientId STRING>,
    request {REQUEST}, response {RESPONSE}, connection STRING, {", ".join(f"{name} DOUBLE" for name in TIMES)},
    throttleTimeMs DOUBLE, principal STRING, listener STRING,
    clientInformation STRUCT<softwareName STRING, softwareVersion STRING>""".replace("\n", " ")

JSON_OPTIONS = {"allowNonNumericNumbers": "false", "allowSingleQuotes": "false"}

SLACK_MS = 0.005
"""Total and its five parts are each cut to whole microseconds, so they differ by less than 5 of them."""

FLOAT_NOISE_MS = 1e-6

LONGEST_MS = 1e10
"""A duration of months is no duration; NaN is greater than any number in Spark, so it fails as well."""

HAVE_BODIES = ("FETCH", "PRODUCE", "METADATA", "CREATE_TOPICS")


def parse_request_log(raw: DataFrame, *, own_client_prefix: str = "plumbline-") -> DataFrame:
    """Parse raw rows (`schemas.bronze.RAW`) once; `kept`, `quarantined`, `skipped`, `topics` select from it."""
    documents = once(with_stamp(raw).select("*", *_documents()))
    fields = documents.select("*", *_fields())
    lists = once(fields.select("*", *_lists()))
    told = F.when(F.col("api").isin("METADATA", "CREATE_TOPICS"), F.col("told")).alias("topics_told")
    return with_outcome(
        lists.select("*", told), failure=_failure(), skip=_skip(), row=_row(own_client_prefix), extra=["topics_told"]
    )


def kept(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.requests`."""
    return rows_of(parsed, REQUESTS)


def topics(parsed: DataFrame) -> DataFrame:
    """Give the topic ids and names that kept METADATA and CREATE_TOPICS answers told."""
    told = parsed.where((F.col("outcome") == KEPT) & F.col("topics_told").isNotNull())
    return told.select(
        "cluster",
        F.col("row.logged_at").alias("seen_at"),
        "position",
        F.lit(PARSER_VERSION).alias("parser_version"),
        F.inline("topics_told"),
    ).to(TOPICS.schema)


def _documents() -> list[Column]:
    """
    Read JSON inside a list of our own: what stands behind the first object then breaks the list.

    Spark's reader takes the first value of a text and says nothing of a second one.
    """
    message = F.col("message")
    has_json = message.startswith(MARK + "{") & message.endswith("}")
    listed = F.concat(F.lit("["), F.substr(message, F.lit(len(MARK) + 1)), F.lit("]"))
    read = F.from_json(listed, f"ARRAY<STRUCT<{DOCUMENT}>>", JSON_OPTIONS)
    return [
        F.when(has_json, read).alias("objects"),
        F.when(message.startswith(TEXT_START), read_text(message)).alias("old"),
    ]


def _fields() -> list[Column]:
    document, old = F.col("objects")[0], F.col("old")
    names = ["connection", *TIMES, "throttleTimeMs", "principal", "listener", "isForwarded"]
    header = ("requestApiKeyName", "requestApiVersion", "correlationId", "clientId")
    names += [f"requestHeader.{name}" for name in header]
    names += ["clientInformation.softwareName", "clientInformation.softwareVersion"]
    picked = {"requestApiKeyName": "api", "requestApiVersion": "api_version"}
    return [
        *(
            F.coalesce(_dig(document, name), _dig(old, name)).alias(picked.get(name.split(".")[-1], name.split(".")[-1]))
            for name in names
        ),
        document.request.alias("request"),
        document.response.alias("response"),
        old.session.alias("old_session"),
    ]


def _dig(document: Column, dotted: str) -> Column:
    return reduce(lambda column, name: column[name], dotted.split("."), document)


def _lists() -> list[Column]:
    api, request, response = F.col("api"), F.col("request"), F.col("response")
    return [
        partitions(api, request, response).alias("partitions"),
        topics_asked(api, F.col("api_version"), request).alias("topics_asked"),
        topics_told(api, response).alias("told"),
    ]


def _failure() -> Column:
    """The first thing wrong with a line; only lines that hold `Completed request:` are read further."""
    return F.coalesce(unreadable(), F.when(_is_request(), _misread()))


def _is_request() -> Column:
    return F.contains("text", F.lit(MARK))


def _misread() -> Column:
    message, text = F.col("message"), F.col("text")
    is_json = message.startswith(MARK + "{")
    is_text = message.startswith(TEXT_START)
    count = F.size("objects")
    return F.coalesce(
        untimed(),
        fails(F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(_broker_id().isNull(), "node_without_number", F.coalesce("node", F.lit("no node"))),
        fails(~is_json & ~is_text, "unknown_form", sample(text)),
        fails(is_json & ~message.endswith("}"), "truncated_line", _length(text)),
        fails(is_json & F.col("objects").isNull(), "bad_json", _length(text)),
        fails(is_json & (count != 1), "several_objects", count),
        fails(is_text & F.contains(F.substr(message, F.lit(len(MARK))), F.lit(MARK)), "several_objects", "text"),
        fails(is_text & F.col("old").isNull(), "bad_text_form", sample(message)),
        _missing(),
        _impossible(),
    )


def _length(text: Column) -> Column:
    return F.concat(F.length(text).cast("string"), F.lit(" characters, ends with: "), F.substring(text, -60, 60))


def _missing() -> Column:
    """Name the required fields that are absent or of a wrong type: Spark reads both as NULL."""
    required = ["api", "api_version", "correlationId", "connection", *TIMES]
    is_json = F.col("objects").isNotNull()
    api, request, response = F.col("api"), F.col("request"), F.col("response")
    has_request, has_response = request.isNotNull(), response.isNotNull()
    is_old_fetch = (api == "FETCH") & (F.col("api_version") < 15)  # noqa: PLR2004 (KIP-903 came with v15)
    absent = {
        "request": is_json & api.isin(*HAVE_BODIES) & ~has_request & ~_is_unlogged("request"),
        "response": is_json & api.isin(*HAVE_BODIES) & ~has_response & ~_is_unlogged("response"),
        "request.replicaId": is_old_fetch & has_request & request.replicaId.isNull(),
        "request.sessionId": (api == "FETCH") & (F.col("api_version") > 6) & has_request & request.sessionId.isNull(),  # noqa: PLR2004
        "partitions": is_json & api.isin("FETCH", "PRODUCE") & F.col("partitions").isNull(),
        "partition": F.exists("partitions", lambda p: p.partition.isNull()),
        "request.topics": (api == "METADATA")
        & has_request
        & request.topics.isNull()
        & ~F.contains("message", F.lit('"topics":null')),
        "response.topics": api.isin("METADATA", "CREATE_TOPICS") & has_response & response.topics.isNull(),
    }
    named = [F.when(F.col(name).isNull(), name) for name in required]
    named += [F.when(condition, name) for name, condition in absent.items()]
    return fails(reduce(Column.__or__, (name.isNotNull() for name in named)), "missing_field", F.concat_ws(", ", *named))


def _is_unlogged(body: str) -> Column:
    """Tell a body that Kafka left out: `""` up to 4.3, null since 4.4; nested texts are escaped."""
    return F.contains("message", F.lit(f'"{body}":""')) | F.contains("message", F.lit(f'"{body}":null'))


def _impossible() -> Column:
    named = [F.when(~F.col(name).between(0, LONGEST_MS), name) for name in TIMES]
    return fails(reduce(Column.__or__, (name.isNotNull() for name in named)), "impossible_duration", F.concat_ws(", ", *named))


def _skip() -> Column:
    ours = F.coalesce(F.col("logger") == LOGGER, F.lit(True))  # noqa: FBT003 (a column, not a switch)
    return (
        F.when(_is_request(), None)
        .when(is_blank(), "blank")
        .when(ours, "not_a_request")
        .otherwise("other_logger")
    )


def _broker_id() -> Column:
    return F.regexp_extract("node", r"(\d+)$", 1).try_cast("int")


def _replica_id() -> Column:
    request = F.col("request")
    asked = F.coalesce(request.replicaState.replicaId, request.replicaId, F.col("old_session.replicaId"))
    return F.when((F.col("api") == "FETCH") & (asked >= 0), asked)


def _kind() -> Column:
    is_metadata = F.exists(
        "partitions", lambda p: (p.topic_id == METADATA_TOPIC_ID) | (p.topic_name == METADATA_TOPIC)
    )
    has_request = F.col("request").isNotNull() | F.col("old_session.replicaId").isNotNull()
    return (
        F.when(F.col("api") != "FETCH", "other")
        .when(~has_request, None)
        .when(_replica_id().isNull(), "consumer")
        .when(F.coalesce(is_metadata, F.lit(False)), "raft")  # noqa: FBT003 (a column, not a switch)
        .otherwise("follower")
    )


def _flags() -> Column:
    is_text = F.col("old").isNotNull()
    gap = F.col("totalTimeMs") - reduce(Column.__add__, (F.col(name) for name in PARTS))
    flags = F.array(
        F.when(~gap.between(-FLOAT_NOISE_MS, SLACK_MS + FLOAT_NOISE_MS), "parts_do_not_add_up"),
        F.when(~is_text & F.col("request").isNull() & _is_unlogged("request"), "no_request_body"),
        F.when(~is_text & F.col("response").isNull() & _is_unlogged("response"), "no_response_body"),
        F.when(is_text, "text_form"),
    )
    return F.filter(flags, lambda flag: flag.isNotNull())


def _row(own_client_prefix: str) -> Column:
    request, response, old = F.col("request"), F.col("response"), F.col("old_session")
    is_fetch = F.col("api") == "FETCH"
    total_us = (F.col("totalTimeMs") * 1_000).cast("long")  # noqa: F841
    return F.struct(
        "cluster",
        _broker_id().alias("broker_id"),
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
        _replica_id().alias("follower_id"),
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
    micros = F.unix_micros(F.col("stamp.logged_at")) - F.round(F.col("totalTimeMs") * 1_000).try_cast("long")
    return F.timestamp_micros(micros)


def _told(name: str) -> Column:
    return F.when(F.col(name) != "unknown", F.col(name))
