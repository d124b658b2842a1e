"""
The bodies of a request line, as `RequestConvertToJson` of Kafka 2.8 to 4.x writes them (KIP-673).

Only fields that we read are listed; msgspec skips the others. A field without a default is required. Where
`partitions.joined` reads a field, it has the same name in every API.
"""
# ruff: noqa: D101 (the names are Kafka's own)

from typing import Annotated, Any, ClassVar, Generic, TypeVar

from msgspec import Meta, Struct, field

T = TypeVar("T")  # topics
P = TypeVar("P")  # partitions

Int = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Body(Struct, gc=False, rename="camel"):
    """An object of Kafka's; by itself, a body of which nothing is read."""


class Response(Body):
    error_code: Int | None = None


class OtherResponse(Body):
    """An answer of which only the error is read; another type of it is no error of the line."""

    error_code: Any = None


class Answer(Response, Generic[T], kw_only=True):
    """An answer about topics."""

    topics: list[T]


class Responses(Response, Generic[T], kw_only=True):
    """An answer about topics, under another name; of a FETCH with its session."""

    topics: list[T] = field(name="responses")
    session_id: Int | None = None


class TopicName(Body):
    """A topic by its id, in newer versions of an API, or by its name."""

    topic_id: str | None = None
    name: str | None = None


class Topic(TopicName, Generic[P], kw_only=True):
    partitions: list[P]


class FetchTopic(TopicName, Generic[P], kw_only=True):
    """A topic of a FETCH, or of its answer."""

    name: str | None = field(name="topic", default=None)
    partitions: list[P]


class Asked(Body):
    """A partition that is asked for: what the APIs do not share."""

    bytes: ClassVar[Any] = None
    offset: ClassVar[Any] = None


class Answered(Body):
    """A partition's answer."""

    error_code: Int | None = None
    bytes: ClassVar[Any] = None
    offset: ClassVar[Any] = None
    leader: ClassVar[Any] = None
    high_watermark: ClassVar[Any] = None


class Leader(Body):
    """The hint of KIP-951."""

    leader_id: Int | None = None
    leader_epoch: Int | None = None


class FetchPartition(Asked):
    partition: Int
    offset: Long | None = field(name="fetchOffset", default=None)  # type: ignore[misc]


class ReplicaState(Body):
    replica_id: Int | None = None
    replica_epoch: Long | None = None


class FetchRequest(Body):
    """Sessions since version 7 (KIP-227), `replicaState` since 15 (KIP-903)."""

    topics: list[FetchTopic[FetchPartition]]
    session_id: Int | None = None
    session_epoch: Int | None = None
    replica_id: Int | None = None
    replica_state: ReplicaState | None = None


class FetchedPartition(Answered, kw_only=True):
    partition: Int = field(name="partitionIndex")
    bytes: Long | None = field(name="recordsSizeInBytes", default=None)  # type: ignore[misc]
    leader: Leader | None = field(name="currentLeader", default=None)  # type: ignore[misc]
    high_watermark: Long | None = None  # type: ignore[misc]


class FetchedPartition28(Answered, kw_only=True):
    partition: Int
    bytes: Long | None = field(name="recordSetSizeInBytes", default=None)  # type: ignore[misc]
    leader: Leader | None = field(name="currentLeader", default=None)  # type: ignore[misc]


class FetchedTopic28(TopicName, kw_only=True):
    """A topic of the answer to a FETCH as Kafka 2.8 wrote it."""

    name: str | None = field(name="topic", default=None)
    partitions: list[FetchedPartition28] = field(name="partitionResponses")


class ProducePartition(Asked):
    partition: Int = field(name="index")
    bytes: Long | None = field(name="recordsSizeInBytes", default=None)  # type: ignore[misc]


class ProduceTopic(TopicName, kw_only=True):
    partitions: list[ProducePartition] = field(name="partitionData")


class ProduceRequest(Body):
    topics: list[ProduceTopic] = field(name="topicData")


class ProducedPartition(Answered, kw_only=True):
    partition: Int = field(name="index")
    offset: Long | None = field(name="baseOffset", default=None)  # type: ignore[misc]
    leader: Leader | None = field(name="currentLeader", default=None)  # type: ignore[misc]


class ProducedTopic(TopicName, kw_only=True):
    partitions: list[ProducedPartition] = field(name="partitionResponses")


class ElectedPartition(Answered, kw_only=True):
    partition: Int = field(name="partitionId")


class ElectedTopic(TopicName, kw_only=True):
    name: str | None = field(name="topic", default=None)
    partitions: list[ElectedPartition] = field(name="partitionResult")


class ElectLeadersResponse(Response, kw_only=True):
    topics: list[ElectedTopic] = field(name="replicaElectionResults")


class MetadataRequest(Body):
    topics: list[TopicName] | None  # null: all; version 0: empty


class Broker(Body):
    host: str | None = None
    rack: str | None = None


class MetadataPartition(Body):
    replica_nodes: list[int] | None = None
    isr_nodes: list[int] | None = None
    offline_replicas: list[int] | None = None


class CreatedTopic(TopicName):
    error_code: Int | None = None
    is_internal: bool | None = None


class MetadataTopic(CreatedTopic, kw_only=True):
    partitions: list[MetadataPartition]


class MetadataResponse(Answer[MetadataTopic], kw_only=True):
    brokers: list[Broker] | None = None
    cluster_id: str | None = None


class Config(Body):
    """A setting of INCREMENTAL_ALTER_CONFIGS (KIP-339), or of ALTER_CONFIGS, which has no operations."""

    name: str
    config_operation: Int | None = None
    value: str | None = None


class Resource(Body):
    resource_type: Int
    configs: list[Config]
    resource_name: str | None = None


class AlterConfigsRequest(Body):
    resources: list[Resource]
    validate_only: bool | None = None


class ResourceAnswer(Response, kw_only=True):
    resource_type: Int
    resource_name: str | None = None


class AlterConfigsResponse(Response, kw_only=True):
    responses: list[ResourceAnswer]


class Move(Asked):
    """A partition that an ALTER_PARTITION_REASSIGNMENTS moves, or a LIST_ finds moving (KIP-455)."""

    partition: Int = field(name="partitionIndex")
    replicas: list[Int] | None = None
    adding_replicas: list[Int] | None = None
    removing_replicas: list[Int] | None = None


class AlterReassignmentsRequest(Body):
    topics: list[Topic[Move]]


class MovedPartition(Answered, kw_only=True):
    partition: Int = field(name="partitionIndex")


class InSyncTopic(Topic[P], Generic[P], kw_only=True):
    topic_name: str | None = None


class BrokerState(Body):
    broker_id: Int


class AskedInSync(Body):
    partition: Int = field(name="partitionIndex")
    leader_epoch: Int | None = None
    new_isr: list[Int] | None = None
    new_isr_with_epochs: list[BrokerState] | None = None


class AlterPartitionRequest(Body):
    """KIP-497; Kafka 2.7 and 2.8 named it ALTER_ISR."""

    topics: list[InSyncTopic[AskedInSync]]
    broker_id: Int | None = None


class AnsweredInSync(Response, kw_only=True):
    partition: Int = field(name="partitionIndex")
    isr: list[Int] | None = None
    partition_epoch: Int | None = None
