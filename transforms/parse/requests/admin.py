"""
What request lines say about throttles and moves: altered configurations, reassignments, in-sync sets.

KIP-339, KIP-455, KIP-497. A request that was not logged gives no rows, an answer that was not no error.
"""
# ruff: noqa: ANN401 (structs and rows whose types are made at run time)

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from transforms.parse.columns import ORIGIN, Origin, row_type
from transforms.parse.requests.documents import Header
from transforms.parse.throttles import (
    LISTS,
    RATES,
    RESOURCES,
    SETTINGS,
    ThrottleChange,
    rate,
    replicas,
    wildcard,
)

REQUEST_LOG = "request_log"
"""`throttle_changes.told_by`."""

THROTTLES = frozenset({*RATES, *LISTS})
OPERATIONS = {0: "set", 1: "delete", 2: "append", 3: "subtract"}
"""`AlterConfigOp.OpType`; an ALTER_CONFIGS sets what it names, and deletes all else that its resource has."""


Place = tuple[str | None, int | None, int | None, int | None]
"""The columns of `schemas.throttles.LINE`: where and when a request was logged."""

_new = tuple.__new__


PLACE = "cluster broker_id logged_at logged_date"
Reassignment = row_type(
    "Reassignment",
    PLACE,
    "api client_id correlation_id principal topic_name partition_index",
    "replicas adding_replicas removing_replicas error_code",
    ORIGIN,
)
IsrChange = row_type(
    "IsrChange",
    PLACE,
    "topic_id topic_name partition_index leader_id leader_epoch partition_epoch isr error_code",
    ORIGIN,
)


class Call(NamedTuple):
    """A request of an administrator, with its bodies; None for one that was not logged."""

    header: Header
    principal: str | None
    request: Any
    response: Any
    place: Place
    origin: Origin


def throttle_changes(call: Call) -> Iterator[Any]:
    """Yield the throttle settings of a request that alters configurations, each with its resource's error."""
    if call.request is None:
        return
    is_dry = bool(call.request.validate_only)
    errors: dict[tuple[int, str | None], int | None] = {}
    for answer in call.response.responses if call.response else ():
        errors.setdefault((answer.resource_type, answer.resource_name), answer.error_code)
    is_whole = call.header.request_api_key_name == "ALTER_CONFIGS"
    for resource in call.request.resources:
        word = RESOURCES.get(resource.resource_type)
        if word is None:
            continue
        error = errors.get((resource.resource_type, resource.resource_name))
        is_applied = False if is_dry else None if error is None else error == 0
        for config, operation, value in (_replaced if is_whole else _altered)(resource, word):
            number, pairs, every = _read_value(config, value)
            setting = (config, operation, value, number, pairs, every)
            answered = (error, is_applied, REQUEST_LOG)
            name = resource.resource_name or None
            yield _new(ThrottleChange, (*call.place, word, name, *setting, *answered, *call.origin))


def _altered(resource: Any, _word: str) -> Iterator[tuple[str, str | None, str | None]]:
    for config in resource.configs:
        if config.name in THROTTLES:
            operation = OPERATIONS.get(config.config_operation if config.config_operation is not None else -1)
            yield config.name, operation, config.value if operation not in (None, "delete") else None


def _replaced(resource: Any, word: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield what the resource has from now on: what the request does not name is deleted."""
    for config in resource.configs:
        if config.name in THROTTLES:
            yield config.name, "delete" if config.value is None else "set", config.value
    named = {config.name for config in resource.configs}
    for name in SETTINGS[word]:
        if name not in named:
            yield name, "delete", None


def _read_value(
    config: str, value: str | None
) -> tuple[int | None, list[tuple[int, int]] | None, bool | None]:
    return (None, replicas(value), wildcard(value)) if config in LISTS else (rate(value), None, None)


def altered_reassignments(call: Call) -> Iterator[Any]:
    """Yield what should move where; the answers come in an order of their own."""
    if call.request is None:
        return
    answers: dict[tuple[str | None, int], int | None] = {}
    for topic, answer in _partitions(call.response):
        answers.setdefault((topic.name, answer.partition), answer.error_code)
    for topic, asked in _partitions(call.request):
        error = _error(call.response, answers.get((topic.name, asked.partition)))
        yield _reassignment(call, topic.name, asked, error)


def listed_reassignments(call: Call) -> Iterator[Any]:
    """Yield the moves that were under way when somebody asked."""
    for topic, listed in _partitions(call.response):
        yield _reassignment(call, topic.name, listed, call.response.error_code)


def _reassignment(call: Call, topic_name: str | None, move: Any, error: int | None) -> Any:
    header = call.header
    client = (header.request_api_key_name, header.client_id, header.correlation_id, call.principal)
    lists = (move.replicas, move.adding_replicas, move.removing_replicas)
    cells = (*call.place, *client, topic_name, move.partition, *lists, error, *call.origin)
    return _new(Reassignment, cells)


def isr_changes(call: Call) -> Iterator[Any]:
    """Yield who is in sync: what the controller answered, else, where it refused, what was asked for."""
    if call.request is None:
        return
    answers: dict[tuple[str | None, int], Any] = {}
    for topic, answer in _partitions(call.response):
        answers.setdefault((_topic_key(topic), answer.partition), answer)
    for topic, asked in _partitions(call.request):
        own = answers.get((_topic_key(topic), asked.partition))
        error = _error(call.response, own.error_code if own else None)
        isr, epoch = asked.new_isr, None
        if isr is None and asked.new_isr_with_epochs is not None:
            isr = [one.broker_id for one in asked.new_isr_with_epochs]
        if own is not None and error == 0:
            isr, epoch = isr if own.isr is None else own.isr, own.partition_epoch
        name = topic.name if topic.topic_name is None else topic.topic_name
        in_sync = (epoch, None if isr is None else sorted(isr), error)
        leader = (call.request.broker_id, asked.leader_epoch)
        where = (topic.topic_id, name, asked.partition)
        yield _new(IsrChange, (*call.place, *where, *leader, *in_sync, *call.origin))


def _topic_key(topic: Any) -> str | None:
    return next((key for key in (topic.topic_id, topic.topic_name, topic.name) if key is not None), None)


def _partitions(body: Any) -> Iterator[tuple[Any, Any]]:
    for topic in body.topics if body is not None else ():
        for partition in topic.partitions:
            yield topic, partition


def _error(response: Any, of_partition: int | None) -> int | None:
    """Return the error of the whole answer where there is one, else the partition's own."""
    return (response.error_code if response else None) or of_partition


TABLES: dict[str, tuple[str, Callable[[Call], Iterable[Any]]]] = {
    "INCREMENTAL_ALTER_CONFIGS": ("throttle_changes", throttle_changes),
    "ALTER_CONFIGS": ("throttle_changes", throttle_changes),
    "ALTER_PARTITION_REASSIGNMENTS": ("reassignments", altered_reassignments),
    "LIST_PARTITION_REASSIGNMENTS": ("reassignments", listed_reassignments),
    "ALTER_PARTITION": ("isr_changes", isr_changes),
    "ALTER_ISR": ("isr_changes", isr_changes),
}
"""The table that an API has rows of, and the function that yields them."""
