"""From a recording to gold, once, and from gold to what the judge compares with the truth."""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from answers.fetches import latency as fetch_latency
from answers.gold.reader import GoldReader
from answers.gold.selection import GoldSelection
from answers.slow_links import round_trips
from answers.slow_links.injected_delay import injected_against_measured, whole_windows
from benchmarks.pipeline.machine import tree
from benchmarks.truth.judge import Row
from collectors.files import discover
from conf.names import Kind
from engine.gold.culprit import culprit_tables
from engine.ingest.raw_files import Origin, write_raw
from schemas.arrow import arrow_schema
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from serving.report.run.gold_of_files import rows_of_files
from serving.report.truth import read_truth
from transforms.gold.broker_rtt.grid import COLUMNS, Grid, grids
from transforms.gold.broker_rtt.shapes import Thresholds

CLUSTER = "lab"
KEPT = (BROKER_RTT, FETCH_LATENCY)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded part: its ground truths in order, and gold of the whole recording."""

    truths: list[Row]
    broker_rtt: pa.Table
    gold: GoldSelection

    def grid_of(self, number: int) -> Grid:
        """Return the round trips in the span of one truth."""
        truth = self.truths[number]
        at = pc.field("window_start")
        rows = self.broker_rtt.filter((at >= truth["injected_at"]) & (at < truth["ended_at"]))
        return grids(rows.select(list(COLUMNS)))[CLUSTER]

    def compared(self, truth: Row) -> list[Row]:
        """Return the injected and the measured rise of each pair."""
        return injected_against_measured(
            truth,
            lambda since, until: round_trips.round_trips(replace(self.gold, since=since, until=until)),
        )

    def culprits(self, thresholds: Thresholds) -> list[Row]:
        """Return the verdict of every window, judged as a stream would: from what came before it."""
        return verdicts_of(self.broker_rtt.select(list(COLUMNS)), thresholds)

    def latency(self, truth: Row) -> list[Row]:
        """Return plain and true latency of the follower fetches of one injected span, leader by leader."""
        since, until = whole_windows(truth["injected_at"], truth["ended_at"])
        slowed = {(pair["follower_id"], pair["leader_id"]) for pair in truth["delayed_pairs"]}
        return [
            {**row, "is_delayed": (row["follower_id"], row["leader_id"]) in slowed}
            for row in fetch_latency.fetches(replace(self.gold, since=since, until=until))
            if row["kind"] == "follower"
        ]


def verdicts_of(broker_rtt: pa.Table, thresholds: Thresholds) -> list[Row]:
    """Return the verdict of every window, the earliest first."""
    named = culprit_tables(broker_rtt, thresholds)[BROKER_RTT_CULPRIT]
    rows: list[Row] = named.sort_by("window_start").to_pylist()
    return rows


def recorded(part: Path) -> Recorded:
    """Read a part's truths and its gold; build gold from the raw logs if it does not exist yet."""
    gold = part / "gold"
    if not (gold / "done").exists():
        _build_gold(part / "lab" / "logs", gold)
    names = json.loads((part / "done.json").read_text())
    rows = {
        table: pq.read_table(gold / f"{table.name}.parquet", schema=arrow_schema(table)) for table in KEPT
    }
    return Recorded(
        truths=[read_truth(part / "lab" / "truth" / name) for name in names],
        broker_rtt=rows[BROKER_RTT],
        gold=GoldSelection(gold=GoldReader.of_rows(rows), cluster=CLUSTER),
    )


def _build_gold(logs: Path, gold: Path) -> None:
    """Build gold as `plumbline report --from` does."""
    shutil.rmtree(gold, ignore_errors=True)
    files = [file for file in discover(logs).understood if file.kind in (Kind.REQUEST_LOG, Kind.CLIENT_LOG)]
    origin = Origin(folder=logs, cluster=CLUSTER, time_zone="UTC")
    write_raw(files, origin, gold / "raw", on_file=lambda read: print(f"{read.source}: {read.lines:,} lines"))
    rows = rows_of_files(gold / "raw", gold, {})
    for table in KEPT:
        pq.write_table(rows[table], gold / f"{table.name}.parquet")
    shutil.rmtree(gold / "raw")
    (gold / "done").write_text(tree())
