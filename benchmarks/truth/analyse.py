"""From a recording to gold, once, and from gold to what the judge holds against the truth."""

import json
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.truth.judge import Row
from collectors.files import discover
from conf.names import Kind
from engine.gold.culprit import culprit_tables
from engine.ingest.raw_files import Origin, write_raw
from reports.run.gold_of_files import gold_of_files
from reports.run.rows import ReportSpan, rows_of
from reports.truth import injected_against_measured, read_truth, whole_windows
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from transforms.gold.broker_rtt.grid import COLUMNS, Grid, grids
from transforms.gold.broker_rtt.shapes import Thresholds
from transforms.gold.broker_rtt.table import broker_rtt_summary
from transforms.gold.fetch_latency.summary import fetch_latency_summary

CLUSTER = "lab"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded part: its ground truths in order, and gold of the whole recording."""

    truths: list[Row]
    broker_rtt: DataFrame
    fetch_latency: DataFrame

    def grid_of(self, nth: int) -> Grid:
        """Return the round trips in the span of one truth."""
        truth = self.truths[nth]
        span = ReportSpan(truth["injected_at"], truth["ended_at"])
        rows = self.broker_rtt.filter(span.holds("window_start")).select(*COLUMNS)
        return grids(rows.toArrow())[CLUSTER]

    def compared(self, truth: Row) -> list[Row]:
        """Return what was injected beside what was measured, pair by pair."""
        return injected_against_measured(
            truth, lambda since, until: rows_of(self._summary(since, until), "method")
        )

    def culprits(self, thresholds: Thresholds) -> list[Row]:
        """Return the verdict of every window, judged as a stream would: from what came before it."""
        return verdicts_of(self.broker_rtt.select(*COLUMNS).toArrow(), thresholds)

    def latency(self, truth: Row) -> list[Row]:
        """Return plain and true latency of the follower fetches of one injected span, leader by leader."""
        span = ReportSpan(*whole_windows(truth["injected_at"], truth["ended_at"]))
        rows = self.fetch_latency.filter(span.holds("window_start") & (F.col("kind") == "follower"))
        slowed = {(pair["follower_id"], pair["leader_id"]) for pair in truth["delayed_pairs"]}
        return [
            {**row, "is_delayed": (row["follower_id"], row["leader_id"]) in slowed}
            for row in rows_of(fetch_latency_summary(rows), "leader_id", "follower_id")
        ]

    def _summary(self, since: datetime, until: datetime) -> DataFrame:
        return broker_rtt_summary(self.broker_rtt.filter(ReportSpan(since, until).holds("window_start")))


def verdicts_of(broker_rtt: pa.Table, thresholds: Thresholds) -> list[Row]:
    """Return the verdict of every window, the earliest first."""
    named = culprit_tables(broker_rtt, thresholds)[BROKER_RTT_CULPRIT]
    rows: list[Row] = named.sort_by("window_start").to_pylist()
    return rows


def recorded(spark: SparkSession, part: Path) -> Recorded:
    """Read a part's truths and its gold; build that gold from the raw logs first when it is not there yet."""
    gold = part / "gold"
    if not (gold / "done").exists():
        _build_gold(spark, part / "lab" / "logs", gold)
    names = json.loads((part / "done.json").read_text())
    return Recorded(
        truths=[read_truth(part / "lab" / "truth" / name) for name in names],
        broker_rtt=_kept(spark, gold, BROKER_RTT),
        fetch_latency=_kept(spark, gold, FETCH_LATENCY),
    )


def _build_gold(spark: SparkSession, logs: Path, gold: Path) -> None:
    """Take the way of `plumbline report --from`, and keep its frames instead of the page."""
    shutil.rmtree(gold, ignore_errors=True)
    files = [file for file in discover(logs).understood if file.kind in (Kind.REQUEST_LOG, Kind.CLIENT_LOG)]
    origin = Origin(folder=logs, cluster=CLUSTER, time_zone="UTC")
    write_raw(files, origin, gold / "raw", on_file=lambda read: print(f"{read.source}: {read.lines:,} lines"))
    gold_of_files(spark, gold / "raw", gold, {})
    shutil.rmtree(gold / "raw")
    (gold / "done").touch()


def _kept(spark: SparkSession, gold: Path, table: Table) -> DataFrame:
    return spark.read.parquet(str(gold / f"{table.layer}-{table.name}")).cache()
