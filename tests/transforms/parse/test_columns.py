"""Parser rows have the columns of their tables, in the same order."""

import pytest

from schemas.silver import SILVER
from schemas.silver.metrics import METRICS
from schemas.silver.requests import REQUEST_PARTITION
from transforms.parse.brokers import BrokerRow
from transforms.parse.client_events import ClientEvent
from transforms.parse.cluster_polls import ClusterPoll
from transforms.parse.leadership_changes import LeadershipChange
from transforms.parse.perf.figures import PerfSummary, PerfWindow
from transforms.parse.perf.metrics import ClientMetric
from transforms.parse.perf.run import RunRow
from transforms.parse.requests.admin import IsrChange, Reassignment
from transforms.parse.requests.parser import TopicRow
from transforms.parse.requests.partitions import RequestPartition
from transforms.parse.requests.roles import ListenerRow
from transforms.parse.requests.row import Request
from transforms.parse.scrapes.rows import MetricScrape, MetricSeries
from transforms.parse.throttles import ThrottleChange

SCHEMAS = {table.name: table.schema for table in (*SILVER, *METRICS)}
ROWS = {
    "brokers": BrokerRow,
    "client_events": ClientEvent,
    "client_metrics": ClientMetric,
    "cluster_polls": ClusterPoll,
    "isr_changes": IsrChange,
    "leadership_changes": LeadershipChange,
    "listeners": ListenerRow,
    "metric_scrapes": MetricScrape,
    "metric_series": MetricSeries,
    "perf_summaries": PerfSummary,
    "perf_windows": PerfWindow,
    "reassignments": Reassignment,
    "requests": Request,
    "runs": RunRow,
    "throttle_changes": ThrottleChange,
    "topics": TopicRow,
}


@pytest.mark.parametrize("table", ROWS)
def test_a_row_has_the_columns_of_its_table(table):
    assert list(ROWS[table]._fields) == SCHEMAS[table].names


def test_a_partition_has_the_fields_of_its_struct():
    assert list(RequestPartition._fields) == REQUEST_PARTITION.names
