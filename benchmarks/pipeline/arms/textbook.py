"""
A textbook pipeline, as a competent user would write it: three chained queries with `from_json`.

The queries write raw lines from Kafka to a Delta table, parsed requests to a second one, and windows with
`percentile_approx` to a third. Each is a plain Structured Streaming query with a Delta sink, as in the
guides of Spark and Delta. The table of requests has the content of `silver.requests`, with the bodies nested
as Kafka writes them, so both can be compared.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

_IDS = ", ".join(f"{name} ARRAY<INT>" for name in ("replicaNodes", "isrNodes", "offlineReplicas"))
_LEADER = "currentLeader STRUCT<leaderId INT, leaderEpoch INT>"

REQUEST = """STRUCT<
    replicaId INT, replicaState STRUCT<replicaId INT, replicaEpoch BIGINT>, sessionId INT, sessionEpoch INT,
    topics ARRAY<STRUCT<topic STRING, name STRING, topicId STRING,
        partitions ARRAY<STRUCT<partition INT, partitionIndex INT, fetchOffset BIGINT>>>>,
    topicData ARRAY<STRUCT<name STRING, topicId STRING,
        partitionData ARRAY<STRUCT<index INT, recordsSizeInBytes BIGINT>>>>>""".replace("\n", " ")

RESPONSE = f"""STRUCT<
    errorCode INT, sessionId INT,
    responses ARRAY<STRUCT<topic STRING, name STRING, topicId STRING,
        partitions ARRAY<STRUCT<partitionIndex INT, errorCode INT, highWatermark BIGINT, {_LEADER},
            recordsSizeInBytes BIGINT>>,
        partitionResponses ARRAY<STRUCT<index INT, partition INT, errorCode INT, baseOffset BIGINT, {_LEADER},
            recordSetSizeInBytes BIGINT>>>>,
    replicaElectionResults ARRAY<STRUCT<topic STRING, topicId STRING,
        partitionResult ARRAY<STRUCT<partitionId INT, errorCode INT>>>>,
    brokers ARRAY<STRUCT<host STRING, rack STRING>>, clusterId STRING,
    topics ARRAY<STRUCT<name STRING, topicId STRING, isInternal BOOLEAN, errorCode INT,
        partitions ARRAY<STRUCT<{_IDS}>>>>>""".replace("\n", " ")
"""The Spark schema of a request line, with the fields of `silver.requests`; version 1 used it too."""

TIMES = (
    "totalTimeMs",
    "requestQueueTimeMs",
    "localTimeMs",
    "remoteTimeMs",
    "responseQueueTimeMs",
    "sendTimeMs",
    "throttleTimeMs",
)
DOCUMENT = f"""isForwarded BOOLEAN,
    requestHeader STRUCT<requestApiKeyName STRING, requestApiVersion INT, correlationId INT, clientId STRING>,
    request {REQUEST}, response {RESPONSE}, connection STRING,
    {", ".join(f"{name} DOUBLE" for name in TIMES)}, principal STRING, listener STRING,
    clientInformation STRUCT<softwareName STRING, softwareVersion STRING>""".replace("\n", " ")

WINDOW, LATE = "10 seconds", "20 seconds"
MARK = "Completed request:"


class Textbook:
    """One warehouse of the textbook pipeline."""

    def __init__(
        self, spark: SparkSession, root: Path, *, bootstrap_servers: str, topic: str, batch: int
    ) -> None:
        """Set the input topic and the output folder."""
        self._spark, self._root, self._batch = spark, root, batch
        self._kafka = {
            "kafka.bootstrap.servers": bootstrap_servers,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(batch),
        }

    def bronze(self) -> None:
        """Copy the records of Kafka to bronze."""
        records = (
            self._spark.readStream.format("kafka").options(**self._kafka).option("includeHeaders", "true")
        )
        lines = records.load().select(
            "value", "key", "headers", "topic", "partition", "offset", "timestamp", "timestampType"
        )
        self._run(lines, "bronze")

    def silver(self) -> None:
        """Parse raw lines."""
        self._run(parsed(self._spark.readStream.format("delta").load(str(self._root / "bronze"))), "silver")

    def bronze_and_silver(self) -> None:
        """Run bronze, then silver."""
        self.bronze()
        self.silver()

    def gold(self) -> None:
        """Aggregate requests in windows of 10 s."""
        requests = self._spark.readStream.format("delta").load(str(self._root / "silver"))
        self._run(windows(requests), "gold")

    def rows(self, table: str) -> DataFrame:
        """Return the rows of a table."""
        return self._spark.read.format("delta").load(str(self._root / table))

    def counts(self) -> tuple[int, int]:
        """Return the number of rows of bronze and of silver."""
        return self.rows("bronze").count(), self.rows("silver").count()

    def fetches(self) -> tuple[int, int]:
        """Return the number of follower fetches in gold, and of those in silver whose window is closed."""
        fetches = _of_followers(self.rows("silver"))
        newest = fetches.agg((F.max("logged_at") - F.expr(f"INTERVAL {LATE}")).alias("newest"))
        is_over = F.window("logged_at", WINDOW).end <= F.col("newest")
        held = self.rows("gold").agg(F.coalesce(F.sum("n"), F.lit(0))).collect()
        return int(held[0][0]), fetches.crossJoin(newest).where(is_over).count()

    def _run(self, frame: DataFrame, table: str) -> None:
        writer = frame.writeStream.format("delta").option("checkpointLocation", str(self._root / f"_{table}"))
        query = writer.trigger(availableNow=True).start(str(self._root / table))
        query.awaitTermination()


def parsed(lines: DataFrame) -> DataFrame:
    """Return parsed requests with `from_json`, with the columns of `silver.requests` that analyses use."""
    text = F.col("value").cast("string")
    document = F.regexp_extract(text, MARK + r"(\{.*\})", 1)
    node = F.filter("headers", lambda header: header.key == "node")[0].value.cast("string")
    read = lines.select(
        F.to_timestamp(F.substring_index(text, " ", 1)).alias("logged_at"),
        F.regexp_extract(node, r"(\d+)$", 1).cast("int").alias("broker_id"),
        F.from_json(document, DOCUMENT).alias("document"),
        "topic",
        "partition",
        "offset",
    )
    header, request, response = (
        F.col(f"document.{name}") for name in ("requestHeader", "request", "response")
    )
    replica_id = F.coalesce(request.replicaState.replicaId, request.replicaId)
    return read.where(F.col("document.totalTimeMs").isNotNull()).select(
        "logged_at",
        F.to_date("logged_at").alias("logged_date"),
        "broker_id",
        header.requestApiKeyName.alias("api"),
        header.requestApiVersion.alias("api_version"),
        header.clientId.alias("client_id"),
        header.correlationId.alias("correlation_id"),
        request.sessionId.alias("session_id"),
        request.sessionEpoch.alias("session_epoch"),
        F.when(replica_id >= 0, replica_id).alias("follower_id"),
        *(
            F.col(f"document.{name}")
            for name in ("connection", "isForwarded", "principal", "listener", *TIMES)
        ),
        F.col("document.clientInformation").alias("software"),
        response.errorCode.alias("error_code"),
        request.alias("request"),
        response.alias("response"),
        "topic",
        "partition",
        "offset",
    )


def windows(requests: DataFrame) -> DataFrame:
    """Return the percentiles of each follower's fetches on each leader, in windows of 10 s."""
    local_ms = F.col("totalTimeMs") - F.col("remoteTimeMs")
    return (
        _of_followers(requests)
        .withWatermark("logged_at", LATE)
        .groupBy(F.window("logged_at", WINDOW), "broker_id", "follower_id")
        .agg(F.count("*").alias("n"), F.percentile_approx(local_ms, [0.5, 0.99], 10_000).alias("local_ms"))
    )


def _of_followers(requests: DataFrame) -> DataFrame:
    return requests.where((F.col("api") == "FETCH") & F.col("follower_id").isNotNull())
