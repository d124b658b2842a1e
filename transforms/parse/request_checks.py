"""What can be wrong with a request line, and which lines of the same file are not ours to parse."""

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from transforms.parse.outcome import fails, sample
from transforms.parse.request_body import METADATA_TOPIC, METADATA_TOPIC_ID
from transforms.parse.request_document import MARK, TIMES
from transforms.parse.request_text import START as TEXT_START
from transforms.parse.stamp import no_message, text, unreadable, untimed

LOGGER = "kafka.request.logger"

LONGEST_MS = 1e10
"""A duration of months is no duration; NaN is greater than any number in Spark, so it fails as well."""

HAVE_BODIES = ("FETCH", "PRODUCE", "METADATA", "CREATE_TOPICS")
FETCH_WITH_SESSION = 7  # KIP-227
FETCH_WITH_REPLICA_STATE = 15  # KIP-903


def failure() -> Column:
    """Give the first thing wrong with a line; only one that holds `Completed request:` is read further."""
    return F.coalesce(unreadable(), F.when(is_request(), _misread()))


def is_request() -> Column:
    """Tell whether a line is ours to read: kept or quarantined, never skipped."""
    return F.contains(text(), F.lit(MARK))


def _misread() -> Column:
    message = F.col("message")
    is_json = message.startswith(MARK + "{")
    is_text = message.startswith(TEXT_START)
    count = F.col("count")
    return F.coalesce(
        untimed(),
        fails(F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(broker_id().isNull(), "node_without_number", F.coalesce("node", F.lit("no node"))),
        fails(~is_json & ~is_text, "unknown_form", sample(text())),
        fails(is_json & ~message.endswith("}"), "truncated_line", _length(text())),
        # Where text ends is told by the logger behind it alone: a principal or listener has no end mark.
        fails(is_text & F.col("logger").isNull(), "truncated_line", _length(text())),
        fails(is_json & (F.coalesce(count, F.lit(-1)) < 0), "bad_json", _length(text())),
        fails(is_json & (count != 1), "several_objects", count),
        fails(
            is_text & F.contains(F.substr(message, F.lit(len(MARK))), F.lit(MARK)), "several_objects", text()
        ),
        fails(is_text & ~F.col("is_text"), "bad_text_form", sample(message)),
        _missing(),
        _impossible(),
        _own_fetch(),
    )


def _length(text: Column) -> Column:
    return F.concat(
        F.length(text).cast("string"), F.lit(" characters, ends with: "), F.substring(text, -60, 60)
    )


def _missing() -> Column:
    """Name the required fields that are absent or of a wrong type: Spark reads both as NULL."""
    required = ["api", "api_version", "correlationId", "connection", *TIMES]
    is_json = F.col("count") >= 0
    api, request, response = F.col("api"), F.col("request"), F.col("response")
    has_request, has_response = request.isNotNull(), response.isNotNull()
    is_old_fetch = (api == "FETCH") & (F.col("api_version") < FETCH_WITH_REPLICA_STATE)
    absent = {
        "request": is_json & api.isin(*HAVE_BODIES) & ~has_request & ~is_unlogged("request"),
        "response": is_json & api.isin(*HAVE_BODIES) & ~has_response & ~is_unlogged("response"),
        "request.replicaId": is_old_fetch & has_request & request.replicaId.isNull(),
        "request.sessionId": (api == "FETCH")
        & (F.col("api_version") >= FETCH_WITH_SESSION)
        & has_request
        & request.sessionId.isNull(),
        "partitions": is_json & api.isin("FETCH", "PRODUCE") & F.col("partitions").isNull(),
        "partition": _any_partition(lambda p: p.partition.isNull()),
        "request.topics": (api == "METADATA")
        & has_request
        & ~request.has_topics
        & ~F.contains("message", F.lit('"topics":null')),
        "response.topics": api.isin("METADATA", "CREATE_TOPICS") & has_response & ~response.has_topics,
    }
    named = [F.when(F.col(name).isNull(), name) for name in required]
    named += [F.when(condition, name) for name, condition in absent.items()]
    return fails(
        reduce(Column.__or__, (name.isNotNull() for name in named)),
        "missing_field",
        F.concat_ws(", ", *named),
    )


def is_unlogged(body: str) -> Column:
    """Tell a body that Kafka left out: `""` up to 4.3, null since 4.4; nested texts are escaped."""
    return F.contains("message", F.lit(f'"{body}":""')) | F.contains("message", F.lit(f'"{body}":null'))


def _impossible() -> Column:
    named = [F.when(~is_possible(name), name) for name in TIMES]
    return fails(
        reduce(Column.__or__, (name.isNotNull() for name in named)),
        "impossible_duration",
        F.concat_ws(", ", *named),
    )


def is_possible(name: str) -> Column:
    """Tell whether a duration can be one."""
    return F.col(name).between(0, LONGEST_MS)


def _own_fetch() -> Column:
    """
    Give a fetch that the node seems to send to itself: no broker does, so the log is another's.

    A KRaft node that knows no leader yet may ask itself for the metadata; it is told that it is none.
    """
    own = F.concat(F.lit("a fetch of replica "), F.col("replica_id"), F.lit(" on "), F.col("node"))
    return fails((F.col("replica_id") == broker_id()) & ~is_raft(), "node_is_another_replica", own)


def is_raft() -> Column:
    """Tell a fetch of `__cluster_metadata`; false where it names no topic."""
    return F.coalesce(
        _any_partition(lambda p: (p.topic_id == METADATA_TOPIC_ID) | (p.topic_name == METADATA_TOPIC)),
        F.lit(False),
    )


def _any_partition(is_so: Callable[[Column], Column]) -> Column:
    """Tell whether one of the partitions is so: of a single one without a lambda, which is interpreted."""
    only = is_so(F.get("partitions", F.lit(0)))
    return F.when(F.size("partitions") == 1, only).otherwise(F.exists("partitions", is_so))


def skip() -> Column:
    """Give the reason for skipping a line that is no request, or NULL."""
    ours = F.coalesce(F.col("logger") == LOGGER, F.lit(True))
    other = F.when(ours, "not_a_request").otherwise("other_logger")
    return F.when(is_request(), None).otherwise(F.coalesce(no_message(), other))


def broker_id() -> Column:
    """Give the number that the node's name ends in."""
    return F.col("node_id")
