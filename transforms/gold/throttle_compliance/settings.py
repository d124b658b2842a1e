"""The windows in which a limit or a list is set, with or without traffic."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.inputs import ThrottleInputs
from transforms.gold.throttle_compliance.limits import BROKER
from transforms.windows import WINDOW_S, seconds


def settings_on(inputs: ThrottleInputs, covered: DataFrame) -> DataFrame:
    """Return one row per `covered` window, broker and direction with a limit or a list."""
    limited = _in_force(inputs.in_force, covered)
    return limited.unionByName(_listed(inputs.listed, inputs.brokers, covered), allowMissingColumns=True)


def _in_force(in_force: DataFrame, covered: DataFrame) -> DataFrame:
    """Return one row per window in which a limit is in force."""
    limited = in_force.withColumnRenamed("cluster", "of_cluster")
    rows = covered.join(F.broadcast(limited), on=_overlap("limited_from", "limited_until"), how="inner")
    at = F.greatest("window_start", "limited_from")
    on = {"at": at, "on_from": at, "on_until": _until("limited_until")}
    return rows.withColumns(on).select(*BROKER, *on)


def _listed(listed: DataFrame, brokers: DataFrame, covered: DataFrame) -> DataFrame:
    """Return one row per window in which a list names a broker; `*` names all brokers."""
    named = listed.filter(F.col("listed_broker").isNotNull()).withColumn("broker_id", F.col("listed_broker"))
    everyone = listed.filter(F.col("listed_broker").isNull()).join(brokers, on="cluster", how="inner")
    columns = ["cluster", "broker_id", "direction", "listed_from", "listed_until"]
    both = (
        named.select(*columns, F.lit(False).alias("is_wildcard"))
        .unionByName(everyone.select(*columns, F.lit(True).alias("is_wildcard")))
        .distinct()
    )
    renamed = both.withColumnRenamed("cluster", "of_cluster")
    rows = covered.join(F.broadcast(renamed), on=_overlap("listed_from", "listed_until"), how="inner")
    # The instant is the end of the window if the list is still set: a limit may be set after the list.
    on_until = _until("listed_until")
    at = F.greatest(on_until - F.expr("INTERVAL 1 MICROSECOND"), "window_start", "listed_from")
    on_from = F.greatest("window_start", "listed_from")
    times = {"at": at, "on_from": on_from, "on_until": on_until, "is_listed": F.lit(True)}
    return rows.withColumns(times).select(*BROKER, *times, "is_wildcard").distinct()


def _until(end: str) -> Column:
    """Return the end of a setting within the window. A NULL `end` means that it has not ended."""
    last = F.col("window_start") + seconds(WINDOW_S)
    return F.when(F.col(end) < last, F.col(end)).otherwise(last)


def _overlap(since: str, until: str) -> list[Column]:
    is_after_start = F.col(until).isNull() | (F.col(until) > F.col("window_start"))
    is_before_end = F.col(since) < F.col("window_start") + seconds(WINDOW_S)
    return [F.col("cluster") == F.col("of_cluster"), is_before_end, is_after_start]
