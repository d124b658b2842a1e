"""In which windows a limit or a list was on, whatever else was in them."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.inputs import ThrottleInputs
from transforms.gold.throttle_compliance.limits import BROKER
from transforms.windows import WINDOW_S, seconds


def settings_on(inputs: ThrottleInputs, covered: DataFrame) -> DataFrame:
    """Give a row for each `covered` window, broker and direction in which a limit or a list is on."""
    limited = _in_force(inputs.in_force, covered)
    return limited.unionByName(_listed(inputs.listed, inputs.brokers, covered), allowMissingColumns=True)


def _in_force(in_force: DataFrame, covered: DataFrame) -> DataFrame:
    """Give a row for each window in which a limit is in force, whatever else is in it."""
    limited = in_force.withColumnRenamed("cluster", "of_cluster")
    rows = covered.join(F.broadcast(limited), on=_overlap("limited_from", "limited_until"), how="inner")
    at = F.greatest("window_start", "limited_from")
    on = {"at": at, "on_from": at, "on_until": _until("limited_until")}
    return rows.withColumns(on).select(*BROKER, *on)


def _listed(listed: DataFrame, brokers: DataFrame, covered: DataFrame) -> DataFrame:
    """Give a row for each window in which a list names a broker; `*` names all of them."""
    named = listed.filter(F.col("listed_broker").isNotNull()).withColumn("broker_id", F.col("listed_broker"))
    everyone = listed.filter(F.col("listed_broker").isNull()).join(brokers, on="cluster", how="inner")
    told = ["cluster", "broker_id", "direction", "listed_from", "listed_until"]
    both = (
        named.select(*told, F.lit(False).alias("is_wildcard"))
        .unionByName(everyone.select(*told, F.lit(True).alias("is_wildcard")))
        .distinct()
    )
    of = both.withColumnRenamed("cluster", "of_cluster")
    rows = covered.join(F.broadcast(of), on=_overlap("listed_from", "listed_until"), how="inner")
    # As of a window's end, if it is still on: a limit may have been set behind the list.
    on_until = _until("listed_until")
    at = F.greatest(on_until - F.expr("INTERVAL 1 MICROSECOND"), "window_start", "listed_from")
    on_from = F.greatest("window_start", "listed_from")
    told_of = {"at": at, "on_from": on_from, "on_until": on_until, "is_listed": F.lit(True)}
    return rows.withColumns(told_of).select(*BROKER, *told_of, "is_wildcard").distinct()


def _until(end: str) -> Column:
    """Give until when, in the window, something was on; its end is NULL while it lasts."""
    last = F.col("window_start") + seconds(WINDOW_S)
    return F.when(F.col(end) < last, F.col(end)).otherwise(last)


def _overlap(since: str, until: str) -> list[Column]:
    is_behind = F.col(until).isNull() | (F.col(until) > F.col("window_start"))
    is_before = F.col(since) < F.col("window_start") + seconds(WINDOW_S)
    return [F.col("cluster") == F.col("of_cluster"), is_before, is_behind]
