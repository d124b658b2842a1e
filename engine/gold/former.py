"""The streams that gold had before, from whose positions the present one continues (decisions 025, 027)."""

from functools import partial
from typing import Any

from conf.settings import Settings
from engine.delta import tables
from engine.gold.stream import STREAM, GoldStream
from engine.process.hadoop_files import set_aside
from engine.streams.audit.findings import Repair
from engine.streams.log import StreamLog
from schemas.bronze import METRICS
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
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
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES

_FETCHES = (FETCH_LATENCY, BROKER_RTT, BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT, STOCK_FETCH_TOTAL)
_CLIENTS = (PARTITION_SKEW, LEADER_REDIRECT, METADATA_LOOKUP)
_THROTTLES = (THROTTLE_COMPLIANCE, REASSIGNMENT_PROGRESS)
_CHANGES = (THROTTLE_CHANGES, REASSIGNMENTS, ISR_CHANGES)
_ALL = (*_FETCHES, *_CLIENTS, LEADER_LOCAL_MEAN, *_THROTTLES, DATA_QUALITY)

FORMER = (
    (
        GoldStream(
            name="build_gold",
            version=3,
            gold=_ALL,
            read=(
                *(CLIENT_EVENTS, ISR_CHANGES, LEADERSHIP_CHANGES, METRIC_SAMPLES, METRIC_SERIES),
                *(REASSIGNMENTS, REQUESTS, RUNS, THROTTLE_CHANGES),
            ),
        ),
    ),
    (
        GoldStream(
            name="build_gold",
            version=2,
            gold=_ALL,
            read=(
                *(METRICS, REQUESTS, CLIENT_EVENTS, LEADERSHIP_CHANGES, RUNS),
                *(METRIC_SAMPLES, METRIC_SERIES, *_CHANGES),
            ),
        ),
    ),
    tuple(
        GoldStream(name=name, version=1, gold=gold, read=read)
        for name, gold, read in (
            ("build_gold", _FETCHES, (METRICS, REQUESTS, CLIENT_EVENTS)),
            ("build_gold_clients", _CLIENTS, (REQUESTS, LEADERSHIP_CHANGES, RUNS)),
            ("build_gold_metrics", (LEADER_LOCAL_MEAN,), (METRIC_SAMPLES, METRIC_SERIES, REQUESTS)),
            ("build_gold_throttles", _THROTTLES, (REQUESTS, METRIC_SAMPLES, *_CHANGES)),
        )
    ),
)
"""The former streams, the newest first; this one continues where the first complete set of them stopped."""


def starting_versions(settings: Settings) -> dict[Table, int]:
    """
    Return the first version to read of each table: the oldest that a former stream had not read to its end.

    A table that no former stream read begins with its newest version.
    Empty, so that gold is built from all of silver, if a former stream has no position, or if an audit finds
    its checkpoint or tables damaged. Spark ignores the versions once its own checkpoint has a batch.
    """
    for streams in FORMER:
        found: dict[str, int] = {}
        for stream in streams:
            sources = _last_read(StreamLog(stream.checkpoint(settings)))
            if len(sources) != len(stream.read) or stream.repairs(settings):
                break
            for table, offset in zip(stream.read, sources, strict=True):
                # The version before is read once more, because a table may have no newer one.
                version = max(0, int((offset or {}).get("reservoirVersion", 0)) - 1)
                found[table.name] = min(version, found.get(table.name, version))
        else:
            return {
                table: found[table.name] if table.name in found else _newest_version(settings, table)
                for table in STREAM.read
            }
    return {}


def _newest_version(settings: Settings, table: Table) -> int:
    return tables.snapshot(settings.warehouse_root, table).version


def _last_read(log: StreamLog) -> list[dict[str, Any] | None]:
    """Return the offsets of each source after the last finished batch; empty without one."""
    done = [batch for batch in log.commits if log.is_offsets_whole(batch)]
    return log.sources(max(done)) if done else []


def former_repairs(settings: Settings) -> list[Repair]:
    """Return the removal of the former checkpoints, once this stream's first batch is planned."""
    if not StreamLog(STREAM.checkpoint(settings)).offsets:
        return []
    former = (stream for streams in FORMER for stream in streams)
    left = [folder for stream in former if (folder := stream.checkpoint(settings)).exists()]
    return [
        Repair(f"{folder} is replaced by {STREAM.name}; set aside", partial(set_aside, folder))
        for folder in left
    ]
