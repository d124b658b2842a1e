"""The gold tables built from silver, for streams, back-fills and folders of raw files."""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.gold.metadata_lookup import METADATA_LOOKUP
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from transforms.gold.broker_rtt import table
from transforms.gold.fetch_latency import pairing
from transforms.gold.fetch_latency.table import fetch_latency
from transforms.gold.leader_local_mean.intervals import intervals_of
from transforms.gold.leader_local_mean.table import leader_local_mean
from transforms.gold.leader_redirect.disconnect import leader_disconnect
from transforms.gold.leader_redirect.table import leader_redirect
from transforms.gold.metadata_lookup.table import metadata_lookup
from transforms.gold.metrics.facts import facts
from transforms.gold.partition_skew.table import partition_skew
from transforms.windows import COVERAGE_REACH, Reach

REACH: dict[Table, Reach] = {
    REQUESTS: Reach(
        lookback_s=max(
            COVERAGE_REACH.lookback_s, pairing.REQUESTS_REACH.lookback_s, table.REQUESTS_REACH.lookback_s
        ),
        lookahead_s=pairing.REQUESTS_REACH.lookahead_s,
    ),
    CLIENT_EVENTS: pairing.CLIENT_EVENTS_REACH,
}
"""The reach of `fetch_latency` and `broker_rtt`. Both are built together, so the wider reach applies."""

FOLLOWERS_REACH = Reach(
    lookback_s=table.REQUESTS_REACH.lookback_s, lookahead_s=pairing.REQUESTS_REACH.lookahead_s
)
"""Their reach for follower fetches; for other fetches `pairing.REQUESTS_REACH` is enough."""


def fetch_tables(fetches: DataFrame, covered: DataFrame) -> dict[Table, DataFrame]:
    """Build `fetch_latency` and `broker_rtt` from paired fetches and the coverage of windows."""
    return {
        FETCH_LATENCY: fetch_latency(fetches, covered),
        BROKER_RTT: table.broker_rtt(fetches, covered),
    }


def client_tables(silver: Mapping[Table, DataFrame], fetches: DataFrame) -> dict[Table, DataFrame]:
    """Build the tables of clients from silver and from paired fetches, which give the clock offsets."""
    requests, topics, runs = silver[REQUESTS], silver[TOPICS], silver[RUNS]
    lost = (requests, topics, runs, silver[LEADERSHIP_CHANGES], fetches)
    return {
        PARTITION_SKEW: partition_skew(requests, topics, runs),
        LEADER_REDIRECT: leader_redirect(*lost).unionByName(leader_disconnect(*lost)),
        METADATA_LOOKUP: metadata_lookup(requests, runs),
    }


def metric_tables(silver: Mapping[Table, DataFrame]) -> dict[Table, DataFrame]:
    """Build the tables of metrics, with the request log for comparison."""
    intervals = intervals_of(silver[METRIC_SAMPLES], facts(silver[METRIC_SERIES]))
    return {LEADER_LOCAL_MEAN: leader_local_mean(intervals, silver[REQUESTS])}
