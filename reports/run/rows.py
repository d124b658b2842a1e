"""From frames of gold to the rows a report shows: spans cut, summaries added up, instants in UTC."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from engine.delta import tables
from reports.answers import Answers
from reports.document import QUARANTINE
from reports.findings import Finding, findings, headline
from reports.run.run_changes import run_changes
from reports.truth import injected_against_measured
from schemas.fields import HISTOGRAM
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
from schemas.rows import Row
from schemas.silver.metrics import METRIC_SERIES
from schemas.silver.not_kept import QUARANTINE as QUARANTINE_TABLE
from schemas.silver.not_kept import SKIPPED
from schemas.silver.perf_test import CLIENT_METRICS, PERF_SUMMARIES, RUNS
from transforms.gold.broker_rtt.table import broker_rtt_summary
from transforms.gold.fetch_latency.summary import fetch_latency_summary
from transforms.gold.leader_local_mean.summary import leader_local_mean_summary
from transforms.gold.leader_redirect.summary import leader_redirect_summary
from transforms.gold.metadata_lookup.summary import metadata_lookup_summary
from transforms.gold.metrics.missing import missing_metrics
from transforms.gold.partition_skew.metrics import partition_skew_metrics
from transforms.gold.partition_skew.span import partition_skew_span
from transforms.gold.partition_skew.summary import partition_skew_summary
from transforms.gold.reassignment_progress.forecast import reassignment_forecast
from transforms.gold.reassignment_progress.summary import reassignment_summary
from transforms.gold.runs.perf_runs import payloads, perf_runs
from transforms.gold.throttle_compliance.summary import throttle_compliance_summary

PREVIEW_BYTES = 160
MOST_LISTED_A_REASON = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReportSpan:
    """Which windows to show; an end that is None is open."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, at: str) -> Column:
        """Tell whether an instant lies in the span, its end not included."""
        after = F.col(at) >= F.lit(self.since) if self.since else F.expr("true")
        before = F.col(at) < F.lit(self.until) if self.until else F.expr("true")
        return after & before


IN_WAREHOUSE = {
    "fetch_latency": FETCH_LATENCY,
    "broker_rtt": BROKER_RTT,
    "broker_rtt_culprit": BROKER_RTT_CULPRIT,
    "partition_skew": PARTITION_SKEW,
    "leader_redirect": LEADER_REDIRECT,
    "metadata_lookup": METADATA_LOOKUP,
    "leader_local_mean": LEADER_LOCAL_MEAN,
    "throttle_compliance": THROTTLE_COMPLIANCE,
    "reassignment_progress": REASSIGNMENT_PROGRESS,
    "metric_series": METRIC_SERIES,
    "perf_summaries": PERF_SUMMARIES,
    "client_metrics": CLIENT_METRICS,
    "runs": RUNS,
    "stock_fetch_total": STOCK_FETCH_TOTAL,
    "data_quality": DATA_QUALITY,
    "quarantine": QUARANTINE_TABLE,
    "skipped": SKIPPED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldFrames:
    """The frames a report reads, of one cluster."""

    fetch_latency: DataFrame
    broker_rtt: DataFrame
    broker_rtt_culprit: DataFrame
    partition_skew: DataFrame
    leader_redirect: DataFrame
    metadata_lookup: DataFrame
    leader_local_mean: DataFrame
    throttle_compliance: DataFrame
    reassignment_progress: DataFrame
    metric_series: DataFrame
    perf_summaries: DataFrame
    client_metrics: DataFrame
    runs: DataFrame
    stock_fetch_total: DataFrame
    data_quality: DataFrame
    quarantine: DataFrame
    skipped: DataFrame


class SeveralClustersError(Exception):
    """A report is of one cluster; the message lists which there are."""


class NoRowsError(Exception):
    """Gold has no rows."""


def gold_of_warehouse(spark: SparkSession, warehouse: Path, cluster: str | None) -> GoldFrames:
    """
    Read the tables of one cluster.

    Raises:
        SeveralClustersError: the warehouse holds several and none was chosen, or not the chosen one.
        NoRowsError: no line was ever counted and no round trip was measured.

    """
    frames = {field: tables.read(spark, warehouse, table) for field, table in IN_WAREHOUSE.items()}
    seen = frames["data_quality"].select("cluster").union(frames["broker_rtt"].select("cluster"))
    names = sorted(row["cluster"] for row in seen.distinct().filter("cluster IS NOT NULL").collect())
    if not names:
        raise NoRowsError
    wanted = cluster or (names[0] if len(names) == 1 else None)
    if wanted not in names:
        raise SeveralClustersError(", ".join(names))
    return GoldFrames(
        **{field: frame.filter(F.col("cluster") == F.lit(wanted)) for field, frame in frames.items()}
    )


def answers_of(
    gold: GoldFrames,
    span: ReportSpan,
    *,
    truth: Row | None,
    inputs: Row,
    network_bytes_per_s: float | None = None,
) -> Answers:
    """Collect what a report shows; every frame is cut to the span first."""
    latency = gold.fetch_latency.filter(span.holds("window_start"))
    rtt = gold.broker_rtt.filter(span.holds("window_start"))
    culprits = rows_of(gold.broker_rtt_culprit.filter(span.holds("window_start")), "window_start")
    accused = _core(headline(culprits).finding)
    quiet = _outside(findings(culprits))
    skew = gold.partition_skew.filter(span.holds("window_start"))
    in_span = F.col("logged_at").isNull() | span.holds("logged_at")
    by_node = partition_skew_metrics(gold.client_metrics.filter(in_span), gold.runs)
    of_log = partition_skew_span(skew)
    # The coarser figure stands in for what the request log does not tell.
    skew_span = of_log.unionByName(by_node.join(of_log, on=["cluster", "run"], how="left_anti"))
    sent = payloads(gold.perf_summaries, gold.runs)
    redirects = gold.leader_redirect.filter(span.holds("window_start"))
    lookups = gold.metadata_lookup.filter(span.holds("window_start"))
    throttled = gold.throttle_compliance.filter(span.holds("window_start")).localCheckpoint()
    moving = gold.reassignment_progress.filter(span.holds("window_start")).localCheckpoint()
    means = gold.leader_local_mean.filter(span.holds("window_start"))
    summaries = rows_of(perf_runs(gold.perf_summaries.filter(in_span), gold.runs), "run", "arm")
    changes, untold = run_changes(summaries)
    return Answers(
        fetch_latency=rows_of(latency, "window_start", "leader_id", "kind", "follower_id", "client_id"),
        fetch_latency_summary=rows_of(fetch_latency_summary(latency), "leader_id", "kind", "client_id"),
        fetch_latency_accused=rows_of(
            fetch_latency_summary(latency.filter(accused)), "leader_id", "client_id"
        ),
        broker_rtt=rows_of(rtt, "window_start", "follower_id", "leader_id", "method"),
        broker_rtt_summary=_summary(rtt),
        broker_rtt_accused=_summary(rtt.filter(accused)),
        broker_rtt_quiet=_summary(rtt.filter(quiet)),
        broker_rtt_culprit=culprits,
        partition_skew=rows_of(skew_span, "topic", "client_id", "run", "partition"),
        partition_skew_summary=rows_of(
            partition_skew_summary(skew_span, skew, sent), "topic", "client_id", "run"
        ),
        leader_redirect=rows_of(redirects, "errored_at", "topic", "partition", "client_id"),
        leader_redirect_summary=rows_of(leader_redirect_summary(redirects), "api", "software_version"),
        metadata_lookup=rows_of(metadata_lookup_summary(lookups), "client_id", "software_version", "run"),
        metadata_lookup_windows=rows_of(lookups.drop("topics"), "window_start", "client_id"),
        leader_local_mean=rows_of(means, "window_start", "node", "request"),
        leader_local_mean_summary=rows_of(leader_local_mean_summary(means), "node", "request"),
        missing_metrics=rows_of(missing_metrics(gold.metric_series), "node", "answer"),
        throttle_compliance=rows_of(
            throttle_compliance_summary(throttled), "limited_from", "broker_id", "direction"
        ),
        throttle_compliance_windows=rows_of(
            throttled, "window_start", "broker_id", "direction", "limited_from"
        ),
        reassignment_progress=rows_of(
            reassignment_summary(moving, network_bytes_per_s=network_bytes_per_s), "moved_at"
        ),
        reassignment_progress_windows=rows_of(reassignment_forecast(moving), "moved_at", "window_start"),
        perf_summaries=summaries,
        run_changes=changes,
        run_changes_untold=untold,
        stock_fetch_total=rows_of(
            gold.stock_fetch_total.filter(span.holds("scraped_at")), "scraped_at", "leader_id"
        ),
        data_quality=rows_of(gold.data_quality, "kind", "node", "source"),
        quarantine=[
            {**row, "preview": preview(row["preview"])}
            for row in rows_of(_listed(gold.quarantine), "reason", "source", "position")
        ],
        quarantine_by_reason=rows_of(_by_reason(gold.quarantine), "reason"),
        skipped=rows_of(_by_logger(gold.skipped), "logger", "reason"),
        inputs=inputs,
        truth=_against(truth, rtt),
    )


def _core(finding: Finding | None) -> Column:
    """Tell whether a window is of the finding; none is where there is no finding."""
    return F.col("window_start").isin(list(finding.core)) if finding else F.expr("false")


def _outside(found: Sequence[Finding]) -> Column:
    """Tell whether a window is outside every finding, and some finding there is."""
    outside = [~ReportSpan(one.since, one.named_until).holds("window_start") for one in found]
    return reduce(and_, outside) if outside else F.expr("false")


def _summary(rtt: DataFrame) -> list[Row]:
    return rows_of(broker_rtt_summary(rtt), "method", "follower_id", "leader_id")


def _against(truth: Row | None, rtt: DataFrame) -> list[Row]:
    if truth is None:
        return []
    return injected_against_measured(
        truth, lambda since, until: _summary(rtt.filter(ReportSpan(since, until).holds("window_start")))
    )


def _listed(quarantine: DataFrame) -> DataFrame:
    """Take the first lines of each reason, and of each line its first bytes."""
    nth = F.row_number().over(Window.partitionBy("reason").orderBy("source", "position"))
    return (
        quarantine.withColumn("nth", nth)
        .filter(F.col("nth") <= MOST_LISTED_A_REASON)
        .withColumn("preview", F.substring("value", 1, PREVIEW_BYTES))
        .select(*QUARANTINE)
    )


def _by_reason(quarantine: DataFrame) -> DataFrame:
    return quarantine.groupBy("reason").agg(F.count_distinct("position").alias("lines"))


def _by_logger(skipped: DataFrame) -> DataFrame:
    return skipped.groupBy("logger", "reason").agg(F.sum("lines").alias("lines"))


def preview(value: bytes | None) -> str:
    r"""
    Show the first bytes of a line as text a person can read and no terminal or page can be hurt by.

    >>> preview(b"caf\xc3\xa9\tx\x00\xff")
    'café\\tx\\x00\\xff'
    """
    text = (value or b"").decode("utf-8", errors="backslashreplace")
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def rows_of(frame: DataFrame, *order: str) -> list[Row]:
    """Collect a frame without its histograms; instants become aware datetimes, whatever zone Python is in."""
    readable = [field for field in frame.schema.fields if field.dataType != HISTOGRAM]
    instants = [field.name for field in readable if isinstance(field.dataType, TimestampType)]
    numbers = frame.orderBy(*order).select(
        *[
            F.unix_micros(field.name).alias(field.name) if field.name in instants else F.col(field.name)
            for field in readable
        ]
    )
    rows = [row.asDict(recursive=True) for row in numbers.collect()]
    return [{**row, **{name: _instant(row[name]) for name in instants}} for row in rows]
