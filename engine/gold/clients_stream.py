"""The stream that builds the gold tables about clients: which windows of which table new lines touch."""

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.gold.clients import REACHES, ClientWriter
from engine.gold.stream import GoldStream, stream_of
from schemas.fields import Table
from schemas.gold import CLIENT_TABLES
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from transforms.gold.leader_redirect.cause import FOUND_WITHIN_S
from transforms.gold.leader_redirect.client_tries import is_refused
from transforms.gold.leader_redirect.disconnect import TAKEOVER_REACH, is_takeover
from transforms.spans import touched, window_of
from transforms.windows import WINDOW_S, window_start

STREAM = GoldStream(
    name="build_gold_clients", version=1, gold=CLIENT_TABLES, read=(REQUESTS, LEADERSHIP_CHANGES, RUNS)
)

FLAGS = ("is_produce", "is_lookup", "is_error", "is_takeover")


def rebuild(writer: ClientWriter, batch: DataFrame) -> int:
    """Rebuild what a batch touches, table by table; count the windows."""
    windows = touched_by(by_window(batch).collect(), writer.with_redirects, writer.with_takeovers)
    writer.rebuild(windows)
    return sum(len(of) for of in windows.values())


def inputs(spark: SparkSession, settings: Settings) -> DataFrame:
    """Stream the few columns of every input that tell which windows a line touches."""
    never, no = F.lit(None).cast("timestamp"), dict.fromkeys(FLAGS, F.lit(False))
    of_requests = no | {
        "is_produce": F.col("api") == "PRODUCE",
        "is_lookup": F.col("api") == "METADATA",
        "is_error": is_refused(),
    }
    of_changes = no | {"is_takeover": is_takeover()}
    requests, changes, runs = (stream_of(spark, settings, table) for table in STREAM.read)
    return (
        _told(requests, REQUESTS, F.col("logged_at"), never, of_requests)
        .unionByName(_told(changes, LEADERSHIP_CHANGES, F.col("logged_at"), never, of_changes))
        .unionByName(_told(runs, RUNS, F.col("started_at"), F.col("ended_at"), no))
    )


def _told(rows: DataFrame, of: Table, at: Column, until: Column, flags: dict[str, Column]) -> DataFrame:
    return rows.select(
        F.lit(of.name).alias("input"),
        at.alias("at"),
        until.alias("until"),
        *(flag.alias(name) for name, flag in flags.items()),
    )


def by_window(batch: DataFrame) -> DataFrame:
    """Tell of each input and window what kinds of lines came, and of each run how long it lasted."""
    return (
        batch.filter(F.col("at").isNotNull())
        .groupBy("input", F.unix_seconds(window_start(F.col("at"))).alias("slot"))
        .agg(
            F.max(F.unix_seconds("until")).alias("until"),
            *(F.max(flag).alias(flag) for flag in FLAGS),
        )
    )


def touched_by(
    arrived: Sequence[Row], with_redirects: Iterable[int], with_takeovers: Iterable[int]
) -> dict[Table, set[int]]:
    """Give the windows of each table that can change: by its own kind of lines, and by runs."""
    requests = [row for row in arrived if row["input"] == REQUESTS.name]
    slots = {row["slot"] for row in arrived if row["input"] != RUNS.name}
    of_runs = _of_runs(arrived, newest=max(slots, default=0))
    errors, produced, lookups = (
        {row["slot"] for row in requests if row[flag]} for flag in ("is_error", "is_produce", "is_lookup")
    )
    # A takeover's events begin up to a minute before it, and look for their clocks a minute further back.
    taken_over = {row["slot"] for row in arrived if row["is_takeover"]} | _near(
        with_takeovers, slots, before_s=2 * FOUND_WITHIN_S
    )
    found = {
        PARTITION_SKEW: touched(produced, REACHES[PARTITION_SKEW]) | of_runs,
        LEADER_REDIRECT: touched(errors, REACHES[LEADER_REDIRECT])
        | touched(taken_over, TAKEOVER_REACH)
        | (of_runs & set(with_redirects))
        | _near(with_redirects, slots, before_s=FOUND_WITHIN_S),
        METADATA_LOOKUP: lookups | touched(errors, REACHES[METADATA_LOOKUP]) | of_runs,
    }
    return {table: windows for table, windows in found.items() if windows}


def _of_runs(arrived: Iterable[Row], *, newest: int) -> set[int]:
    """Give the windows in which runs lasted; one that has not ended lasts until the newest line."""
    return {
        window
        for row in arrived
        if row["input"] == RUNS.name
        for window in range(row["slot"], window_of(row["until"] or newest) + 2 * WINDOW_S, WINDOW_S)
    }


def _near(windows: Iterable[int], slots: Iterable[int], *, before_s: int) -> set[int]:
    """Keep the windows that lines lie near: from `before_s` before to `FOUND_WITHIN_S` behind."""
    return {
        window
        for window in windows
        if any(window - before_s <= slot <= window + FOUND_WITHIN_S + WINDOW_S for slot in slots)
    }
