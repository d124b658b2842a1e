"""
Parse one line of a broker's state-change log (`state.change.logger` at INFO).

`kafka.cluster.Partition` (makeLeader, makeFollower) logs `Leader t-0 with topic id Some(...) starts at leader
epoch 5 ...` and `Follower t-0 starts at leader epoch 5 ...`, after `[Broker id=N] `. A line says when this
broker learned a partition's leader, and which broker was the leader before.
"""

import re

from transforms.parse.columns import INT, LONG, ORIGIN, STAMP, integer, origin, row_type
from transforms.parse.line import Line, read_line, skipped
from transforms.parse.record import NO_CLUSTER, Kept, Outcome, Quarantined, Record, sample

LOGGER = "state.change.logger"
MARK = b" starts at leader epoch "
BEGINS = re.compile(rb"\[Broker id=-?\d++\] (?:Leader|Follower) ", re.ASCII)

LONGEST_CHANGE = 64 * 1024
"""No change is longer: a topic name has at most 249 characters."""

PARTITION = r"(?P<topic_name>[A-Za-z0-9._-]+)-(?P<partition_index>\d+)"
START = (
    r" starts at leader epoch (?P<leader_epoch>\d++) from offset (?P<first_offset>\d++)"
    r" with partition epoch (?P<partition_epoch>\d++)"
)
PREVIOUS = (
    r" Previous leader (?:Some\((?P<previous_leader_id>-?\d++)\)|None)"
    r" and previous leader epoch was (?P<previous_leader_epoch>-?\d++)\."
)
LEADER = re.compile(
    rf"\[Broker id=(?P<broker_id>\d++)\] Leader {PARTITION}"
    rf" with topic id (?:Some\((?P<topic_id>[A-Za-z0-9_-]++)\)|None){START}, high watermark \d++,"
    r" ISR \[[-\d,]*+\], adding replicas \[[\d,]*+\] and removing replicas \[[\d,]*+\]"
    rf" (?:\(under-min-isr\))?\.{PREVIOUS}",
    re.ASCII,
)
FOLLOWER = re.compile(
    rf"\[Broker id=(?P<broker_id>\d++)\] Follower {PARTITION}{START} and high watermark \d++\."
    rf"(?: Current leader is (?P<leader_id>-?\d++)\.)?{PREVIOUS}",
    re.ASCII,
)
NUMBERS = (
    "broker_id", "partition_index", "leader_epoch", "first_offset", "partition_epoch", "leader_id",
    "previous_leader_id", "previous_leader_epoch",
)  # fmt: skip

LeadershipChange = row_type(
    "LeadershipChange",
    "cluster broker_id",
    STAMP,
    "role topic_name topic_id partition_index leader_id leader_epoch partition_epoch first_offset",
    "previous_leader_id previous_leader_epoch",
    ORIGIN,
)


def parse(record: Record) -> Outcome:
    """Parse one line into a row of `leadership_changes`. A line that looks like a change is never skipped."""
    line = read_line(record)
    if isinstance(line, Quarantined):
        return line
    if MARK in line.value or BEGINS.match(line.value, line.start, line.end):
        return line.fault or _change(line, record)
    return skipped(line, LOGGER, "not_a_change")


def _change(line: Line, record: Record) -> Kept | Quarantined:
    message = line.message
    if record.cluster is None:
        return NO_CLUSTER
    if not message.endswith("."):
        return Quarantined("truncated_line", sample(message))
    is_short = len(message) <= LONGEST_CHANGE
    change = (LEADER.fullmatch(message) or FOLLOWER.fullmatch(message)) if is_short else None
    if change is None:
        return Quarantined("unknown_form", sample(message))
    written = change.groupdict()
    numbers = {name: integer(written.get(name), LONG if name == "first_offset" else INT) for name in NUMBERS}
    is_leader = change.re is LEADER
    missing = [
        name
        for name, number in numbers.items()
        if number is None and (written.get(name) or (name == "leader_id" and not is_leader))
    ]
    if missing:
        return Quarantined("missing_field", ", ".join(missing))
    broker_id, partition, epoch, offset, partition_epoch, leader, previous, previous_epoch = numbers.values()
    if line.node_id is not None and broker_id != line.node_id:
        return Quarantined("node_is_another_replica", f"written by broker {broker_id} on {record.node}")
    role, leader = ("leader", broker_id) if is_leader else ("follower", leader)
    topic = (written["topic_name"], written.get("topic_id"), partition)
    previous = previous if previous is not None and previous >= 0 else None
    state = (leader, epoch, partition_epoch, offset, previous, previous_epoch)
    row = LeadershipChange(record.cluster, broker_id, *line.stamp, role, *topic, *state, *origin(record))
    return Kept({"leadership_changes": [row]})
