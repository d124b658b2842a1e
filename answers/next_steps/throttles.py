"""What to do about a throttle that needs action, by its state and cause."""

from math import ceil

from answers.formats import mb
from answers.next_steps.steps import SERVERS, NextStep
from answers.throttles.verdict import (
    BURSTS,
    FIRST_BURST,
    IN_SYNC,
    INEFFECTIVE,
    LEFT_OVER,
    LIST_ONLY,
    MOVE_DONE,
    NO_RATE,
    OVER_LIMIT,
    STUCK,
    WINDOW_TOLERANCE,
    burst_share,
    is_left_over,
)
from schemas.rows import Row

LISTS = "leader.replication.throttled.replicas,follower.replication.throttled.replicas"
TOPICS_WITH_LISTS = (
    f"kafka-topics.sh {SERVERS} --describe --topics-with-overrides | grep 'replication.throttled.replicas'"
)
MOVE = f"kafka-reassign-partitions.sh {SERVERS} --reassignment-json-file MOVE.json"


def of_throttle(row: Row) -> list[NextStep]:
    """Return what to do about a throttle; empty if it needs no action."""
    if row["state"] == INEFFECTIVE:
        return _of_ineffective(row)
    if row["state"] == STUCK:
        return _of_stuck(row)
    if row["state"] == OVER_LIMIT:
        return [*_of_excess(row), *([_verify()] if is_left_over(row) and row["has_moved"] else [])]
    return _of_left_over(row) if row["state"] == LEFT_OVER else []


def _of_ineffective(row: Row) -> list[NextStep]:
    if row["cause"] == NO_RATE:
        text = f"Set a rate for broker {row['broker_id']}: lists of replicas without a rate limit nothing."
        return [NextStep(text, _alter(row, f"--add-config {_rate(row)}=BYTES_PER_S"))]
    return [
        NextStep(
            "Run the move again with its limit. That sets the lists; a rate without lists limits nothing.",
            f"{MOVE} --execute --additional --throttle {row['limit_bytes_per_s']}",
        ),
        NextStep("See which replicas the lists of the topics name.", TOPICS_WITH_LISTS),
    ]


def _of_stuck(row: Row) -> list[NextStep]:
    limit, inbound = row["limit_bytes_per_s"], row["inbound_bytes_per_s"] or 0.0
    enough = ceil(2 * max(limit, inbound))
    return [
        NextStep(
            f"Raise the limit from {mb(limit)} to at least {mb(enough)} MB/s. The moving partitions receive "
            f"{mb(inbound)} MB/s of new records, and only what is above that reduces their lag. Check first "
            "that the disks and the network have room.",
            _alter(row, f"--add-config {_rate(row)}={enough}"),
        ),
        NextStep(
            "See which partitions still move: the brokers that send and receive them need the same limit.",
            f"kafka-reassign-partitions.sh {SERVERS} --list",
        ),
    ]


def _of_excess(row: Row) -> list[NextStep]:
    if row["cause"] == IN_SYNC:
        text = (
            "The throttle works: replicas in sync count, and Kafka never delays them. To leave them out, let "
            "the lists name only the replicas that move."
        )
        return [NextStep(text, TOPICS_WITH_LISTS)]
    if row["cause"] == FIRST_BURST:
        return [NextStep("Nothing to do: the quota lets the bytes of its first 11 s pass.")]
    if row["cause"] == BURSTS:
        enough = ceil(row["limit_bytes_per_s"] * (burst_share(row) or 0.0) / WINDOW_TOLERANCE)
        text = (
            f"One round of responses is too large for this limit: raise it to at least {mb(enough)} MB/s, or "
            "lower replica.fetch.max.bytes of the followers, which needs a restart."
        )
        return [NextStep(text, _alter(row, f"--add-config {_rate(row)}={enough}"))]
    return [
        NextStep("See whether the limit was changed meanwhile.", _configs(row, "--describe")),
        NextStep("See whether the lists of replicas were changed meanwhile.", TOPICS_WITH_LISTS),
        NextStep("On each broker's host: see whether its clock is right.", "chronyc tracking"),
    ]


def _of_left_over(row: Row) -> list[NextStep]:
    lists = [
        NextStep("Find the topics that still have lists of throttled replicas.", TOPICS_WITH_LISTS),
        NextStep(
            "Remove the lists of each of these topics.",
            f"kafka-configs.sh {SERVERS} --entity-type topics --entity-name TOPIC --alter "
            f"--delete-config {LISTS}",
        ),
    ]
    if row["cause"] == LIST_ONLY:
        return lists
    remove = _alter(row, f"--delete-config {_rate(row)}")
    default = "If it is the default of all brokers, write --entity-default instead of the name."
    if row["cause"] == MOVE_DONE:
        text = f"Without that file: remove the rate of broker {row['broker_id']}. {default}"
        return [_verify(), NextStep(text, remove), *lists]
    text = (
        "A limit that is meant to stay is no fault, but it slows replicas that catch up after a restart. "
        f"Else remove it. {default}"
    )
    return [NextStep(text, remove)]


def _verify() -> NextStep:
    text = (
        "Remove what is left over: when no reassignment runs, this removes the rates of all brokers and the "
        "lists of the topics in the file."
    )
    return NextStep(text, f"{MOVE} --verify")


def _rate(row: Row) -> str:
    return f"{row['direction']}.replication.throttled.rate"


def _alter(row: Row, change: str) -> str:
    return _configs(row, f"--alter {change}")


def _configs(row: Row, action: str) -> str:
    return f"kafka-configs.sh {SERVERS} --entity-type brokers --entity-name {row['broker_id']} {action}"
