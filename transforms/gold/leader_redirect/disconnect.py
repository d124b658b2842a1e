"""A5: active clients whose leader died. A dead leader returns no errors, so its silence is the evidence."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.leader_redirect import DISCONNECT, LEADER_REDIRECT
from transforms.gold.leader_redirect.cause import EVENT, FOUND_WITHIN_S
from transforms.gold.leader_redirect.client_tries import OF_PARTITION, asked_by_clients, to_tries
from transforms.gold.leader_redirect.found import found_again
from transforms.gold.leader_redirect.table import as_rows
from transforms.gold.partition_skew.produced import named_once, request_partitions
from transforms.windows import Reach, seconds

SILENT_BEFORE_S, SILENT_AFTER_S = 2, 1
"""
A broker without a sign of life for this time before and after a takeover is dead.

A live broker receives or sends follower fetches every 500 ms (`replica.fetch.wait.max.ms`). A dead broker has
been silent for 7 to 9 s at the takeover (`broker.session.timeout.ms`), so clocks may differ by seconds.
"""

RHYTHM, AT_WORK_S = 2, 1
"""A pause of up to twice the client's longest one, or up to a second, is normal for the client."""

TAKEOVER_REACH = Reach(lookahead_s=FOUND_WITHIN_S)
"""The reach for takeovers. All parts of an event are within `FOUND_WITHIN_S`."""

LED = ("cluster", "topic", "partition", "old_leader_id")
NOTHING = ("error_code", "hinted", "leader_epoch", "moved_by")
"""The columns that only an error response or a requested move has."""


def leader_disconnect(
    requests: DataFrame, topics: DataFrame, runs: DataFrame, changes: DataFrame, fetches: DataFrame
) -> DataFrame:
    """
    Return one row per partition and active client whose leader died and that found the new leader.

    The inputs are those of `leader_redirect`. An event begins with the last response of the dead leader and
    ends with the first success of its successor. An error 6 or 74 of the old leader in between makes it a
    redirect, even if that leader restarted. A client that returns within its usual pause was idle.
    """
    dead = dead_leaders(requests, changes)
    tried = tries(requests, topics, dead)
    lost_us = F.unix_micros("succeeded_at") - F.unix_micros("errored_at")
    nothing = {name: F.lit(None).cast(LEADER_REDIRECT.schema[name].dataType) for name in NOTHING}
    return (
        found_again(last_answers(tried, dead), tried, requests, changes, fetches)
        .filter(F.col("leads_from") > F.col("errored_at"))
        .filter(F.col("errors_at_old_leader") == 0)
        .filter(lost_us > F.col("usual_us"))
        .withColumns({"kind": F.lit(DISCONNECT), **nothing})
        .transform(as_rows, runs)
    )


def is_takeover() -> Column:
    """
    Return whether a row of `silver.leadership_changes` is a broker that takes over from another.

    >>> lines = "('leader', 2, 1), ('leader', 2, 2), ('leader', 2, NULL), ('follower', 3, 1)"
    >>> rows = spark.sql(f"SELECT * FROM VALUES {lines} AS t(role, broker_id, previous_leader_id)")
    >>> [row[0] for row in rows.select(is_takeover()).collect()]
    [True, False, False, False]
    """
    is_from_other = F.coalesce(F.col("previous_leader_id") != F.col("broker_id"), F.lit(False))
    return (F.col("role") == "leader") & is_from_other


def silent_takeovers(requests: DataFrame, changes: DataFrame) -> DataFrame:
    """
    Return the takeovers from brokers without a sign of life around them, by the lines so far.

    Late lines can only remove takeovers. `gone_at` is the last sign of life; it is NULL if the broker's log
    is not collected or has not arrived.
    """
    at = F.col("taken_over_at")
    is_same = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("old_leader_id") == F.col("sign_of"),
        F.col("last_at") > at - seconds(FOUND_WITHIN_S - SILENT_AFTER_S),
        F.col("first_at") <= at + seconds(SILENT_AFTER_S),
    ]
    taken = takeovers(changes)
    is_silent = F.coalesce(F.col("gone_at") < at - seconds(SILENT_BEFORE_S), F.lit(True))
    return (
        taken.join(signs_of_life(requests), on=is_same, how="left")
        .groupBy(*taken.columns)
        .agg(F.max("last_at").alias("gone_at"))
        .filter(is_silent)
    )


def takeovers(changes: DataFrame) -> DataFrame:
    """Return each takeover once: partition, previous leader, and start of the new leader."""
    return (
        changes.filter(is_takeover() & F.col("logged_at").isNotNull())
        .select(
            "cluster",
            F.col("topic_name").alias("topic"),
            "topic_id",
            F.col("partition_index").alias("partition"),
            F.col("previous_leader_id").alias("old_leader_id"),
            F.col("logged_at").alias("taken_over_at"),
        )
        .distinct()
    )


def signs_of_life(requests: DataFrame) -> DataFrame:
    """
    Return the first and the last sign of life of each broker in each second, from all logs.

    Signs are the lines of its request log and its follower fetches in the logs of other brokers, which
    continue if its own log ends early.
    """
    own = F.struct(F.col("broker_id").alias("sign_of"), F.col("logged_at").alias("at"))
    follower_id = F.when(F.col("kind") == "follower", F.col("follower_id"))
    fetching = F.struct(follower_id.alias("sign_of"), F.col("started_at").alias("at"))
    return (
        requests.select(F.col("cluster").alias("of_cluster"), F.inline(F.array(own, fetching)))
        .filter(F.col("at").isNotNull() & F.col("sign_of").isNotNull())
        .groupBy("of_cluster", "sign_of", F.unix_seconds("at"))
        .agg(F.min("at").alias("first_at"), F.max("at").alias("last_at"))
    )


def dead_leaders(requests: DataFrame, changes: DataFrame) -> DataFrame:
    """Return each partition that a dead broker led. `since` is the start of the broker's last life."""
    at = F.col("taken_over_at")
    lives = Window.partitionBy(*LED).orderBy("gone_at")
    earliest = at - seconds(FOUND_WITHIN_S - SILENT_AFTER_S)
    return (
        silent_takeovers(requests, changes)
        .filter(F.col("gone_at").isNotNull())
        .groupBy(*LED, "gone_at")
        .agg(F.min(at).alias("taken_over_at"), F.max("topic_id").alias("topic_id"))
        .withColumn("since", F.greatest(earliest, F.lag("gone_at").over(lives)))
    )


def tries(requests: DataFrame, topics: DataFrame, dead: DataFrame) -> DataFrame:
    """Return all client tries of these partitions, at any broker, within two minutes of the takeover."""
    reach = seconds(2 * FOUND_WITHIN_S)
    theirs = dead.select(
        F.col("cluster").alias("of_cluster"),
        F.explode(F.array("topic", "topic_id")).alias("of_topic"),
        F.col("partition").alias("of_partition"),
        "taken_over_at",
    )
    is_same = [
        F.col("cluster") == F.col("of_cluster"),
        F.coalesce("topic_name", "topic_id") == F.col("of_topic"),
        F.col("partition") == F.col("of_partition"),
        F.col("logged_at").between(F.col("taken_over_at") - reach, F.col("taken_over_at") + reach),
    ]
    rows = request_partitions(asked_by_clients(requests)).join(
        F.broadcast(theirs), on=is_same, how="left_semi"
    )
    return rows.transform(named_once, topics).transform(to_tries)


def last_answers(tried: DataFrame, dead: DataFrame) -> DataFrame:
    """Return the start of each event: the last success of a client that was active when its leader died."""
    gone_us, errored_us = F.unix_micros("gone_at"), F.unix_micros("last.answered_at")
    usual_us = F.greatest(RHYTHM * F.col("longest_pause_us"), F.lit(AT_WORK_S * 1_000_000))
    return (
        answers_of(tried, dead)
        .filter(F.col("longest_pause_us").isNotNull())
        .withColumn("usual_us", usual_us)
        .filter(gone_us - errored_us <= F.col("usual_us"))
        .withColumn("errored_at", F.col("last.answered_at"))
        .withColumn("asked_at", F.col("errored_at"))
        .withColumn("asked_as", F.lit(None).cast("int"))
        .select(*EVENT, "asked_at", "asked_as", "last.connection", "last.software_version", "usual_us")
    )


def answers_of(tried: DataFrame, dead: DataFrame) -> DataFrame:
    """Return each client's last success at a dead leader, and the longest pause between its responses."""
    known = dead.select(*LED, "gone_at", "since")
    life = (*OF_PARTITION, "old_leader_id", "gone_at")
    in_turn = Window.partitionBy(*life).orderBy("answered_at", "position")
    pause_us = F.unix_micros("answered_at") - F.unix_micros(F.lag("answered_at").over(in_turn))
    last = F.struct("answered_at", "position", "connection", "software_version")
    return (
        tried.join(F.broadcast(known), on=["cluster", "topic", "partition"], how="inner")
        .filter(F.col("leader_id") == F.col("old_leader_id"))
        .filter((F.col("answered_at") > F.col("since")) & (F.col("answered_at") <= F.col("gone_at")))
        .withColumn("pause_us", pause_us)
        .groupBy(*life)
        .agg(
            F.max("pause_us").alias("longest_pause_us"),
            F.max(F.when(F.col("is_served"), last)).alias("last"),
        )
    )
