"""
Completed requests as Kafka 2.7 and older wrote them: text, not JSON.

`RequestChannel.updateRequestMetrics` put together the header, ` -- `, the request's own text, `,response:`,
` from connection `, and then times and names as `key:value`. Header, times, and the fetch session and
replica id are read; the other bodies are not.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

START = "Completed request:RequestHeader("
HEAD_CHARS = 4_096  # a client id can be long; the session stands early in the request's text
TAIL_CHARS = 4_096  # a principal can be long
SEPARATOR = "\x01"

# api, version, client id, correlation id
HEADER = (
    r"^RequestHeader\(apiKey=([A-Z0-9_]+), apiVersion=(\d+), clientId=(.*?), correlationId=(-?\d+)"
    r"(?:, headerVersion=-?\d+)?\) -- "
)
NUMBER = r"([-+.\dEe]+)"
# connection, the seven TIMES, principal, listener, software name and version
FOOTER = (
    rf"^(\S+);totalTime:{NUMBER},requestQueueTime:{NUMBER},localTime:{NUMBER},remoteTime:{NUMBER},"
    rf"(?:throttleTime:{NUMBER},)?responseQueueTime:{NUMBER},sendTime:{NUMBER},"
    r"securityProtocol:\w+,principal:(.*?)(?:,listener:([^,]+))?"
    r"(?:,clientInformation:ClientInformation\(softwareName=(.*?), softwareVersion=(.*?)\))?"
    r"(?:,forwarded:(?:true|false))?(?:,temporaryMemoryBytes:\d+)?(?:,messageConversionsTime:[-+.\dEe]+)?$"
)
TIMES = (
    "totalTimeMs",
    "requestQueueTimeMs",
    "localTimeMs",
    "remoteTimeMs",
    "throttleTimeMs",
    "responseQueueTimeMs",
    "sendTimeMs",
)


def with_text(frame: DataFrame) -> DataFrame:
    """
    Add `old`, the same document that the JSON form gives (see `request_document.DOCUMENT`), or NULL.

    Header and footer are columns on the way: as parts of `old` they would be searched, and compiled, anew for
    each of its fields.
    """
    message = F.col("message")
    told = F.substring(message, len("Completed request:") + 1, HEAD_CHARS)
    # The last one: a client id may hold the same words, what stands behind the bodies cannot.
    footer = F.substring(F.substring_index(message, " from connection ", -1), 1, TAIL_CHARS)
    is_text = message.startswith(START)
    matched = frame.select(
        "*",
        F.when(is_text, told).alias("told"),
        F.when(is_text, F.regexp_extract(told, HEADER, 0)).alias("header"),
        F.when(is_text, F.regexp_extract(footer, FOOTER, 0)).alias("footer"),
    )
    parted = matched.select(
        "*",
        _groups(F.col("header"), HEADER, 4).alias("of_header"),
        _groups(F.col("footer"), FOOTER, len(TIMES) + 5).alias("of_footer"),
        F.substr("told", F.length("header") + 1).alias("asked"),
    ).drop("told", "header", "footer")
    of_header, of_footer, asked = (F.col(name) for name in ("of_header", "of_footer", "asked"))
    is_read = of_header.isNotNull() & (F.size(of_footer) == len(TIMES) + 5)
    old = F.when(is_read, _document(of_header, of_footer, asked))
    return parted.select("*", old.alias("old")).drop("of_header", "of_footer", "asked")


def _groups(matched: Column, pattern: str, count: int) -> Column:
    groups = SEPARATOR.join(f"${n}" for n in range(1, count + 1))
    return F.when(matched != "", F.split(F.regexp_replace(matched, pattern, groups), SEPARATOR))


def _document(header: Column, footer: Column, asked: Column) -> Column:
    is_null = header[2] == "null"
    return F.struct(
        F.lit(None).cast("boolean").alias("isForwarded"),
        F.struct(
            header[0].alias("requestApiKeyName"),
            header[1].try_cast("int").alias("requestApiVersion"),
            header[3].try_cast("int").alias("correlationId"),
            F.when(~is_null, header[2]).alias("clientId"),
        ).alias("requestHeader"),
        footer[0].alias("connection"),
        *(footer[n + 1].try_cast("double").alias(name) for n, name in enumerate(TIMES)),
        _or_null(footer[8]).alias("principal"),
        _or_null(footer[9]).alias("listener"),
        F.struct(
            _or_null(footer[10]).alias("softwareName"), _or_null(footer[11]).alias("softwareVersion")
        ).alias("clientInformation"),
        _session(header[0] == "FETCH", asked).alias("session"),
    )


def _session(is_fetch: Column, asked: Column) -> Column:
    def number(name: str) -> Column:
        return F.when(is_fetch, F.regexp_extract(asked, rf"{name}=(-?\d+)", 1)).try_cast("int")

    return F.struct(
        number("replica_?[iI]d").alias("replicaId"),
        number("session_?[iI]d").alias("sessionId"),
        number("session_?[eE]poch").alias("sessionEpoch"),
    )


def _or_null(text: Column) -> Column:
    return F.when(text != "", text)
