"""
Lines of a broker's state-change log (`state.change.logger` at INFO) as `silver.leadership_changes`.

`Leader t-0 with topic id Some(...) starts at leader epoch 5 ...` and `Follower t-0 starts at leader epoch 5
...` of `kafka.cluster.Partition` (makeLeader, makeFollower), behind `[Broker id=N] `: when this broker learnt
who leads a partition, and who led it before.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.silver import LEADERSHIP_CHANGES
from transforms.parse import PARSER_VERSION
from transforms.parse.outcome import fails, quarantined, rows_of, sample, skipped, with_outcome
from transforms.parse.stamp import SEPARATOR, no_message, stamp_columns, text, unreadable, untimed, with_stamp

__all__ = ["kept", "parse_state_change", "quarantined", "skipped"]

LOGGER = "state.change.logger"
BEGINS = r"^\[Broker id=-?\d+\] (?:Leader|Follower) "
MARK = " starts at leader epoch "

# broker, role, topic, partition, topic id, leader epoch, first offset, partition epoch, leader of a follower,
# leader before, its epoch; what only one of the two roles has may not stand in a line of the other
CHANGE = (
    r"^\[Broker id=(\d+)\] (?=Leader \S+ with topic id .*, ISR |Follower \S+ starts .* and high watermark )"
    r"(Leader|Follower) ([A-Za-z0-9._-]+)-(\d+)(?: with topic id (?:Some\(([A-Za-z0-9_-]+)\)|None))?"
    r" starts at leader epoch (\d+) from offset (\d+) with partition epoch (\d+)"
    r"(?:, high watermark \d+, ISR \[[-\d,]*\], adding replicas \[[\d,]*\] and removing replicas"
    r" \[[\d,]*\] (?:\(under-min-isr\))?\.| and high watermark \d+\.(?: Current leader is (-?\d+)\.)?)"
    r" Previous leader (?:Some\((-?\d+)\)|None) and previous leader epoch was (-?\d+)\.$"
)
GROUPS = (
    "broker_id",
    "role",
    "topic_name",
    "partition_index",
    "topic_id",
    "leader_epoch",
    "first_offset",
    "partition_epoch",
    "leader_id",
    "previous_leader_id",
    "previous_leader_epoch",
)
TEXTS = ("role", "topic_name", "topic_id")


def parse_state_change(raw: DataFrame) -> DataFrame:
    """Parse raw rows (`schemas.bronze.RAW`) once; `kept`, `quarantined`, `skipped` select from it."""
    message = F.when(_is_change(), F.col("message"))
    headed = with_stamp(raw).select("*", message.alias("change"))
    groups = SEPARATOR.join(f"${n}" for n in range(1, len(GROUPS) + 1))
    found = F.split(F.regexp_replace("change", CHANGE, groups), SEPARATOR)
    is_found = F.col("change").rlike(CHANGE) & (F.size(found) == len(GROUPS))
    matched = headed.select("*", F.when(is_found, found).alias("found"))
    return with_outcome(matched, failure=_failure(), skip=_skip(), row=_row(), extra=[])


def kept(parsed: DataFrame) -> DataFrame:
    """Give the rows of `silver.leadership_changes`."""
    return rows_of(parsed, LEADERSHIP_CHANGES)


def _is_change() -> Column:
    """Tell whether the line is ours to read: kept or quarantined, never skipped."""
    return F.col("message").rlike(BEGINS) | F.contains(text(), F.lit(MARK))


def _told(name: str) -> Column:
    found = F.col("found")[GROUPS.index(name)]
    return F.when(found != "", found)


def _failure() -> Column:
    return F.coalesce(unreadable(), F.when(_is_change(), _misread()))


def _misread() -> Column:
    numbers = [name for name in GROUPS if name not in TEXTS]
    lost = [F.when(_told(name).isNotNull() & _number(name).isNull(), name) for name in numbers]
    is_follower_without = (_told("role") == "Follower") & _told("leader_id").isNull()
    absent = F.concat_ws(", ", *lost, F.when(is_follower_without, "leader_id"))
    other = F.concat(F.lit("written by broker "), _number("broker_id"), F.lit(" on "), F.col("node"))
    return F.coalesce(
        untimed(),
        fails(F.col("cluster").isNull(), "no_cluster", "the record names no cluster"),
        fails(~F.col("message").endswith("."), "truncated_line", sample(F.col("message"))),
        fails(F.col("found").isNull(), "unknown_form", sample(F.col("message"))),
        fails(absent != "", "missing_field", absent),
        fails(_number("broker_id") != F.col("node_id"), "node_is_another_replica", other),
    )


def _number(name: str) -> Column:
    return _told(name).try_cast("bigint" if name == "first_offset" else "int")


def _skip() -> Column:
    ours = F.coalesce(F.col("logger") == LOGGER, F.lit(True))
    other = F.when(ours, "not_a_change").otherwise("other_logger")
    return F.when(_is_change(), None).otherwise(F.coalesce(no_message(), other))


def _row() -> Column:
    is_leader = _told("role") == "Leader"
    previous = _number("previous_leader_id")
    return F.struct(
        "cluster",
        _number("broker_id").alias("broker_id"),
        *stamp_columns(),
        F.when(is_leader, "leader").otherwise("follower").alias("role"),
        _told("topic_name").alias("topic_name"),
        _told("topic_id").alias("topic_id"),
        _number("partition_index").alias("partition_index"),
        F.when(is_leader, _number("broker_id")).otherwise(_number("leader_id")).alias("leader_id"),
        _number("leader_epoch").alias("leader_epoch"),
        _number("partition_epoch").alias("partition_epoch"),
        _number("first_offset").alias("first_offset"),
        F.when(previous >= 0, previous).alias("previous_leader_id"),
        _number("previous_leader_epoch").alias("previous_leader_epoch"),
        "node",
        "source",
        "position",
        "topic",
        "partition",
        "offset",
        F.lit(PARSER_VERSION).alias("parser_version"),
    )
