"""The times with a throttle or a move. Windows outside them have no rows in the tables of throttles."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.reassignment_progress.moves import MOVE, calls


def times_on(changes: DataFrame, reassignments: DataFrame, progress: DataFrame) -> DataFrame:
    """
    Return the times with a setting or a move, as epoch seconds; a NULL end means that it has not ended.

    `progress` is the existing `gold.reassignment_progress`, which has the ends of moves.
    """
    return _settings(changes).unionByName(_moves(reassignments, progress)).distinct()


def _settings(changes: DataFrame) -> DataFrame:
    key = ("cluster", "resource", "resource_name", "config")
    in_order = Window.partitionBy(*key).orderBy("logged_at", "position", "operation")
    is_refused = F.col("is_applied").eqNullSafe(F.lit(False))
    return (
        changes.filter(~is_refused & F.col("logged_at").isNotNull())
        .withColumn("until", F.lead("logged_at").over(in_order))
        .filter(F.col("operation") != "delete")
        .select(F.unix_seconds("logged_at").alias("since_s"), (F.unix_seconds("until") + 1).alias("until_s"))
    )


def _moves(reassignments: DataFrame, progress: DataFrame) -> DataFrame:
    by_pair = progress.groupBy(*MOVE, "source_id", "destination_id").agg(
        F.max_by("ended_at", "window_start").alias("ended_at")
    )
    is_over = F.count("ended_at") == F.count(F.lit(1))
    over = by_pair.groupBy(*MOVE).agg(F.when(is_over, F.max("ended_at")).alias("ended_at"))
    moves = calls(reassignments).select(*MOVE).distinct().join(over, on=list(MOVE), how="left")
    return moves.select(
        F.unix_seconds("moved_at").alias("since_s"), (F.unix_seconds("ended_at") + 1).alias("until_s")
    )
