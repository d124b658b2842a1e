"""
The rows of `silver.requests` and `silver.topics` that a request line gives.

The request decides what a FETCH is, never the client id, which is a user's text: a replica id
(`replicaState.replicaId` since v15, `replicaId` before) makes it a replica's; of those, one that fetches
`__cluster_metadata` is a KRaft node's ("raft"), since a raft fetch always names exactly that topic, and every
other one is a follower's, also with an empty list of topics (an incremental session without change). A FETCH
without a replica id is a consumer's. One whose request was not logged has no kind.
"""

from typing import NamedTuple

from transforms.parse.requests.partitions import Partition


class Request(NamedTuple):
    """A row of `silver.requests`."""

    cluster: str | None
    broker_id: int | None
    logged_at: int | None
    logged_mono_ns: int | None
    clock_resolution_ms: float
    logged_date: int | None
    started_at: int | None
    api: str
    api_version: int
    client_id: str | None
    correlation_id: int
    connection: str
    session_id: int | None
    session_epoch: int | None
    response_session_id: int | None
    listener: str | None
    kind: str | None
    follower_id: int | None
    replica_epoch: int | None
    software_name: str | None
    software_version: str | None
    principal: str | None
    is_forwarded: bool | None
    total_ms: float
    request_queue_ms: float
    local_ms: float
    remote_ms: float
    response_queue_ms: float
    send_ms: float
    throttle_ms: float | None
    error_code: int | None
    partitions: list[Partition] | None
    topics_asked: list[str | None] | None
    topics_answered: int | None
    response_bytes: int | None
    is_own_traffic: bool | None
    quality_flags: list[str]
    node: str | None
    source: str | None
    position: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    parser_version: int


class TopicName(NamedTuple):
    """A row of `silver.topics`."""

    cluster: str | None
    topic_id: str
    topic_name: str
    is_internal: bool | None
    seen_at: int | None
    position: str | None
    parser_version: int
