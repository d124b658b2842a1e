"""Moves as a whole: forecast and actual end, and the end and throttle band by KIP-73."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.reassignment_progress import REASSIGNMENT_SUMMARY
from transforms.gold.reassignment_progress.forecast import MOVE, reassignment_forecast
from transforms.windows import WINDOW_S, seconds


def reassignment_summary(progress: DataFrame, *, network_bytes_per_s: float | None = None) -> DataFrame:
    """
    Return one row per move. `network_bytes_per_s` is N of KIP-73's band: the network bandwidth of a broker.

    The row of a finished move has the forecast at half of the move; other rows have the newest forecast.
    """
    forecasts = reassignment_forecast(progress)
    moves = _of_moves(progress, forecasts)
    ended_us, moved_us = F.unix_micros("ended_at"), F.unix_micros("moved_at")
    took_us = F.nullif(ended_us - moved_us, F.lit(0))
    is_done = F.col("state") == "done"
    limit, inbound = F.col("limit_bytes_per_s"), F.coalesce("inbound_bytes_per_s", F.lit(0.0))
    kip_us = F.when(limit > inbound, F.col("bytes_at_start") / (limit - inbound) * 1e6).cast("bigint")
    high = F.lit(network_bytes_per_s).cast("double") - inbound / F.col("replication_factor")
    return (
        moves.join(_shown(forecasts, moves), on=list(MOVE), how="left")
        .withColumns(
            {
                "kip_end_at": F.timestamp_micros(moved_us + kip_us),
                "band_low_bytes_per_s": inbound,
                "band_high_bytes_per_s": high,
            }
        )
        .withColumns(
            {
                "forecast_error": F.when(is_done, F.unix_micros("forecast_end_at") - ended_us) / took_us,
                "kip_error": F.when(is_done, F.unix_micros("kip_end_at") - ended_us) / took_us,
                "is_in_band": F.when(limit <= inbound, F.lit(False)).otherwise(limit < high),
            }
        )
        .select(*REASSIGNMENT_SUMMARY.schema.names)
    )


def _of_moves(progress: DataFrame, forecasts: DataFrame) -> DataFrame:
    pair = (*MOVE, "source_id", "destination_id")
    ends = ("ended_at", "is_superseded", "replication_factor")
    last_of = progress.groupBy(*pair).agg(
        *(F.max_by(name, "window_start").alias(name) for name in ends),
        F.min(F.least("source_limit_bytes_per_s", "destination_limit_bytes_per_s")).alias("limit"),
    )
    whole = last_of.groupBy(*MOVE).agg(
        F.when(F.count("ended_at") == F.count(F.lit(1)), F.max("ended_at")).alias("ended_at"),
        F.max("is_superseded").alias("is_superseded"),
        F.count_distinct("destination_id").alias("destinations"),
        F.max("replication_factor").alias("replication_factor"),
        F.min("limit").alias("limit_bytes_per_s"),
    )
    total = F.col("bytes_moved") + F.col("bytes_to_go")
    figures = forecasts.groupBy(*MOVE).agg(
        *(F.max(name).alias(name) for name in ("moved_by", "partitions")),
        *(
            F.max_by(name, "window_start").alias(name)
            for name in ("partitions_done", "bytes_moved", "bytes_to_go")
        ),
        F.min_by(total, F.when(total.isNotNull(), F.col("window_start"))).alias("bytes_at_start"),
        (F.max("window_start") + seconds(WINDOW_S)).alias("seen_until"),
    )
    took_s = (F.unix_micros(F.coalesce("ended_at", "seen_until")) - F.unix_micros("moved_at")) / 1e6
    is_done = F.col("ended_at").isNotNull()
    return (
        figures.join(whole, on=list(MOVE), how="inner")
        .join(_inbound(progress), on=list(MOVE), how="left")
        .withColumn("rate_bytes_per_s", F.when(took_s > 0, F.col("bytes_moved") / took_s))
        .withColumn(
            "state",
            F.when(F.col("is_superseded"), "superseded").when(is_done, "done").otherwise("under_way"),
        )
    )


def _inbound(progress: DataFrame) -> DataFrame:
    """Return the highest produce rate to the partitions of one destination, in whole windows."""
    of_move = Window.partitionBy(*MOVE)
    is_whole = (F.col("window_start") > F.min("window_start").over(of_move)) & (
        F.col("window_start") < F.max("window_start").over(of_move)
    )
    rate = F.sum("inbound_bytes") / (F.count_distinct("window_start") * WINDOW_S)
    by_destination = (
        progress.withColumn("is_whole", is_whole)
        .filter("is_whole")
        .groupBy(*MOVE, "destination_id")
        .agg(rate.alias("inbound"))
    )
    return by_destination.groupBy(*MOVE).agg(F.max("inbound").alias("inbound_bytes_per_s"))


def _shown(forecasts: DataFrame, moves: DataFrame) -> DataFrame:
    """Return the forecast to show for each move."""
    is_known = F.col("net_bytes_per_s").isNotNull() & F.col("bytes_to_go").isNotNull()
    is_half = (F.col("bytes_moved") >= F.col("bytes_to_go")) & F.col("forecast_end_at").isNotNull()
    columns = ("forecast_end_at", "forecast_low_at", "forecast_high_at", "ruled_by", "ruled_by_id")
    chosen = F.struct("window_start", "n", *columns)
    candidates = (
        forecasts.filter(is_known)
        .withColumn("is_open", F.col("partitions_done") < F.col("partitions"))
        .groupBy(*MOVE)
        .agg(
            F.min_by(chosen, F.when(is_half, F.col("window_start"))).alias("half"),
            F.max_by(chosen, F.when(F.col("is_open"), F.col("window_start"))).alias("newest"),
        )
    )
    is_done = F.col("state") == "done"
    shown = F.when(is_done, F.coalesce("half", "newest")).otherwise(F.col("newest"))
    return (
        candidates.join(moves.select(*MOVE, "state"), on=list(MOVE), how="inner")
        .select(*MOVE, shown.alias("shown"))
        .select(
            *MOVE,
            (F.col("shown.window_start") + seconds(WINDOW_S)).alias("forecast_made_at"),
            *(f"shown.{name}" for name in columns),
            F.col("shown.n").alias("forecast_n"),
        )
    )
