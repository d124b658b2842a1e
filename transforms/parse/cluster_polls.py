"""
Parse one poll of a cluster's throttle settings and racks: a JSON document of `collectors.cluster_poll`.

A document names every broker, but only the topics that have lists. For each list, one row without a topic
name means that all other topics have none. `topics` is null if the poll did not request topics. Polls of
earlier collectors have no `racks`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import msgspec

from transforms.parse.brokers import broker_rows
from transforms.parse.columns import LONG, ORIGIN, integer, origin, row_type
from transforms.parse.documents import Misread, decode, whole_text
from transforms.parse.record import DAY_US, NO_CLUSTER, Kept, Outcome, Quarantined, Record, sample
from transforms.parse.throttles import ThrottleChange, rate, replicas, wildcard
from transforms.throttle_configs import LISTS, RATES

PolledConfigs = Mapping[str, Mapping[str, str | None] | None]
"""The values of the dynamic configs, by broker or topic and by config name."""

Setting = tuple[str, str | None, str, str, str | None, int | None, list[tuple[int, int]] | None, bool | None]
"""The columns of `throttle_changes` from `resource` to `is_wildcard`."""


class PollDocument(msgspec.Struct, gc=False):
    """The JSON document of a poll."""

    polled_at_ns: Annotated[int, msgspec.Meta(ge=-LONG - 1, le=LONG)]
    brokers: dict[str, dict[str, str | None] | None]
    topics: dict[str, dict[str, str | None] | None] | None = None
    racks: dict[str, str | None] | None = None


ClusterPoll = row_type("ClusterPoll", "cluster logged_at logged_date brokers topics", ORIGIN)


DECODER = msgspec.json.Decoder(PollDocument)


def parse(record: Record) -> Outcome:
    """Parse one poll into a row of `cluster_polls` and its rows of `throttle_changes` and `brokers`."""
    text = whole_text(record)
    if isinstance(text, Quarantined):
        return text
    if record.cluster is None:
        return NO_CLUSTER
    document = decode(text, DECODER)
    if isinstance(document, Misread):
        if document.field in {"", "polled_at_ns"}:
            return Quarantined("bad_json", sample(text))
        return Quarantined("missing_field", document.field)
    # Earlier versions used a double, which may round up to the next microsecond; results must not change.
    logged_at = int(float(document.polled_at_ns) / 1_000)
    topics = None if document.topics is None else len(document.topics)
    end = origin(record)
    poll = (record.cluster, logged_at, logged_at // DAY_US, len(document.brokers), topics, *end)
    begin, result = (record.cluster, None, logged_at, logged_at // DAY_US), (None, True, "poll")
    changes = [ThrottleChange._make((*begin, *setting, *result, *end)) for setting in _settings(document)]
    racks = [(_broker_id(name), rack) for name, rack in (document.racks or {}).items()]
    brokers = broker_rows(record.cluster, logged_at, record.position, "poll", racks)
    return Kept({"cluster_polls": [ClusterPoll(*poll)], "throttle_changes": changes, "brokers": brokers})


def _settings(document: PollDocument) -> Iterator[Setting]:
    """Yield all rates of each broker, set or not, a deletion of each list, and the lists of topics."""
    for name, config, value in _values(document.brokers, RATES):
        yield "broker", name, config, "delete" if value is None else "set", value, rate(value), None, None
    if document.topics is None:
        return
    for config in LISTS:
        yield "topic", None, config, "delete", None, None, None, None
    for name, config, value in _values(document.topics, LISTS):
        if value is not None:
            yield "topic", name, config, "set", value, None, replicas(value), wildcard(value)


def _broker_id(name: str) -> int | None:
    return integer(name) if name.isascii() and name.isdigit() else None


def _values(settings: PolledConfigs, configs: Iterable[str]) -> Iterator[tuple[str, str, str | None]]:
    for name, values in settings.items():
        for config in configs:
            yield name, config, values.get(config) if values else None
