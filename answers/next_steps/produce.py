"""What to check for a follower that holds produce back, by the largest part of the wait."""

from answers.next_steps.culprits import of_culprit
from answers.next_steps.steps import SERVERS, NextStep


def of_held(part: str, follower: int, leader: int) -> list[NextStep]:
    """Return what to check: the network, the follower, or the leader; and who is in the ISR."""
    shapes = {
        "network": {"culprit": "link", "follower_id": follower, "leader_id": leader},
        "serve": {"culprit": "broker", "broker_id": leader},
        "take": {"culprit": "broker", "broker_id": leader},
    }
    away = {"culprit": "broker", "broker_id": follower}
    throttled = NextStep(
        f"See whether a replication throttle delays broker {follower}.",
        f"kafka-configs.sh {SERVERS} --entity-type brokers --entity-name {follower} --describe",
    )
    in_sync = NextStep(
        f"See which partitions wait for broker {follower}. A follower that falls out of the ISR no longer "
        "holds produce back, but min.insync.replicas has one less to count on.",
        f"kafka-topics.sh {SERVERS} --describe | grep -E 'Replicas: [0-9,]*\\b{follower}\\b'",
    )
    checks = of_culprit(shapes.get(part, away))
    return [*checks, *([throttled] if part == "busy" else []), in_sync]
