"""
msgspec structs of request and response bodies, as `RequestConvertToJson` of Kafka 2.8 to 4.x logs them.

See KIP-673. Only the fields that parsers read are listed; msgspec skips the others.
"""
# ruff: noqa: ANN401 (types are made at run time)

from types import GenericAlias
from typing import Annotated, Any, get_args

from msgspec import NODEFAULT, Meta, Struct, defstruct, field

Int = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
INT, LONG, TEXT, FLAG = Int | None, Long | None, str | None, bool | None


class Body(Struct, gc=False, rename="camel"):
    """The base of all structs; by itself, a body of which no field is read."""


def _struct(**fields: Any) -> Any:
    """
    Return a struct type. A field that may be None may be missing. `[T]` is a list, `[T, None]` may be None.

    Kafka's field name is the same name in camel case, or is given explicitly: `("fetchOffset", LONG)`.
    """
    made = []
    for name, kind in fields.items():
        kafka_name, type_ = kind if isinstance(kind, tuple) else (None, kind)
        if isinstance(type_, list):
            type_ = GenericAlias(list, type_[0]) | None if None in type_ else GenericAlias(list, type_[0])
        is_optional = type_ is Any or type(None) in get_args(type_)
        made.append((name, type_, field(name=kafka_name, default=None if is_optional else NODEFAULT)))
    return defstruct("Body", made, bases=(Body,), gc=False, kw_only=True)


# `partitions.joined` reads the next three structs by field order, so each has all fields. A default name such
# as `-size` is in no JSON, so the field is None.
def _requested(partition: str, *, size: str = "-size", offset: str = "-offset", **more: Any) -> Any:
    return _struct(partition=(partition, Int), bytes=(size, LONG), offset=(offset, LONG), **more)


def _result(
    partition: str,
    size: str = "-size",
    offset: str = "-offset",
    leader: str = "-leader",
    watermark: str = "-watermark",
) -> Any:
    return _struct(
        partition=(partition, Int),
        bytes=(size, LONG),
        error_code=INT,
        offset=(offset, LONG),
        leader=(leader, Leader | None),
        high_watermark=(watermark, LONG),
    )


def _topic(partition: Any, *, name: str = "name", partitions: str = "partitions", **more: Any) -> Any:
    """Return a topic struct; newer API versions have the topic's id, older ones its name."""
    return _struct(topic_id=TEXT, name=(name, TEXT), partitions=(partitions, [partition]), **more)


def _response(topics: str, topic: Any, **more: Any) -> Any:
    """Return a response struct with a list of topics."""
    return _struct(error_code=INT, topics=(topics, [topic]), **more)


Leader = _struct(leader_id=INT, leader_epoch=INT)  # KIP-951
OtherResponse = _struct(error_code=Any)  # A mistyped error code does not make the line bad.
TopicName = _struct(topic_id=TEXT, name=TEXT)

# Sessions since version 7 (KIP-227), `replicaState` since 15 (KIP-903).
FetchRequest = _struct(
    topics=[_topic(_requested("partition", offset="fetchOffset"), name="topic")],
    session_id=INT,
    session_epoch=INT,
    replica_id=INT,
    replica_state=_struct(replica_id=INT, replica_epoch=LONG) | None,
)
_fetched = _result("partitionIndex", "recordsSizeInBytes", leader="currentLeader", watermark="highWatermark")
_fetched_2_8 = _result("partition", "recordSetSizeInBytes", leader="currentLeader")
FetchResponse = _response("responses", _topic(_fetched, name="topic"), session_id=INT)
FetchResponse28 = _response(
    "responses", _topic(_fetched_2_8, name="topic", partitions="partitionResponses"), session_id=INT
)

_produced = _result("index", offset="baseOffset", leader="currentLeader")
ProduceRequest = _struct(
    topics=("topicData", [_topic(_requested("index", size="recordsSizeInBytes"), partitions="partitionData")])
)
ProduceResponse = _response("responses", _topic(_produced, partitions="partitionResponses"), session_id=INT)
ElectLeadersResponse = _response(
    "replicaElectionResults", _topic(_result("partitionId"), name="topic", partitions="partitionResult")
)

# Null means all topics; in version 0 an empty list does.
MetadataRequest = defstruct(
    "Body", [("topics", GenericAlias(list, TopicName) | None)], bases=(Body,), gc=False
)
_replicas = _struct(replica_nodes=[int, None], isr_nodes=[int, None], offline_replicas=[int, None])
MetadataResponse = _response(
    "topics",
    _topic(_replicas, error_code=INT, is_internal=FLAG),
    brokers=[_struct(node_id=INT, host=TEXT, rack=TEXT), None],
    cluster_id=TEXT,
)
CreateTopicsResponse = _response(
    "topics", _struct(topic_id=TEXT, name=TEXT, error_code=INT, is_internal=FLAG)
)

# INCREMENTAL_ALTER_CONFIGS (KIP-339), or ALTER_CONFIGS, which has no operations.
_config = _struct(name=str, config_operation=INT, value=TEXT)
AlterConfigsRequest = _struct(
    resources=[_struct(resource_type=Int, configs=[_config], resource_name=TEXT)], validate_only=FLAG
)
AlterConfigsResponse = _struct(
    error_code=INT, responses=[_struct(error_code=INT, resource_type=Int, resource_name=TEXT)]
)

# The moves of ALTER_PARTITION_REASSIGNMENTS and LIST_PARTITION_REASSIGNMENTS (KIP-455).
_moves = _topic(
    _requested(
        "partitionIndex", replicas=[Int, None], adding_replicas=[Int, None], removing_replicas=[Int, None]
    )
)
AlterReassignmentsRequest = _struct(topics=[_moves])
AlterReassignmentsResponse = _response("responses", _topic(_result("partitionIndex")), session_id=INT)
ListReassignmentsResponse = _response("topics", _moves)

# KIP-497; Kafka 2.7 and 2.8 named it ALTER_ISR.
_in_sync = _struct(
    partition=("partitionIndex", Int),
    leader_epoch=INT,
    new_isr=[Int, None],
    new_isr_with_epochs=[_struct(broker_id=Int), None],
)
_in_sync_result = _struct(
    error_code=INT, partition=("partitionIndex", Int), isr=[Int, None], partition_epoch=INT
)
AlterPartitionRequest = _struct(topics=[_topic(_in_sync, topic_name=TEXT)], broker_id=INT)
AlterPartitionResponse = _response("topics", _topic(_in_sync_result, topic_name=TEXT))
