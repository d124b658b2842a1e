"""
The bodies of a request line, as `RequestConvertToJson` of Kafka 2.8 to 4.x writes them (KIP-673).

Only fields that we read are listed; msgspec skips the others. A field without a default is required. Where
`partitions.joined` reads a field, it has the same name in every API.
"""
# ruff: noqa: D101 (the names are Kafka's own)

from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct, field

Int = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Body(Struct, gc=False, rename="camel"):
    """An object of Kafka's; by itself, a body of which nothing is read."""


class Response(Body):
    error_code: Int | None = None


class OtherResponse(Body):
    """An answer of which only the error is read; another type of it is no error of the line."""

    error_code: Any = None


class Topic(Body):
    """A topic by its id, in newer versions of an API, or by its name."""

    topic_id: str | None = None
    name: str | None = None


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


class FetchTopic(Topic, kw_only=True):
    name: str | None = field(name="topic", default=None)
    partitions: list[FetchPartition]


class ReplicaState(Body):
    replica_id: Int | None = None
    replica_epoch: Long | None = None


class FetchRequest(Body):
    """Sessions since version 7 (KIP-227), `replicaState` since 15 (KIP-903)."""

    topics: list[FetchTopic]
    session_id: Int | None = None
    session_epoch: Int | None = None
    replica_id: Int | None = None
    replica_state: ReplicaState | None = None


class FetchedPartition(Answered, kw_only=True):
    partition: Int = field(name="partitionIndex")
    bytes: Long | None = field(name="recordsSizeInBytes", default=None)  # type: ignore[misc]
    leader: Leader | None = field(name="currentLeader", default=None)  # type: ignore[misc]
    high_watermark: Long | None = None  # type: ignore[misc]


class FetchedTopic(Topic, kw_only=True):
    name: str | None = field(name="topic", default=None)
    partitions: list[FetchedPartition]


class FetchResponse(Response, kw_only=True):
    topics: list[FetchedTopic] = field(name="responses")
    session_id: Int | None = None


class FetchedPartition28(Answered, kw_only=True):
    partition: Int
    bytes: Long | None = field(name="recordSetSizeInBytes", default=None)  # type: ignore[misc]
    leader: Leader | None = field(name="currentLeader", default=None)  # type: ignore[misc]


class FetchedTopic28(Topic, kw_only=True):
    name: str | None = field(name="topic", default=None)
    partitions: list[FetchedPartition28] = field(name="partitionResponses")


class FetchResponse28(Response, kw_only=True):
    """The answer to a FETCH as Kafka 2.8 named its fields."""

    topics: list[FetchedTopic28] = field(name="responses")
    session_id: Int | None = None


class ProducePartition(Asked):
    partition: Int = field(name="index")
    bytes: Long | None = field(name="recordsSizeInBytes", default=None)  # type: ignore[misc]


class ProduceTopic(Topic, kw_only=True):
    partitions: list[ProducePartition] = field(name="partitionData")


class ProduceRequest(Body):
    topics: list[ProduceTopic] = field(name="topicData")


class ProducedPartition(Answered, kw_only=True):
    partition: Int = field(name="index")
    offset: Long | None = field(name="baseOffset", default=None)  # type: ignore[misc]
    leader: Leader | None = field(name="currentLeader", default=None)  # type: ignore[misc]


class ProducedTopic(Topic, kw_only=True):
    partitions: list[ProducedPartition] = field(name="partitionResponses")


class ProduceResponse(Response, kw_only=True):
    topics: list[ProducedTopic] = field(name="responses")


class ElectedPartition(Answered, kw_only=True):
    partition: Int = field(name="partitionId")


class ElectedTopic(Topic, kw_only=True):
    name: str | None = field(name="topic", default=None)
    partitions: list[ElectedPartition] = field(name="partitionResult")


class ElectLeadersResponse(Response, kw_only=True):
    topics: list[ElectedTopic] = field(name="replicaElectionResults")


class MetadataRequest(Body):
    topics: list[Topic] | None  # null: all; version 0: empty


class Broker(Body):
    host: str | None = None
    rack: str | None = None


class MetadataPartition(Body):
    replica_nodes: list[int] | None = None
    isr_nodes: list[int] | None = None
    offline_replicas: list[int] | None = None


class CreatedTopic(Topic):
    error_code: Int | None = None
    is_internal: bool | None = None


class CreateTopicsResponse(Response, kw_only=True):
    topics: list[CreatedTopic]


class MetadataTopic(CreatedTopic, kw_only=True):
    partitions: list[MetadataPartition]


class MetadataResponse(Response, kw_only=True):
    topics: list[MetadataTopic]
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
    """A partition of an ALTER_PARTITION_REASSIGNMENTS, or that LIST_PARTITION_REASSIGNMENTS finds (KIP-455)."""

    partition: Int = field(name="partitionIndex")
    replicas: list[Int] | None = None
    adding_replicas: list[Int] | None = None
    removing_replicas: list[Int] | None = None


class MoveTopic(Topic, kw_only=True):
    partitions: list[Move]


class AlterReassignmentsRequest(Body):
    topics: list[MoveTopic]


class MovedPartition(Answered, kw_only=True):
    partition: Int = field(name="partitionIndex")


class MovedTopic(Topic, kw_only=True):
    partitions: list[MovedPartition]


class AlterReassignmentsResponse(Response, kw_only=True):
    topics: list[MovedTopic] = field(name="responses")


class ListReassignmentsResponse(Response, kw_only=True):
    topics: list[MoveTopic]


class InSyncTopic(Topic):
    topic_name: str | None = None


class BrokerState(Body):
    broker_id: Int


class AskedInSync(Body):
    partition: Int = field(name="partitionIndex")
    leader_epoch: Int | None = None
    new_isr: list[Int] | None = None
    new_isr_with_epochs: list[BrokerState] | None = None


class AskedInSyncTopic(InSyncTopic, kw_only=True):
    partitions: list[AskedInSync]


class AlterPartitionRequest(Body):
    """KIP-497; Kafka 2.7 and 2.8 named it ALTER_ISR."""

    topics: list[AskedInSyncTopic]
    broker_id: Int | None = None


class AnsweredInSync(Response, kw_only=True):
    partition: Int = field(name="partitionIndex")
    isr: list[Int] | None = None
    partition_epoch: Int | None = None


class AnsweredInSyncTopic(InSyncTopic, kw_only=True):
    partitions: list[AnsweredInSync]


class AlterPartitionResponse(Response, kw_only=True):
    topics: list[AnsweredInSyncTopic]
