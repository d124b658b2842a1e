"""
The bodies of a request line, as `RequestConvertToJson` of Kafka 2.8 to 4.x writes them (KIP-673).

Only fields that we read are listed; msgspec skips the others.
"""
# ruff: noqa: ANN401 (types are made here)

from types import GenericAlias
from typing import Annotated, Any, get_args

from msgspec import NODEFAULT, Meta, Struct, defstruct, field

Int = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
INT, LONG, TEXT, FLAG = Int | None, Long | None, str | None, bool | None


class Body(Struct, gc=False, rename="camel"):
    """An object of Kafka's; by itself, a body of which nothing is read."""


def _struct(**fields: Any) -> Any:
    """
    Return a struct. A field that may be None may be missing; `[T]` is a list, `[T, None]` a list or None.

    Kafka's name of a field is the same in camel case, or comes first: `("fetchOffset", LONG)`.
    """
    made = []
    for name, kind in fields.items():
        kafka_name, of = kind if isinstance(kind, tuple) else (None, kind)
        if isinstance(of, list):
            of = GenericAlias(list, of[0]) | None if None in of else GenericAlias(list, of[0])
        is_optional = of is Any or type(None) in get_args(of)
        made.append((name, of, field(name=kafka_name, default=None if is_optional else NODEFAULT)))
    return defstruct("Body", made, bases=(Body,), gc=False, kw_only=True)


# `partitions.joined` reads the next three by the order of their fields. No JSON has a field `-`.
def _asked(partition: str, *, size: str = "-size", offset: str = "-offset", **more: Any) -> Any:
    return _struct(partition=(partition, Int), bytes=(size, LONG), offset=(offset, LONG), **more)


def _answered(
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
    """Return a topic by its id, in newer versions of an API, or by its name."""
    return _struct(topic_id=TEXT, name=(name, TEXT), partitions=(partitions, [partition]), **more)


def _answer(topics: str, topic: Any, **more: Any) -> Any:
    """Return an answer about topics."""
    return _struct(error_code=INT, topics=(topics, [topic]), **more)


Leader = _struct(leader_id=INT, leader_epoch=INT)  # the hint of KIP-951
OtherResponse = _struct(error_code=Any)  # another type of the error is no error of the line
TopicName = _struct(topic_id=TEXT, name=TEXT)

# Sessions since version 7 (KIP-227), `replicaState` since 15 (KIP-903).
FetchRequest = _struct(
    topics=[_topic(_asked("partition", offset="fetchOffset"), name="topic")],
    session_id=INT,
    session_epoch=INT,
    replica_id=INT,
    replica_state=_struct(replica_id=INT, replica_epoch=LONG) | None,
)
_fetched = _answered(
    "partitionIndex", "recordsSizeInBytes", leader="currentLeader", watermark="highWatermark"
)
_fetched_2_8 = _answered("partition", "recordSetSizeInBytes", leader="currentLeader")
FetchResponse = _answer("responses", _topic(_fetched, name="topic"), session_id=INT)
FetchResponse28 = _answer(
    "responses", _topic(_fetched_2_8, name="topic", partitions="partitionResponses"), session_id=INT
)

_produced = _answered("index", offset="baseOffset", leader="currentLeader")
ProduceRequest = _struct(
    topics=("topicData", [_topic(_asked("index", size="recordsSizeInBytes"), partitions="partitionData")])
)
ProduceResponse = _answer("responses", _topic(_produced, partitions="partitionResponses"), session_id=INT)
ElectLeadersResponse = _answer(
    "replicaElectionResults", _topic(_answered("partitionId"), name="topic", partitions="partitionResult")
)

# Null: all; version 0: empty.
MetadataRequest = defstruct(
    "Body", [("topics", GenericAlias(list, TopicName) | None)], bases=(Body,), gc=False
)
_replicas = _struct(replica_nodes=[int, None], isr_nodes=[int, None], offline_replicas=[int, None])
MetadataResponse = _answer(
    "topics",
    _topic(_replicas, error_code=INT, is_internal=FLAG),
    brokers=[_struct(host=TEXT, rack=TEXT), None],
    cluster_id=TEXT,
)
CreateTopicsResponse = _answer("topics", _struct(topic_id=TEXT, name=TEXT, error_code=INT, is_internal=FLAG))

# INCREMENTAL_ALTER_CONFIGS (KIP-339), or ALTER_CONFIGS, which has no operations.
_config = _struct(name=str, config_operation=INT, value=TEXT)
AlterConfigsRequest = _struct(
    resources=[_struct(resource_type=Int, configs=[_config], resource_name=TEXT)], validate_only=FLAG
)
AlterConfigsResponse = _struct(
    error_code=INT, responses=[_struct(error_code=INT, resource_type=Int, resource_name=TEXT)]
)

# What an ALTER_PARTITION_REASSIGNMENTS moves, or a LIST_ finds moving (KIP-455).
_moves = _topic(
    _asked("partitionIndex", replicas=[Int, None], adding_replicas=[Int, None], removing_replicas=[Int, None])
)
AlterReassignmentsRequest = _struct(topics=[_moves])
AlterReassignmentsResponse = _answer("responses", _topic(_answered("partitionIndex")), session_id=INT)
ListReassignmentsResponse = _answer("topics", _moves)

# KIP-497; Kafka 2.7 and 2.8 named it ALTER_ISR.
_in_sync = _struct(
    partition=("partitionIndex", Int),
    leader_epoch=INT,
    new_isr=[Int, None],
    new_isr_with_epochs=[_struct(broker_id=Int), None],
)
_answered_in_sync = _struct(
    error_code=INT, partition=("partitionIndex", Int), isr=[Int, None], partition_epoch=INT
)
AlterPartitionRequest = _struct(topics=[_topic(_in_sync, topic_name=TEXT)], broker_id=INT)
AlterPartitionResponse = _answer("topics", _topic(_answered_in_sync, topic_name=TEXT))
