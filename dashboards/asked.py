"""One look at a warehouse through the filters of a page: cluster, span, and what every query is given."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from dashboards.filters import Filters, step_s
from dashboards.warehouse import DashboardWarehouse
from schemas.rows import Row

CLUSTERS = """
    SELECT cluster FROM gold.broker_rtt UNION SELECT cluster FROM gold.fetch_latency
    UNION SELECT cluster FROM gold.data_quality UNION SELECT cluster FROM gold.partition_skew
    UNION SELECT cluster FROM gold.run_comparison"""
EDGES = """
    SELECT min(window_start) AS oldest, max(window_start) AS newest FROM (
        SELECT cluster, window_start FROM gold.fetch_latency
        UNION ALL SELECT cluster, window_start FROM gold.broker_rtt
        UNION ALL SELECT cluster, window_start FROM gold.partition_skew
        UNION ALL SELECT cluster, window_start FROM gold.leader_redirect
        UNION ALL SELECT cluster, window_start FROM gold.metadata_lookup
        UNION ALL SELECT cluster, window_start FROM gold.throttle_compliance
    ) WHERE cluster = $cluster"""


@dataclass(frozen=True)
class DashboardRequest:
    """A warehouse, and what of it is looked at."""

    warehouse: DashboardWarehouse
    filters: Filters

    @cached_property
    def clusters(self) -> list[str]:
        """Name the clusters there are."""
        rows = self.warehouse.rows(CLUSTERS)
        return sorted(row["cluster"] for row in rows if row["cluster"] is not None)

    @cached_property
    def cluster(self) -> str | None:
        """Name the cluster that is looked at: the one that was chosen, else the first."""
        wanted = self.filters.cluster
        return wanted if wanted in self.clusters else next(iter(self.clusters), None)

    @cached_property
    def edges(self) -> Row:
        """Give the cluster's `oldest` and `newest` window, of any table."""
        return self.warehouse.rows(EDGES, {"cluster": self.cluster})[0]

    @cached_property
    def span(self) -> tuple[datetime, datetime]:
        """Give the span that is looked at, which does not begin before the oldest window."""
        since, until = self.filters.times(self.edges["newest"])
        oldest = self.edges["oldest"] or since
        return min(max(since, oldest), until).astimezone(UTC), until.astimezone(UTC)

    @cached_property
    def step(self) -> timedelta:
        """Give how long a step of a line is."""
        since, until = self.span
        return timedelta(seconds=step_s(until - since))

    def rows(self, query: str, **more: Any) -> list[Row]:  # noqa: ANN401 (parameters of any type)
        """Ask a query; it gets those of the filters that it names, as parameters and never as text."""
        since, until = self.span
        filters = self.filters
        known = {
            "cluster": self.cluster,
            "since": since,
            "until": until,
            "step_s": int(self.step.total_seconds()),
            "broker": filters.broker,
            "topic": filters.topic,
            "client": filters.client,
            **more,
        }
        return self.warehouse.rows(query, {name: v for name, v in known.items() if f"${name}" in query})
