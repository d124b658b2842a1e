"""A request line's document, whichever form it was written in: JSON since Kafka 2.8, text before."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.parse.metadata_size import response_bytes
from transforms.parse.outcome import apart
from transforms.parse.request_admin import with_admin
from transforms.parse.request_body import (
    REQUEST,
    RESPONSE,
    only_answered,
    only_asked,
    partitions,
    topics_asked,
    topics_told,
)
from transforms.parse.request_text import with_text

MARK = "Completed request:"
PARTS = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseQueueTimeMs", "sendTimeMs")
TIMES = ("totalTimeMs", *PARTS)

DOCUMENT = f"""isForwarded BOOLEAN,
    requestHeader STRUCT<requestApiKeyName STRING, requestApiVersion INT, correlationId INT, clientId STRING>,
    request {REQUEST}, response {RESPONSE}, connection STRING,
    {", ".join(f"{name} DOUBLE" for name in TIMES)}, throttleTimeMs DOUBLE, principal STRING, listener STRING,
    clientInformation STRUCT<softwareName STRING, softwareVersion STRING>""".replace("\n", " ")
JSON_OPTIONS = {"allowNonNumericNumbers": "false", "allowSingleQuotes": "false"}


def with_documents(stamped: DataFrame) -> DataFrame:
    """
    Add `objects`, what the JSON form holds, and `old`, what the text form does; NULL where it is the other.

    JSON is read inside a list of our own: what stands behind the first object then breaks the list. Spark's
    reader takes the first value of a text and says nothing of a second one.
    """
    message = F.col("message")
    has_json = message.startswith(MARK + "{") & message.endswith("}")
    listed = F.when(has_json, F.concat(F.lit("["), _body(), F.lit("]")))
    read = F.from_json("listed", f"ARRAY<STRUCT<{DOCUMENT}>>", JSON_OPTIONS)
    objects = stamped.select("*", apart(listed).alias("listed")).select("*", read.alias("objects"))
    return with_text(objects.drop("listed"))


def with_fields(read: DataFrame) -> DataFrame:
    """
    Add the fields that both forms have under one name each, and what the bodies of the JSON form tell.

    What is referred to more than once is a column on the way: the code that Spark makes of an expression
    grows with each mention of it.
    """
    document = F.col("objects")[0]
    api, request, response = document.requestHeader.requestApiKeyName, document.request, document.response
    only = [only_asked(api, request).alias("only_asked"), only_answered(response).alias("only_answered")]
    listed = partitions(api, request, response, F.col("only_asked"), F.col("only_answered"))
    fields = (
        read.select("*", *_fields(document, F.col("old")), *only)
        .select(
            "*",
            F.when(~F.col("is_text"), listed).alias("partitions"),
            topics_asked(api, F.col("api_version"), request).alias("topics_asked"),
            F.when(api == "METADATA", F.size(response.topics)).alias("topics_answered"),
            F.when(api == "METADATA", response_bytes(F.col("api_version"), response)).alias("response_bytes"),
            topics_told(api, response).alias("topics_told"),
            _replica_id().alias("replica_id"),
        )
        .drop("objects", "old", "only_asked", "only_answered")
    )
    return with_admin(fields, _body())


def _body() -> Column:
    """Cut the JSON out by bytes: Spark counts the characters of a text up to where it cuts."""
    return F.substr(F.col("message").cast("binary"), F.lit(len(MARK) + 1)).cast("string")


def _replica_id() -> Column:
    """Give the broker or controller that fetches, NULL for consumers and other requests."""
    request = F.col("request")
    asked = F.coalesce(request.replicaState.replicaId, request.replicaId, F.col("old_session.replicaId"))
    return F.when((F.col("api") == "FETCH") & (asked >= 0), asked)


def _fields(document: Column, old: Column) -> list[Column]:
    names = ["connection", *TIMES, "throttleTimeMs", "principal", "listener", "isForwarded"]
    header = ("requestApiKeyName", "requestApiVersion", "correlationId", "clientId")
    names += [f"requestHeader.{name}" for name in header]
    names += ["clientInformation.softwareName", "clientInformation.softwareVersion"]
    picked = {"requestApiKeyName": "api", "requestApiVersion": "api_version"}
    return [
        *(
            F.coalesce(_dig(document, name), _dig(old, name)).alias(
                picked.get(name.split(".")[-1], name.split(".")[-1])
            )
            for name in names
        ),
        _slim(document.request, "replicaId", "replicaState", "sessionId", "sessionEpoch").alias("request"),
        _slim(document.response, "errorCode", "sessionId").alias("response"),
        old.session.alias("old_session"),
        F.size("objects").alias("count"),
        old.isNotNull().alias("is_text"),
    ]


def _slim(body: Column, *names: str) -> Column:
    """Leave the lists behind: what is told of them stands in columns of their own."""
    has_topics = body.topics.isNotNull().alias("has_topics")
    return F.when(body.isNotNull(), F.struct(*(body[name].alias(name) for name in names), has_topics))


def _dig(document: Column, dotted: str) -> Column:
    return reduce(lambda column, name: column[name], dotted.split("."), document)
