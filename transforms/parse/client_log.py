"""
Lines of a NetworkClient log (`org.apache.kafka.clients.NetworkClient` at DEBUG) as `silver.client_events`.

`Sending X request with header RequestHeader(...) and timeout N to node M: ...` and
`Received X response from node M for request with header RequestHeader(...): ...`, behind a prefix that names
the client: `[ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] `. Both repeat the request's header, so a
request and its answer can be paired by the correlation id.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.silver import CLIENT_EVENTS
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import fails, quarantined, rows_of, sample, skipped, with_outcome
from transforms.parse.request_document import MARK as REQUEST_MARK
from transforms.parse.stamp import SEPARATOR, no_message, stamp_columns, text, unreadable, untimed, with_stamp

__all__ = ["kept", "parse_client_log", "quarantined", "skipped"]

MARK = " with header RequestHeader("
LOGGER = "org.apache.kafka.clients.NetworkClient"
FETCH_WITH_SESSION = 7  # KIP-227

HEAD_BYTES = 4_096
"""Header and fetch session stand at the start; what is fetched can be megabytes."""

# prefix, verb, node answering, api, version, client id, correlation id, node asked
EVENT = (
    r"^(?:\[(.*?)\] )?(Sending|Received) [A-Z0-9_]+ (?:request|response from node (-?\d+) for request)"
    r" with header RequestHeader\(apiKey=([A-Z0-9_]+), apiVersion=(\d+), clientId=(.*?)"
    r", correlationId=(-?\d+)(?:, headerVersion=-?\d+)?\)(?: and timeout -?\d+ to node (-?\d+))?: "
)
GROUPS = ("prefix", "verb", "from_node", "api", "api_version", "client_id", "correlation_id", "to_node")


def parse_client_log(raw: DataFrame) -> DataFrame:
    """Parse raw rows (`schemas.bronze.RAW`) once; `kept`, `quarantined`, `skipped` select from it."""
    head = F.substring(F.col("message").cast("binary"), 1, HEAD_BYTES).cast("string")
    headed = with_stamp(raw).select("*", F.when(_is_event(), head).alias("head"))
    matched = headed.select("*", F.regexp_extract("head", EVENT, 0).alias("header"))
    groups = SEPARATOR.join(f"${n}" for n in range(1, len(GROUPS) + 1))
    found = F.split(F.regexp_replace("header", EVENT, groups), SEPARATOR)
    is_found = (F.col("header") != "") & (F.size(found) == len(GROUPS))
    split = matched.select("*", F.when(is_found, found).alias("found"))
    return with_outcome(
        split.select("*", _event().alias("event")),
        failure=_failure(),
        skip=_skip(),
        row=_row(),
        extra=[],
    )


def kept(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.client_events`."""
    return rows_of(parsed, CLIENT_EVENTS)


def _is_event() -> Column:
    return F.contains(text(), F.lit(MARK))


def _event() -> Column:
    """Give the columns of `client_events` that the message tells, NULL where it has another form."""
    found = {name: F.when(F.col("found")[n] != "", F.col("found")[n]) for n, name in enumerate(GROUPS)}
    is_sent, is_fetch = found["verb"] == "Sending", found["api"] == "FETCH"
    destination = F.when(is_sent, found["to_node"]).otherwise(found["from_node"])
    is_fetcher = found["prefix"].startswith("ReplicaFetcher ")
    told = {
        "follower_id": F.when(is_fetcher, _number(found["prefix"], r"\breplicaId=(\d+)")),
        "fetcher_id": F.when(is_fetcher, _number(found["prefix"], r"\bfetcherId=(\d+)")),
        "destination_id": destination.try_cast("int"),
        "api": found["api"],
        "api_version": found["api_version"].try_cast("int"),
        "client_id": F.when(found["client_id"] != "null", found["client_id"]),
        "correlation_id": found["correlation_id"].try_cast("int"),
        "session_id": F.when(is_fetch, _number(_body(), r"\bsessionId=(-?\d+)")),
        "session_epoch": F.when(is_fetch & is_sent, _number(_body(), r"\bsessionEpoch=(-?\d+)")),
    }
    return F.when(
        F.col("found").isNotNull(),
        F.struct(
            F.when(is_sent, "sent").otherwise("received").alias("direction"),
            F.substring_index(found["prefix"], " ", 1).alias("component"),
            *(column.alias(name) for name, column in told.items()),
        ),
    )


def _body() -> Column:
    return F.substr(F.col("head"), F.length("header") + 1)


def _number(text: Column, pattern: str) -> Column:
    return F.regexp_extract(text, pattern, 1).try_cast("int")


def _failure() -> Column:
    is_request = F.contains(text(), F.lit(REQUEST_MARK))
    return F.coalesce(
        unreadable(),
        F.when(_is_event(), _misread()),
        fails(is_request, "request_in_client_log", sample(text())),
    )


def _misread() -> Column:
    message, event = F.col("message"), F.col("event")
    rest = F.substr(message.cast("binary"), F.octet_length("header") + 1).cast("string")
    required = ("destination_id", "api_version", "correlation_id")
    absent = F.concat_ws(", ", *(F.when(event[name].isNull(), name) for name in required))
    has_session = (event.api == "FETCH") & (event.api_version >= FETCH_WITH_SESSION)
    other = F.concat(F.lit("written by replica "), event.follower_id, F.lit(" on "), F.col("node"))
    return F.coalesce(
        untimed(),
        fails(F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(
            event.isNotNull() & F.contains(rest, F.lit(MARK)),
            "several_objects",
            "the header stands twice in the line",
        ),
        fails(~message.endswith(")"), "truncated_line", sample(message)),
        fails(event.isNull(), "unknown_form", sample(message)),
        fails(absent != "", "missing_field", absent),
        fails(has_session & event.session_id.isNull(), "missing_field", "sessionId"),
        fails(event.follower_id != F.col("node_id"), "node_is_another_replica", other),
    )


def _skip() -> Column:
    ours = F.coalesce(F.col("logger") == LOGGER, F.lit(True))
    other = F.when(ours, "not_a_request").otherwise("other_logger")
    return F.when(_is_event(), None).otherwise(F.coalesce(no_message(), other))


def _row() -> Column:
    return F.struct(
        "cluster",
        "node_id",
        *stamp_columns(),
        "event.*",
        "node",
        "source",
        "position",
        "topic",
        "partition",
        "offset",
        F.lit(PARSER_VERSION).alias("parser_version"),
    )
