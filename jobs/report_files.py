"""Gold of a folder of raw files: the streams' own parse and gold functions, each layer written once."""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.names import Kind
from jobs.raw_files import DAMAGE_MARK
from jobs.report_rows import Gold
from jobs.thresholds import thresholds
from schemas.bronze import RAW
from schemas.fields import Table
from schemas.gold import BROKER_RTT, BROKER_RTT_CULPRIT, DATA_QUALITY, FETCH_LATENCY, STOCK_FETCH_TOTAL
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SKIPPED
from transforms.gold import pairing
from transforms.gold.assemble import judged, of_fetches
from transforms.gold.data_quality import data_quality
from transforms.gold.stock_fetch_total import stock_fetch_total
from transforms.parse.client_log import parse_client_log
from transforms.parse.outcome import KEPT, quarantined, rows_of, skipped
from transforms.parse.request_log import parse_request_log
from transforms.windows import coverage


class Layers:
    """Frames written to a folder once and read back: what comes after reads each of them several times."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        """Use a folder that is removed with all else of the run."""
        self._spark, self._folder = spark, folder

    def keep(self, frame: DataFrame, name: str) -> DataFrame:
        """Work a frame out, once."""
        where = str(self._folder / name)
        frame.write.mode("overwrite").parquet(where)
        return self._spark.read.schema(frame.schema).parquet(where)

    def keep_table(self, frame: DataFrame, table: Table) -> DataFrame:
        """Work a table out, once."""
        return self.keep(frame, f"{table.layer}-{table.name}")


def gold_of_files(spark: SparkSession, raw: Path, scratch: Path, damages: Mapping[str, str]) -> Gold:
    """Parse raw lines (`raw_files.write_raw`) and build every table a report shows."""
    layers = Layers(spark, scratch)
    request_lines, client_lines, scrapes = (
        spark.read.schema(RAW).parquet(str(raw / kind.value))
        for kind in (Kind.REQUEST_LOG, Kind.CLIENT_LOG, Kind.METRICS)
    )
    silver = silver_of(request_lines, client_lines, layers)
    requests, client_events = silver[REQUESTS], silver[CLIENT_EVENTS]
    fetches = layers.keep(pairing.fetches(requests, client_events, skew_s=pairing.ANY_SKEW_S), "fetches")
    covered = layers.keep(coverage(requests.select("cluster", "broker_id", "logged_at")), "covered")
    gold = {table: layers.keep_table(frame, table) for table, frame in of_fetches(fetches, covered).items()}
    lines = request_lines.unionByName(client_lines)
    quality = data_quality(lines, requests, client_events, silver[QUARANTINE], silver[SKIPPED])
    return Gold(
        fetch_latency=gold[FETCH_LATENCY],
        broker_rtt=gold[BROKER_RTT],
        broker_rtt_culprit=judged(gold[BROKER_RTT], thresholds())[BROKER_RTT_CULPRIT],
        stock_fetch_total=layers.keep_table(stock_fetch_total(scrapes), STOCK_FETCH_TOTAL),
        data_quality=layers.keep_table(quality, DATA_QUALITY),
        quarantine=with_damage(silver[QUARANTINE], damages),
        skipped=silver[SKIPPED],
    )


def silver_of(request_lines: DataFrame, client_lines: DataFrame, layers: Layers) -> dict[Table, DataFrame]:
    """Parse the lines of both logs, each once, and split them by what became of them."""
    requests = layers.keep(_slim(parse_request_log(request_lines)), "parsed-requests")
    client_events = layers.keep(_slim(parse_client_log(client_lines)), "parsed-client-events")
    both = (requests, client_events)
    return {
        REQUESTS: rows_of(requests, REQUESTS),
        CLIENT_EVENTS: rows_of(client_events, CLIENT_EVENTS),
        QUARANTINE: _union(*(quarantined(parsed) for parsed in both)),
        SKIPPED: _union(*(skipped(parsed, batch_id=0) for parsed in both)),
    }


def _slim(parsed: DataFrame) -> DataFrame:
    """Drop the bytes of kept lines: their columns say it all, and the files are still there."""
    return parsed.withColumn("value", F.when(F.col("outcome") != KEPT, F.col("value")))


def with_damage(quarantine: DataFrame, damages: Mapping[str, str]) -> DataFrame:
    """Say of the places where a file could not be read further why that is, `damages` by source."""
    if not damages:
        return quarantine
    told = F.create_map(*[F.lit(word) for pair in damages.items() for word in pair])
    is_damage = F.col("value").isNull() & F.col("position").endswith(DAMAGE_MARK)
    return quarantine.withColumn(
        "detail", F.when(is_damage, told[F.col("source")]).otherwise(F.col("detail"))
    )


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other)
