"""The rate limits in force and the throttled replicas over time, from applied config changes (KIP-73)."""

from collections.abc import Iterable
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from transforms.sql import integer
from transforms.throttle_configs import LISTS, RATES, UNLIMITED

DIRECTION = "split_part(config, '.', 1)"
"""The direction that a config throttles."""

_OF_LIST = ("cluster", "topic", "direction")
_ORDER = ("logged_us", "position", "operation", "replicas", "is_wildcard")

LISTED = pa.schema(
    {
        **{name: pa.string() for name in _OF_LIST},
        **{name: pa.int32() for name in ("listed_partition", "listed_broker")},
        **{name: pa.int64() for name in ("listed_from_us", "listed_until_us")},
    }
)


def limits() -> str:
    """
    Return the query of each rate with its time in force.

    The time is `limited_from_us` to `limited_until_us` (NULL: still in force). The query reads all of
    `throttle_changes`, and `brokers`, those that a cluster-wide default applies to. A broker's own rate
    overrides the default. A rate that was set before the first observed change is unknown.
    """
    rate = f"CASE WHEN operation = 'set' AND rate_bytes_per_s < {UNLIMITED} THEN rate_bytes_per_s END"
    in_order = "PARTITION BY cluster, broker_id, direction ORDER BY limited_from_us, position"
    return f"""
        WITH rates AS (
            SELECT
                cluster, resource_name, {integer("resource_name")} AS broker_id, {DIRECTION} AS direction,
                position, epoch_us(logged_at) AS limited_from_us, {{'bytes_per_s': {rate}}} AS rate
            FROM throttle_changes WHERE resource = 'broker' AND config IN {RATES}
        ),
        changed AS (
            SELECT *, rate AS own, NULL AS of_all FROM rates WHERE resource_name IS NOT NULL
            UNION ALL BY NAME
            SELECT rates.* REPLACE (brokers.broker_id AS broker_id), NULL AS own, rate AS of_all
            FROM rates JOIN brokers USING (cluster) WHERE resource_name IS NULL
        ),
        followed AS (
            SELECT *, coalesce(
                struct_extract(last_value(own IGNORE NULLS) OVER so_far, 'bytes_per_s'),
                struct_extract(last_value(of_all IGNORE NULLS) OVER so_far, 'bytes_per_s')
            ) AS limit_bytes_per_s
            FROM changed WINDOW so_far AS ({in_order} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        ),
        news AS (
            SELECT * FROM followed
            WINDOW in_order AS ({in_order})
            QUALIFY limit_bytes_per_s IS DISTINCT FROM lag(limit_bytes_per_s) OVER in_order
        )
        SELECT cluster, broker_id, direction, limit_bytes_per_s, limited_from_us, limited_until_us
        FROM (
            SELECT *, lead(limited_from_us) OVER ({in_order}) AS limited_until_us FROM news
        ) WHERE limit_bytes_per_s IS NOT NULL
    """


def throttled(db: duckdb.DuckDBPyConnection) -> pa.Table:
    """
    Return each throttled replica with its time on a list, from all of `throttle_changes`.

    The time is `listed_from_us` to `listed_until_us` (NULL: still on it). A list that is `*` has one row,
    whose partition and broker are NULL and mean all.
    """
    query = f"{news()} ORDER BY {', '.join((*_OF_LIST, *_ORDER))}"
    changes = db.sql(query).to_arrow_table().to_pylist()
    rows = [
        (*key, *replica, state.since_us, following and following.since_us)
        for key, of_list in groupby(changes, itemgetter(*_OF_LIST))
        for state, following in _with_next(_states(of_list))
        for replica in ([(None, None)] if state.is_wildcard else state.replicas)
    ]
    return pa.Table.from_pylist([dict(zip(LISTED.names, row, strict=True)) for row in rows], schema=LISTED)


def news() -> str:
    """
    Return the query of the changes that can alter a list; a poll repeats the same lists for hours and days.

    Left out are changes that another one at the same instant replaces (a poll deletes all lists, then sets
    those that it found), and changes that set a list to the value of the change before. It reads
    `throttle_changes`.
    """
    value = "{'operation': operation, 'replicas': replicas, 'is_wildcard': is_wildcard}"
    in_order = f"PARTITION BY {', '.join(_OF_LIST)} ORDER BY {', '.join(_ORDER)}"
    # A poll's rows without a topic name mean that all topics it does not name have no list.
    return f"""
        WITH changes AS (
            SELECT
                cluster, resource_name AS topic, {DIRECTION} AS direction, epoch_us(logged_at) AS logged_us,
                position, operation, replicas, is_wildcard,
                coalesce(operation IN ('set', 'delete'), false) AS replaces
            FROM throttle_changes WHERE resource = 'topic' AND config IN {LISTS}
        ),
        by_topic AS (
            SELECT * FROM changes WHERE topic IS NOT NULL
            UNION ALL BY NAME
            SELECT changes.* REPLACE (known.topic AS topic)
            FROM changes JOIN (
                SELECT DISTINCT cluster, topic, direction FROM changes WHERE topic IS NOT NULL
            ) AS known USING (cluster, direction) WHERE changes.topic IS NULL
        ),
        lasting AS (
            SELECT * FROM by_topic
            WINDOW in_order AS ({in_order})
            QUALIFY NOT coalesce(
                lead(logged_us) OVER in_order = logged_us AND lead(replaces) OVER in_order, false
            )
        )
        SELECT * EXCLUDE (replaces) FROM lasting WINDOW in_order AS ({in_order})
        QUALIFY NOT (replaces AND {value} IS NOT DISTINCT FROM lag({value}) OVER in_order)
    """


def during(at: str, since: str, until: str) -> str:
    """Return the condition that `at` is in [since, until); a NULL `until` means no end yet."""
    return f"({at} >= {since} AND coalesce({at} < {until}, true))"


class _State(NamedTuple):
    """The state of a list from an instant on."""

    since_us: int
    replicas: list[tuple[int, int]]
    is_wildcard: bool


def _states(changes: Iterable[dict[str, Any]]) -> list[_State]:
    """Return the states of a list: one per change that altered it, the last one of an instant."""
    states: list[_State] = []
    for change in changes:
        state = _changed(states[-1] if states else None, change)
        if states and states[-1][1:] == state[1:]:
            continue
        if states and states[-1].since_us == state.since_us:
            states.pop()
        states.append(state)
    return states


def _changed(last: _State | None, change: dict[str, Any]) -> _State:
    operation, held = change["operation"], last.replicas if last else []
    named = [(replica["partition"], replica["broker_id"]) for replica in change["replicas"] or ()]
    replicas = {
        "append": list(dict.fromkeys([*held, *named])),
        "subtract": [replica for replica in dict.fromkeys(held) if replica not in named],
        "set": named,
    }.get(operation, [])
    is_still = operation in {"append", "subtract"} and last is not None and last.is_wildcard
    is_wildcard = operation in {"set", "append"} and bool(change["is_wildcard"])
    return _State(change["logged_us"], replicas, is_still or is_wildcard)


def _with_next(states: list[_State]) -> Iterable[tuple[_State, _State | None]]:
    return zip_longest(states, states[1:])
