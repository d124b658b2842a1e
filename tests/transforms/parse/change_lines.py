"""Lines of a state-change log, and a second, independent parser that uses Kafka's own format strings."""

import re

from tests.transforms.parse.records import DATA

REAL = DATA.joinpath("state-change.txt").read_bytes().splitlines()
LEADER = next(line for line in REAL if b"] Leader " in line)
FOLLOWER = next(line for line in REAL if b"] Follower " in line)
LINES = [
    *REAL,
    LEADER.replace(b"replicas [] .", b"replicas [] (under-min-isr)."),
    LEADER.replace(b"Some(3)", b"None").replace(b"epoch was 0", b"epoch was -1"),
    LEADER.replace(b"Some(6mIsoWMRTfmFUJoSO1Ga2g)", b"None"),
    LEADER.replace(b"adding replicas []", b"adding replicas [4,5]").replace(b"-1795251332-2", b"-2-12"),
    FOLLOWER.replace(b"leader is 2", b"leader is -1"),
    FOLLOWER.removesuffix(b" (state.change.logger)"),
]

MARK = re.compile(rb" starts at leader epoch ")
"""A change has it exactly once, and no other line has it."""

# `kafka.cluster.Partition`, makeLeader and makeFollower: topic, partition, epoch, ...
EPOCHS = r"starts at leader epoch (\d+) from offset (\d+) with partition epoch (\d+)"
BEFORE = r"Previous leader (?:Some\((-?\d+)\)|None) and previous leader epoch was (-?\d+)\."
LEADS = (
    r"\[Broker id=(\d+)\] Leader (\S+)-(\d+) with topic id (?:Some\((\S+)\)|None) "
    rf"{EPOCHS}, high watermark \d+, ISR \[\S*\], adding replicas \[\S*\] and removing replicas \[\S*\] "
    rf"(?:\(under-min-isr\))?\. {BEFORE}"
)
FOLLOWS = (
    rf"\[Broker id=(\d+)\] Follower (\S+)-(\d+) {EPOCHS} and high watermark \d+\. "
    rf"Current leader is (-?\d+)\. {BEFORE}"
)
NAMES = ("leader_epoch", "first_offset", "partition_epoch")


def says(value):
    """Return (table, columns) of a line; None if it is not exactly one whole change."""
    message = re.search(r" [A-Z]+ +(\[Broker .*?)(?: \([!-'*-~]+\)\s*)?$", value.decode(), re.DOTALL)[1]
    if leads := re.fullmatch(LEADS, message, re.ASCII):
        broker, topic, partition, topic_id, *epochs, before, epoch_before = leads.groups()
        role, leader = "leader", broker
    elif follows := re.fullmatch(FOLLOWS, message, re.ASCII):
        broker, topic, partition, *epochs, leader, before, epoch_before = follows.groups()
        role, topic_id = "follower", None
    else:
        return None
    return "leadership_changes", {
        "role": role,
        "broker_id": int(broker),
        "topic_name": topic,
        "topic_id": topic_id,
        "partition_index": int(partition),
        "leader_id": int(leader),
        **dict(zip(NAMES, map(int, epochs), strict=True)),
        "previous_leader_id": int(before) if before and int(before) >= 0 else None,
        "previous_leader_epoch": int(epoch_before),
    }
