"""Schemas of the gold tables: plain Delta (reader version 1), 10 s windows, additive histograms."""

from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import METRIC_TABLES
from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY
from schemas.gold.metadata_lookup import METADATA_LOOKUP, METADATA_LOOKUP_SUMMARY
from schemas.gold.partition_skew import PARTITION_SKEW, PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE

CLIENT_SUMMARIES = (
    PARTITION_SKEW_SPAN,
    PARTITION_SKEW_SUMMARY,
    LEADER_REDIRECT_SUMMARY,
    METADATA_LOOKUP_SUMMARY,
)

CLIENT_TABLES = (PARTITION_SKEW, LEADER_REDIRECT, METADATA_LOOKUP)

BROKER_TABLES = (
    FETCH_LATENCY,
    BROKER_RTT,
    BROKER_RTT_BASELINE,
    BROKER_RTT_CULPRIT,
    STOCK_FETCH_TOTAL,
    DATA_QUALITY,
)

GOLD = (*BROKER_TABLES, *CLIENT_TABLES, *METRIC_TABLES, THROTTLE_COMPLIANCE, REASSIGNMENT_PROGRESS)
