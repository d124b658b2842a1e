"""What happened in a cluster: leader moves, reassignments, throttles, restarts, request logs on and off."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

from answers import formats, listing
from answers.gold.relations import FIRST, LAST
from answers.gold.selection import IN_SPAN, WINDOW, WINDOW_END, GoldSelection
from answers.listing import Listing
from answers.throttles import moves
from answers.throttles.limits import OF_BROKER
from schemas.rows import Row

LEADER_MOVE, PARTITIONS_OFFLINE, REASSIGNMENT = "leader_move", "partitions_offline", "reassignment"
THROTTLE_SET, THROTTLE_REMOVED = "throttle_set", "throttle_removed"
BROKER_RESTART, LOG_ON, LOG_OFF, MORE = "broker_restart", "log_on", "log_off", "more"

MOST = 300
"""The maximum number of events. One more row counts the others."""

MOST_NAMED = 6
"""The maximum number of brokers that a sentence names."""

NEAR = timedelta(minutes=10)
"""
How much earlier and later than the span rows are read.

It also is the maximum time from the start of a process until its broker has loaded its replicas.
"""

SILENT = timedelta(minutes=1)
"""The minimum pause of a request log. A live follower fetches every 500 ms (`replica.fetch.wait.max.ms`)."""

_LOGGED = "cluster = $cluster AND logged_at >= $since AND logged_at < $until"
# The leader and the followers log a change. A follower that missed earlier changes names an older leader.
_BY_LEADER = "(role IS DISTINCT FROM 'leader', logged_at)"
LEADER_MOVES = f"""
    WITH changes AS (
        SELECT topic_name, min(logged_at) AS moved_at,
            arg_min(previous_leader_id, {_BY_LEADER}) AS old_leader_id,
            arg_min(leader_id, {_BY_LEADER}) AS new_leader_id
        FROM silver.leadership_changes
        WHERE {_LOGGED} AND ($topic::VARCHAR IS NULL OR topic_name = $topic)
        GROUP BY topic_name, partition_index, leader_epoch
    )
    SELECT min(moved_at) AS at, old_leader_id, new_leader_id, count(*) AS partitions,
        min(topic_name) AS first_topic, max(topic_name) AS last_topic
    FROM changes WHERE old_leader_id <> new_leader_id
        AND ($broker::INTEGER IS NULL OR old_leader_id = $broker OR new_leader_id = $broker)
    GROUP BY old_leader_id, new_leader_id, time_bucket(INTERVAL 10 SECOND, moved_at)"""

# A process forgets the leader epochs of its replicas; a replica that is new to a broker has no records.
LOADED_REPLICAS = f"""
    SELECT broker_id, logged_at AS at FROM (
        SELECT broker_id, logged_at, epoch_us(logged_at)
            - lag(epoch_us(logged_at)) OVER (PARTITION BY broker_id ORDER BY logged_at) AS pause_us
        FROM silver.leadership_changes
        WHERE {_LOGGED} AND previous_leader_epoch = -1 AND first_offset > 0 AND {OF_BROKER}
    ) WHERE coalesce(pause_us > {SILENT // timedelta(microseconds=1)}, true)"""

# Without the start of its process, a restart has the instant of the scrape before it.
RESET_COUNTERS = f"""
    SELECT DISTINCT broker_id, from_at AS at FROM gold.leader_local_mean
    WHERE {IN_SPAN} AND is_reset AND n IS NOT NULL AND from_at IS NOT NULL AND broker_id IS NOT NULL
        AND {OF_BROKER}"""

THROTTLES = f"""
    SELECT broker_id, direction, limited_from AS at, max(limit_bytes_per_s) AS limit_bytes_per_s,
        CASE WHEN max(on_until) < max({WINDOW_END}) THEN max(on_until) END AS ended_at
    FROM gold.throttle_compliance
    WHERE {IN_SPAN} AND limited_from IS NOT NULL AND broker_id IS NOT NULL AND direction IS NOT NULL
        AND {OF_BROKER}
    GROUP BY broker_id, direction, limited_from"""

LOGGED_WINDOWS = f"""
    SELECT window_start, list(DISTINCT leader_id) AS leaders, max(nodes_reporting) AS nodes_reporting,
        coalesce(list(DISTINCT leader_id) FILTER (follower_id IS NOT NULL), []) AS followed
    FROM gold.fetch_latency WHERE {IN_SPAN} AND leader_id IS NOT NULL
    GROUP BY window_start HAVING bool_and(is_settled) ORDER BY window_start"""


def events(selection: GoldSelection) -> list[Row]:
    """
    Return the events that begin in the span, and the reassignments that are under way in it, in order.

    A row has `at`, `ended_at` (NULL: no end, or not known), `kind`, `broker_id` (NULL: several brokers; of a
    leader move, the old leader), `topic` (NULL: several, or not known), `count` (partitions, else brokers)
    and `what`, a sentence. Equal events within 10 s are one row. Of more than `MOST` events, frequent and
    small ones are left out, and a last row of kind `more` counts them.
    """
    span = selection.by_minute
    wide = replace(
        span, since=max(span.since, FIRST + NEAR) - NEAR, until=min(span.until, LAST - NEAR) + NEAR
    )
    found = [*_leader_moves(wide), *_restarts(wide), *_throttles(wide), *_request_logs(wide)]
    begun = [event for event in found if selection.since <= event["at"] < selection.until]
    return _capped([*begun, *_reassignments(selection)])


def _leader_moves(selection: GoldSelection) -> list[Row]:
    rows = selection.rows(LEADER_MOVES)
    return [_leader_move(group) for group in _together(rows, "old_leader_id", "new_leader_id")]


def _leader_move(rows: Sequence[Row]) -> Row:
    old, new = rows[0]["old_leader_id"], rows[0]["new_leader_id"]
    n = sum(row["partitions"] for row in rows)
    topics = {row[name] for row in rows for name in ("first_topic", "last_topic")}
    topic = topics.pop() if len(topics) == 1 else None
    who = f"{_partitions(n)} of {topic}" if topic else _partitions(n)
    leader = "its leader" if n == 1 else "their leader"
    known = {"at": rows[0]["at"], "broker_id": old, "topic": topic, "count": n}
    if new < 0:  # LeaderAndIsr.NO_LEADER
        return _event(PARTITIONS_OFFLINE, f"{who} lost {leader}, broker {old}, and became offline", **known)
    return _event(LEADER_MOVE, f"{who} moved {leader} from broker {old} to broker {new}", **known)


def _reassignments(selection: GoldSelection) -> list[Row]:
    return [
        _event(
            REASSIGNMENT,
            f"Reassignment of {_partitions(row['partitions'])}: {formats.words(row['state'])}",
            at=row["moved_at"],
            ended_at=row["ended_at"],
            count=row["partitions"],
        )
        for row in moves.states(selection)
        if row["moved_at"] < selection.until
    ]


def _restarts(selection: GoldSelection) -> list[Row]:
    """Return the restarts that metrics show, and those that only the state-change log shows."""
    scraped = [group[0] for group in _together(selection.rows(RESET_COUNTERS), "broker_id")]
    logged = [
        row
        for row in selection.rows(LOADED_REPLICAS)
        if not any(
            row["broker_id"] == start["broker_id"] and start["at"] <= row["at"] < start["at"] + NEAR
            for start in scraped
        )
    ]
    return [
        _event(BROKER_RESTART, f"Broker {row['broker_id']} started", at=row["at"], broker_id=row["broker_id"])
        for row in (*scraped, *logged)
    ]


def _throttles(selection: GoldSelection) -> list[Row]:
    rows = selection.rows(THROTTLES)
    starts = {(row["broker_id"], row["direction"], row["at"]) for row in rows}
    removed = [
        row | {"at": row["ended_at"], "ended_at": None}
        for row in rows
        if row["ended_at"] is not None
        and (row["broker_id"], row["direction"], row["ended_at"]) not in starts  # another rate replaces it
    ]
    return [
        *(_throttle(THROTTLE_SET, "set on", group) for group in _together(rows, "limit_bytes_per_s")),
        *(
            _throttle(THROTTLE_REMOVED, "removed from", group)
            for group in _together(removed, "limit_bytes_per_s")
        ),
    ]


def _throttle(kind: str, verb: str, rows: Sequence[Row]) -> Row:
    directions = " and ".join(sorted({row["direction"] for row in rows}, reverse=True))
    rate = f"Throttle of {formats.mb(rows[0]['limit_bytes_per_s'])} MB/s ({directions})"
    return _of_brokers(kind, f"{rate} {verb} {{brokers}}", rows)


def _request_logs(selection: GoldSelection) -> list[Row]:
    windows = selection.rows(LOGGED_WINDOWS)
    brokers = sorted({broker for window in windows for broker in window["followed"]})
    changes = [
        change
        for broker in brokers
        if selection.broker in {None, broker}
        for change in _log_changes(broker, windows)
    ]
    sentences = {
        LOG_ON: "The request log of {brokers} begins",
        LOG_OFF: "The request log of {brokers} ends: switched off, or not running",
    }
    groups = _together(changes, "kind")
    return [_of_brokers(group[0]["kind"], sentences[group[0]["kind"]], group) for group in groups]


def _log_changes(broker: int, windows: Sequence[Row]) -> list[Row]:
    """
    Return the instants at which a broker's request log begins and ends.

    Without any window, no log of the cluster has fetches. A window in which more brokers logged than served
    fetches does not show whether this broker logged.
    """
    ends: Row = {"followed": [], "window_start": windows[-1]["window_start"] + WINDOW}
    starts: Row = {"followed": [], "window_start": windows[0]["window_start"] - WINDOW}
    seen = [
        window
        for window in windows
        if broker in window["leaders"] or window["nodes_reporting"] != len(window["leaders"])
    ]
    found: list[Row] = []
    for last, following in pairwise((starts, *seen, ends)):
        off_at, on_at = last["window_start"] + WINDOW, following["window_start"]
        is_on_again = broker in following["followed"]
        if on_at - off_at < SILENT:
            continue
        if broker in last["followed"]:
            until = on_at if is_on_again else None
            found.append({"kind": LOG_OFF, "at": off_at, "ended_at": until, "broker_id": broker})
        if is_on_again:
            found.append({"kind": LOG_ON, "at": on_at, "ended_at": None, "broker_id": broker})
    return found


def _together(rows: Iterable[Row], *key: str) -> list[list[Row]]:
    """Return the rows in groups with the same key that begin within 10 s, each in order."""
    groups: list[list[Row]] = []
    newest: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["at"]):
        value = tuple(row[name] for name in key)
        group = newest.get(value)
        if group is None or row["at"] - group[0]["at"] >= WINDOW:
            group = newest[value] = []
            groups.append(group)
        group.append(row)
    return groups


def _of_brokers(kind: str, sentence: str, rows: Sequence[Row]) -> Row:
    """Return one event of several brokers, which ends with the last of them."""
    brokers = sorted({row["broker_id"] for row in rows})
    ends = [row["ended_at"] for row in rows]
    return _event(
        kind,
        sentence.format(brokers=_brokers(brokers)),
        at=rows[0]["at"],
        ended_at=None if None in ends else max(ends),
        broker_id=brokers[0] if len(brokers) == 1 else None,
        count=len(brokers),
    )


def _event(kind: str, what: str, **known: Any) -> Row:  # noqa: ANN401 (values of columns)
    nothing: Row = {"at": None, "ended_at": None, "kind": kind, "broker_id": None, "topic": None, "count": 1}
    return nothing | known | {"what": what}


def _capped(found: Sequence[Row]) -> list[Row]:
    often = Counter(event["kind"] for event in found)
    ranked = sorted(found, key=lambda event: (often[event["kind"]], -(event["count"] or 0)))
    events, others = ranked[:MOST], ranked[MOST:]
    events.sort(key=lambda event: (event["at"], event["kind"]))
    if not others:
        return events
    kinds = Counter(event["kind"] for event in others)
    names = ", ".join(f"{formats.words(kind)} ({formats.count(n)})" for kind, n in kinds.most_common())
    instants = [event["at"] for event in others]
    what = f"and {formats.count(len(others))} more events: {names}"
    return [*events, _event(MORE, what, at=min(instants), ended_at=max(instants), count=len(others))]


def _partitions(n: int | None) -> str:
    return f"{formats.count(n)} partition{'' if n == 1 else 's'}"


def _brokers(brokers: Sequence[int]) -> str:
    if len(brokers) == 1:
        return formats.broker(brokers[0])
    if len(brokers) > MOST_NAMED:
        return f"{len(brokers)} brokers"
    return f"brokers {', '.join(map(str, brokers[:-1]))} and {brokers[-1]}"


EVENTS = Listing(
    name="cluster-events",
    is_folded=True,
    title="Events",
    lead="What changed in the cluster in this span; equal events within 10 s are one.",
    columns=(
        listing.instant("at, UTC", "at"),
        listing.instant("until, UTC", "ended_at"),
        listing.text("event", "what", style="path"),
        listing.broker("broker", "broker_id"),
    ),
)
