"""
Rows about throttles and moves in request lines: config changes, reassignments, ISR changes.

See KIP-339, KIP-455 and KIP-497. Without a logged request there are no rows; without a logged response the
error is None.
"""
# ruff: noqa: ANN401 (structs and rows whose types are made at run time)

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from transforms.errors import NEW_LEADER_ELECTED, NO_ERROR
from transforms.parse.columns import ORIGIN, OriginColumns, row_type
from transforms.parse.requests.documents import RequestHeader
from transforms.parse.throttles import ThrottleChange, rate, replicas, wildcard
from transforms.throttle_configs import LISTS, RATES, RESOURCES, SETTINGS

REQUEST_LOG = "request_log"
"""The value of `throttle_changes.told_by`."""

THROTTLES = frozenset({*RATES, *LISTS})
OPERATIONS = {0: "set", 1: "delete", 2: "append", 3: "subtract"}
"""`AlterConfigOp.OpType`. ALTER_CONFIGS has no types: it replaces all configs of a resource."""


MOST_REFUSED = 10
"""The most refused entries of a request with a row; a client without rights can send any number."""

ACCEPTED = (None, NO_ERROR, NEW_LEADER_ELECTED)
"""The errors of entries that took effect; None without a logged response."""

LineColumns = tuple[str | None, int | None, int | None, int | None]
"""The columns of `schemas.silver.throttles.LINE`: the broker that logged a request, and the instant."""

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
    """An admin request with its bodies; a body that was not logged is None."""

    header: RequestHeader
    principal: str | None
    request: Any
    response: Any
    place: LineColumns
    origin: OriginColumns


def throttle_changes(call: Call) -> Iterator[Any]:
    """Yield the throttle configs that a request alters, each with the error of its resource."""
    if call.request is None:
        return
    is_dry = bool(call.request.validate_only)
    errors: dict[tuple[int, str | None], int | None] = {}
    for result in call.response.responses if call.response else ():
        errors.setdefault((result.resource_type, result.resource_name), result.error_code)
    replaces_all = call.header.request_api_key_name == "ALTER_CONFIGS"
    for resource in call.request.resources:
        kind = RESOURCES.get(resource.resource_type)
        if kind is None:
            continue
        error = errors.get((resource.resource_type, resource.resource_name))
        is_applied = False if is_dry else None if error is None else error == 0
        for config, operation, value in (_replaced if replaces_all else _altered)(resource, kind):
            number, pairs, is_wildcard = _read_value(config, value)
            setting = (config, operation, value, number, pairs, is_wildcard)
            result = (error, is_applied, REQUEST_LOG)
            name = resource.resource_name or None
            yield _new(ThrottleChange, (*call.place, kind, name, *setting, *result, *call.origin))


def _altered(resource: Any, _kind: str) -> Iterator[tuple[str, str | None, str | None]]:
    for config in resource.configs:
        if config.name in THROTTLES:
            operation = OPERATIONS.get(config.config_operation if config.config_operation is not None else -1)
            yield config.name, operation, config.value if operation not in (None, "delete") else None


def _replaced(resource: Any, kind: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the new throttle configs of a resource; those that the request does not name are deleted."""
    for config in resource.configs:
        if config.name in THROTTLES:
            yield config.name, "delete" if config.value is None else "set", config.value
    named = {config.name for config in resource.configs}
    for name in SETTINGS[kind]:
        if name not in named:
            yield name, "delete", None


def _read_value(
    config: str, value: str | None
) -> tuple[int | None, list[tuple[int, int]] | None, bool | None]:
    return (None, replicas(value), wildcard(value)) if config in LISTS else (rate(value), None, None)


def altered_reassignments(call: Call) -> Iterator[Any]:
    """Yield the requested reassignments; the response has its own order."""
    if call.request is None:
        return
    errors: dict[tuple[str | None, int], int | None] = {}
    for topic, result in _partitions(call.response):
        errors.setdefault((topic.name, result.partition), result.error_code)
    for topic, move in _partitions(call.request):
        error = _error(call.response, errors.get((topic.name, move.partition)))
        yield _reassignment(call, topic.name, move, error)


def listed_reassignments(call: Call) -> Iterator[Any]:
    """Yield the ongoing reassignments in the response."""
    for topic, move in _partitions(call.response):
        yield _reassignment(call, topic.name, move, call.response.error_code)


def _reassignment(call: Call, topic_name: str | None, move: Any, error: int | None) -> Any:
    header = call.header
    client = (header.request_api_key_name, header.client_id, header.correlation_id, call.principal)
    lists = (move.replicas, move.adding_replicas, move.removing_replicas)
    cells = (*call.place, *client, topic_name, move.partition, *lists, error, *call.origin)
    return _new(Reassignment, cells)


def isr_changes(call: Call) -> Iterator[Any]:
    """Yield the ISR that the controller answered; the requested ISR if it refused or was not logged."""
    if call.request is None:
        return
    results: dict[tuple[str | None, int], Any] = {}
    for topic, result in _partitions(call.response):
        results.setdefault((_topic_key(topic), result.partition), result)
    for topic, requested in _partitions(call.request):
        own = results.get((_topic_key(topic), requested.partition))
        error = _error(call.response, own.error_code if own else None)
        isr, epoch = requested.new_isr, None
        if isr is None and requested.new_isr_with_epochs is not None:
            isr = [one.broker_id for one in requested.new_isr_with_epochs]
        if own is not None and error == 0:
            isr, epoch = isr if own.isr is None else own.isr, own.partition_epoch
        name = topic.name if topic.topic_name is None else topic.topic_name
        in_sync = (epoch, None if isr is None else sorted(isr), error)
        leader = (call.request.broker_id, requested.leader_epoch)
        where = (topic.topic_id, name, requested.partition)
        yield _new(IsrChange, (*call.place, *where, *leader, *in_sync, *call.origin))


def _topic_key(topic: Any) -> str | None:
    return next((key for key in (topic.topic_id, topic.topic_name, topic.name) if key is not None), None)


def _partitions(body: Any) -> Iterator[tuple[Any, Any]]:
    for topic in body.topics if body is not None else ():
        for partition in topic.partitions:
            yield topic, partition


def _error(response: Any, partition_error: int | None) -> int | None:
    """Return the error of the whole response if it has one, else the partition's."""
    return (response.error_code if response else None) or partition_error


def with_few_refused(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of a request, of the refused ones at most `MOST_REFUSED`; they change nothing."""
    refused = 0
    for row in rows:
        refused += row.error_code not in ACCEPTED
        if refused <= MOST_REFUSED or row.error_code in ACCEPTED:
            yield row


TABLES: dict[str, tuple[str, Callable[[Call], Iterable[Any]]]] = {
    "INCREMENTAL_ALTER_CONFIGS": ("throttle_changes", throttle_changes),
    "ALTER_CONFIGS": ("throttle_changes", throttle_changes),
    "ALTER_PARTITION_REASSIGNMENTS": ("reassignments", altered_reassignments),
    "LIST_PARTITION_REASSIGNMENTS": ("reassignments", listed_reassignments),
    "ALTER_PARTITION": ("isr_changes", isr_changes),
    "ALTER_ISR": ("isr_changes", isr_changes),
}
"""The table of each API's rows, and the function that yields them."""
