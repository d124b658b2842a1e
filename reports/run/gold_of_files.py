"""Build gold from a folder of raw files with the parse and gold functions of the streams."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.names import Kind
from conf.settings import Settings
from engine.gold.culprit import culprit_tables
from engine.gold.data_quality import LINE
from engine.ingest.parsed_files import parse_into
from engine.ingest.raw_files import DAMAGE_MARK
from engine.ingest.sources import SOURCES
from reports.run.rows import Gold
from schemas.bronze import RAW
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.perf_test import CLIENT_METRICS, PERF_SUMMARIES, RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS
from transforms.frames import frame_of, united
from transforms.gold.assemble import client_tables, fetch_tables, metric_tables
from transforms.gold.broker_rtt.grid import COLUMNS
from transforms.gold.data_quality import data_quality
from transforms.gold.fetch_latency import pairing
from transforms.gold.fetch_latency.stock_fetch_total import stock_fetch_total
from transforms.gold.leader_redirect.client_tries import is_refused
from transforms.gold.leader_redirect.disconnect import is_takeover, leader_disconnect, silent_takeovers
from transforms.gold.leader_redirect.table import leader_redirect
from transforms.gold.throttle_compliance.assemble import TABLES as THROTTLE_TABLES
from transforms.gold.throttle_compliance.assemble import Silver as Throttled
from transforms.gold.throttle_compliance.assemble import has_throttles, throttle_metrics, throttle_tables
from transforms.windows import COVERED, coverage, newest_lines


class Layers:
    """Frames that are written to a folder once and read back, because later steps read each several times."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        """Use a scratch folder, which the caller removes."""
        self._spark, self._folder = spark, folder

    def keep(self, frame: DataFrame, name: str) -> DataFrame:
        """Compute a frame once; return a frame that reads the result."""
        where = str(self._folder / name)
        frame.write.mode("overwrite").parquet(where)
        return self._spark.read.schema(frame.schema).parquet(where)

    def keep_table(self, frame: DataFrame, table: Table) -> DataFrame:
        """Compute a table once; return a frame that reads the result."""
        return self.keep(frame, f"{table.layer}-{table.name}")


def gold_of_files(spark: SparkSession, raw: Path, scratch: Path, damages: Mapping[str, str]) -> Gold:
    """Parse raw lines (`raw_files.write_raw`) and build every table of a report."""
    layers = Layers(spark, scratch)
    lines = raw_lines(spark, raw)
    silver, _ = parse_into(lines, scratch / "silver", Settings())
    requests, client_events = silver[REQUESTS], silver[CLIENT_EVENTS]
    fetches = layers.keep(pairing.fetches(requests, client_events, skew_s=pairing.ANY_SKEW_S), "fetches")
    covered = frame_of(requests.sparkSession, coverage(newest_lines(requests).toArrow()), COVERED)
    built = fetch_tables(fetches, covered) | client_tables(silver, fetches) | metric_tables(silver)
    built[LEADER_REDIRECT] = lost_clients(silver, fetches)
    built |= throttled_moves(silver, layers)
    gold = {table: layers.keep_table(frame, table) for table, frame in built.items()}
    kept = {
        source.kind.value: united([silver[table].select(*LINE) for table in source.of_lines])
        for source in SOURCES
    }
    quality = data_quality(lines, kept, silver[QUARANTINE], silver[SKIPPED])
    scrapes = lines.filter(F.col("kind") == Kind.METRICS.value)
    return Gold(
        fetch_latency=gold[FETCH_LATENCY],
        broker_rtt=gold[BROKER_RTT],
        broker_rtt_culprit=culprits_of_files(gold[BROKER_RTT]),
        partition_skew=gold[PARTITION_SKEW],
        leader_redirect=gold[LEADER_REDIRECT],
        metadata_lookup=gold[METADATA_LOOKUP],
        leader_local_mean=gold[LEADER_LOCAL_MEAN],
        throttle_compliance=gold[THROTTLE_COMPLIANCE],
        reassignment_progress=gold[REASSIGNMENT_PROGRESS],
        metric_series=silver[METRIC_SERIES],
        perf_summaries=silver[PERF_SUMMARIES],
        client_metrics=silver[CLIENT_METRICS],
        runs=silver[RUNS],
        stock_fetch_total=layers.keep_table(stock_fetch_total(scrapes), STOCK_FETCH_TOTAL),
        data_quality=layers.keep_table(quality, DATA_QUALITY),
        quarantine=with_damage(silver[QUARANTINE], damages),
        skipped=silver[SKIPPED],
    )


def raw_lines(spark: SparkSession, raw: Path, *kinds: Kind) -> DataFrame:
    """Return raw lines of these kinds (default: all) as rows of bronze; their folders may be empty."""
    folders = [str(raw / kind.value) for kind in kinds or Kind]
    return spark.read.schema(RAW).parquet(*folders)


def culprits_of_files(broker_rtt: DataFrame) -> DataFrame:
    """Build `gold.broker_rtt_culprit` with the history in the files themselves."""
    rows = culprit_tables(broker_rtt.select(*COLUMNS).toArrow())[BROKER_RTT_CULPRIT]
    return broker_rtt.sparkSession.createDataFrame(rows, schema=BROKER_RTT_CULPRIT.schema)


def lost_clients(silver: Mapping[Table, DataFrame], fetches: DataFrame) -> DataFrame:
    """Build `gold.leader_redirect`; skip the expensive steps if no leader moved or died."""
    requests, changes = silver[REQUESTS], silver[LEADERSHIP_CHANGES]
    inputs = (requests, silver[TOPICS], silver[RUNS], changes, fetches)
    found = [frame_of(requests.sparkSession, [], LEADER_REDIRECT.schema)]
    if not requests.filter(is_refused()).isEmpty():
        found.append(leader_redirect(*inputs))
    has_takeover = not changes.filter(is_takeover()).isEmpty()
    if has_takeover and not silent_takeovers(requests, changes).isEmpty():
        found.append(leader_disconnect(*inputs))
    return united(found)


def throttled_moves(silver: Mapping[Table, DataFrame], layers: Layers) -> dict[Table, DataFrame]:
    """Build gold of throttles and reassignments; skip the expensive steps if there are none."""
    spark, numbers = silver[REQUESTS].sparkSession, count()
    if not has_throttles(silver[THROTTLE_CHANGES], silver[REASSIGNMENTS]):
        return {table: frame_of(spark, [], table.schema) for table in THROTTLE_TABLES}
    events, sizes = throttle_metrics(silver[METRIC_SERIES], silver[METRIC_SAMPLES])
    inputs = Throttled(
        requests=silver[REQUESTS],
        begun=silver[REQUESTS],
        topics=silver[TOPICS],
        changes=silver[THROTTLE_CHANGES],
        reassignments=silver[REASSIGNMENTS],
        isr_changes=silver[ISR_CHANGES],
        events=layers.keep(events, "events"),
        sizes=layers.keep(sizes, "sizes"),
    )
    return throttle_tables(inputs, persist=lambda frame: layers.keep(frame, f"throttles-{next(numbers)}"))


def with_damage(quarantine: DataFrame, damages: Mapping[str, str]) -> DataFrame:
    """Add the cause to the rows where a file could not be read further; `damages` are causes by source."""
    if not damages:
        return quarantine
    causes = F.create_map(*[F.lit(word) for pair in damages.items() for word in pair])
    is_damage = F.col("value").isNull() & F.col("position").endswith(DAMAGE_MARK)
    return quarantine.withColumn(
        "detail", F.when(is_damage, causes[F.col("source")]).otherwise(F.col("detail"))
    )
