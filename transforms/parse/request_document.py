"""A request line's document, whichever form it was written in: JSON since Kafka 2.8, text before."""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from transforms.parse.request_body import REQUEST, RESPONSE, partitions, topics_asked, topics_told
from transforms.parse.request_text import START as TEXT_START
from transforms.parse.request_text import read_text

MARK = "Completed request:"
PARTS = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseQueueTimeMs", "sendTimeMs")
TIMES = ("totalTimeMs", *PARTS)

DOCUMENT = f"""isForwarded BOOLEAN,
    requestHeader STRUCT<requestApiKeyName STRING, requestApiVersion INT, correlationId INT, clientId STRING>,
    request {REQUEST}, response {RESPONSE}, connection STRING,
    {", ".join(f"{name} DOUBLE" for name in TIMES)}, throttleTimeMs DOUBLE, principal STRING, listener STRING,
    clientInformation STRUCT<softwareName STRING, softwareVersion STRING>""".replace("\n", " ")
JSON_OPTIONS = {"allowNonNumericNumbers": "false", "allowSingleQuotes": "false"}


def documents() -> list[Column]:
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


def fields() -> list[Column]:
    """Give the fields that both forms have under one name each, and what the bodies of the JSON form tell."""
    document, old = F.col("objects")[0], F.col("old")
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
        *_lists(document, old),
    ]


def _slim(body: Column, *names: str) -> Column:
    """Leave the lists behind: what is told of them stands in columns of their own."""
    has_topics = body.topics.isNotNull().alias("has_topics")
    return F.when(body.isNotNull(), F.struct(*(body[name].alias(name) for name in names), has_topics))


def _dig(document: Column, dotted: str) -> Column:
    return reduce(lambda column, name: column[name], dotted.split("."), document)


def _lists(document: Column, old: Column) -> list[Column]:
    """Give what the bodies of the JSON form say of partitions and topics."""
    header, request, response = document.requestHeader, document.request, document.response
    api, version = header.requestApiKeyName, header.requestApiVersion
    return [
        F.when(old.isNull(), partitions(api, request, response)).alias("partitions"),
        topics_asked(api, version, request).alias("topics_asked"),
        topics_told(api, response).alias("topics_told"),
    ]
