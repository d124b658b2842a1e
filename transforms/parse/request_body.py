"""
What the bodies of a request line hold that we read: sessions, partitions, topics.

One narrow schema serves all APIs (RequestConvertToJson of Kafka 2.8 to 4.x, KIP-673): the JSON is read
once and fields that are not named here are passed over. Kafka leaves out what an API version lacks.
"""

from collections.abc import Callable
from functools import partial

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from schemas.silver import REQUEST_PARTITION
from transforms.parse import metadata_size
from transforms.parse.outcome import let
from transforms.parse.request_pairs import brought_together, merged, topic_of

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # Uuid.ZERO_UUID
METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"  # Uuid.METADATA_TOPIC_ID
METADATA_TOPIC = "__cluster_metadata"

MOVES_LEADERS = ("ELECT_LEADERS", "ALTER_PARTITION_REASSIGNMENTS")
HAVE_PARTITIONS = ("FETCH", "PRODUCE", *MOVES_LEADERS)

Element = Callable[[Column, Column], Column]
"""What a topic and one of its partitions tell, as an element of `partitions`."""

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
    {metadata_size.BROKERS}, clusterId STRING,
    topics ARRAY<STRUCT<name STRING, topicId STRING, isInternal BOOLEAN, errorCode INT,
        {metadata_size.PARTITIONS}>>>""".replace("\n", " ")


def id_or_null(topic_id: Column) -> Column:
    """
    Read the zero id, which Kafka writes where an id is unknown, as NULL.

    >>> ids = spark.createDataFrame([(NO_ID,), ("lbkW2mcMTU2a3rA6VuNANA",), (None,)], "id string")
    >>> ids.select(id_or_null(F.col("id")).alias("id")).show(truncate=False)
    +----------------------+
    |id                    |
    +----------------------+
    |NULL                  |
    |lbkW2mcMTU2a3rA6VuNANA|
    |NULL                  |
    +----------------------+
    <BLANKLINE>
    """
    return F.when(topic_id != NO_ID, topic_id)


def partitions(
    api: Column, request: Column, response: Column, asked_one: Column, answered_one: Column
) -> Column:
    """
    Give one element for each partition of a FETCH or PRODUCE, answered or only asked for.

    Of an ELECT_LEADERS or ALTER_PARTITION_REASSIGNMENTS it is one for each partition whose leader it moves.

    Answers come in another order than they were asked, and incremental fetch sessions leave out what did
    not change on either side, so the two lists are joined by topic and partition. A body that was not
    logged gives nothing; NULL means that a body's lists could not be read. `asked_one` and `answered_one`
    are columns of `only_asked` and `only_answered`: where they are the same, no list is gone through.
    """
    nothing = F.array().cast(ArrayType(REQUEST_PARTITION))
    is_one = (topic_of(asked_one) == topic_of(answered_one)) & (asked_one.partition == answered_one.partition)
    one = F.array(merged(answered_one, asked_one))
    lists = F.when(api == "PRODUCE", _produced(request)).otherwise(_fetched(request))
    asked = F.when(request.isNull(), nothing).otherwise(lists)
    answered = F.when(response.isNull(), nothing).otherwise(_answered(response))
    is_idle = (F.size(asked) == 0) & (F.size(answered) == 0)
    both = F.struct(asked.alias("asked"), answered.alias("answered"))
    together = F.when(is_idle, nothing).otherwise(let(both, brought_together))
    listed = F.when(api == "ELECT_LEADERS", _elected(response)).otherwise(
        F.when(is_one, one).otherwise(together)
    )
    return F.when(api.isin(*HAVE_PARTITIONS), listed)


def only_asked(api: Column, request: Column) -> Column:
    """Give the partition of a body that asks for exactly one: nearly all do, and no lambda is needed."""
    fetched = _only(request.topics, "partitions", _fetch)
    produced = _only(request.topicData, "partitionData", _produce)
    return F.when(api == "PRODUCE", produced).otherwise(fetched)


def only_answered(response: Column) -> Column:
    """Give the partition of an answer that tells of exactly one."""
    topics = response.responses
    of_fetch, of_produce = (
        _only(topics, "partitions", _fetch_answer),
        _only(topics, "partitionResponses", _answer),
    )
    return F.when(F.get(topics, F.lit(0)).partitions.isNull(), of_produce).otherwise(of_fetch)


def _only(topics: Column, name: str, read: Element) -> Column:
    """Read the one partition of the one topic; NULL where there is another number of either."""
    topic = F.get(topics, F.lit(0))
    is_only = (F.size(topics) == 1) & (F.size(topic[name]) == 1)
    return F.when(is_only, read(topic, F.get(topic[name], F.lit(0))))


def _fetched(request: Column) -> Column:
    return _each(request.topics, lambda topic: F.transform(topic.partitions, partial(_fetch, topic)))


def _produced(request: Column) -> Column:
    return _each(request.topicData, lambda topic: F.transform(topic.partitionData, partial(_produce, topic)))


def _answered(response: Column) -> Column:
    return _each(
        response.responses,
        lambda topic: F.coalesce(
            F.transform(topic.partitions, partial(_fetch_answer, topic)),
            F.transform(topic.partitionResponses, partial(_answer, topic)),
        ),
    )


def _elected(response: Column) -> Column:
    """Read the answer alone: a request may leave its list out, which means every partition."""
    return _each(
        response.replicaElectionResults,
        lambda topic: F.transform(
            topic.partitionResult,
            lambda result: _element(topic, topic.topic, result.partitionId, error_code=result.errorCode),
        ),
    )


def _each(topics: Column, partitions_of: Callable[[Column], Column]) -> Column:
    return F.flatten(F.transform(topics, partitions_of))


def _fetch(topic: Column, asked: Column) -> Column:
    """Read what a FETCH asks for, or an ALTER_PARTITION_REASSIGNMENTS."""
    name, index = F.coalesce(topic.topic, topic["name"]), F.coalesce(asked.partition, asked.partitionIndex)
    return _element(topic, name, index, offset=asked.fetchOffset)


def _produce(topic: Column, asked: Column) -> Column:
    return _element(topic, topic["name"], asked["index"], bytes=asked.recordsSizeInBytes)


def _fetch_answer(topic: Column, answer: Column) -> Column:
    """Read an answer to a FETCH since 3.0."""
    until = F.when(answer.highWatermark >= 0, answer.highWatermark)
    return _told(topic, answer.partitionIndex, answer, bytes=answer.recordsSizeInBytes, high_watermark=until)


def _answer(topic: Column, answer: Column) -> Column:
    """Read an answer to a PRODUCE, and to a FETCH of 2.8."""
    index = F.coalesce(answer["index"], answer.partition)
    return _told(topic, index, answer, bytes=answer.recordSetSizeInBytes, offset=answer.baseOffset)


def _told(topic: Column, partition: Column, answer: Column, **fields: Column) -> Column:
    leader = answer.currentLeader
    return _element(
        topic,
        F.coalesce(topic.topic, topic["name"]),
        partition,
        error_code=answer.errorCode,
        hinted_leader_id=leader.leaderId,
        hinted_leader_epoch=leader.leaderEpoch,
        **fields,
    )


def _element(topic: Column, name: Column, partition: Column, **fields: Column) -> Column:
    known = {"topic_id": id_or_null(topic.topicId), "topic_name": name, "partition": partition, **fields}
    return F.struct(
        *(
            known.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in REQUEST_PARTITION
        )
    )


def topics_asked(api: Column, api_version: Column, request: Column) -> Column:
    """Give the topics a METADATA asks for, by name or else id; NULL for all (v0: an empty list)."""
    named = F.transform(request.topics, lambda topic: F.coalesce(topic["name"], id_or_null(topic.topicId)))
    is_all = (api_version == 0) & (F.size(request.topics) == 0)
    return F.when((api == "METADATA") & ~is_all, named)


def topics_told(api: Column, response: Column) -> Column:
    """Give the (id, name, is_internal) that a METADATA or CREATE_TOPICS answer tells; NULL without any."""
    told = F.filter(
        response.topics,
        lambda topic: (topic.errorCode == 0) & topic["name"].isNotNull() & (topic.topicId != NO_ID),
    )
    pairs = F.transform(
        told,
        lambda topic: F.struct(
            topic.topicId.alias("topic_id"),
            topic["name"].alias("topic_name"),
            topic.isInternal.alias("is_internal"),
        ),
    )
    return F.when(api.isin("METADATA", "CREATE_TOPICS") & (F.size(told) > 0), pairs)
