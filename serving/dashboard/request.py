"""A request for a page: gold, restricted by the filters in the page's address."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from answers.gold import contents
from answers.gold.edges import clusters_of
from answers.gold.reader import GoldReader
from answers.gold.relations import FIRST
from answers.gold.selection import GoldSelection, step_of
from schemas.rows import Row
from serving.dashboard.filters import AGAINST, Filters

REACH = timedelta(days=1)
"""The longest span, if no other is set."""


@dataclass(frozen=True)
class DashboardRequest:
    """Gold, the filters of a page, and `reach`: the longest span, counted back from the newest window."""

    gold: GoldReader
    filters: Filters
    reach: timedelta = REACH

    @cached_property
    def clusters(self) -> list[str]:
        """The names of all clusters."""
        return clusters_of(self.gold)

    @cached_property
    def cluster(self) -> str | None:
        """The chosen cluster, else the first."""
        wanted = self.filters.cluster
        return wanted if wanted in self.clusters else next(iter(self.clusters), None)

    @cached_property
    def edges(self) -> Row:
        """The `oldest` and the `newest` window of the cluster, of any table."""
        return contents.edges(self.gold, self.cluster)

    @cached_property
    def begin(self) -> datetime:
        """The earliest begin of a span: the oldest window, or `reach` before the newest one."""
        oldest, newest = self.edges["oldest"], self.edges["newest"]
        return max(oldest, newest - self.reach) if newest else FIRST

    @cached_property
    def span(self) -> tuple[datetime, datetime]:
        """The span of the page."""
        since, until = self.filters.times(self.edges["newest"])
        return min(max(since, self.begin), until).astimezone(UTC), until.astimezone(UTC)

    @cached_property
    def selection(self) -> GoldSelection:
        """The rows that the page shows."""
        since, until = self.span
        follower, leader = self.filters.follower, self.filters.leader
        return GoldSelection(
            gold=self.gold,
            cluster=self.cluster or "",
            since=since,
            until=until,
            broker=self.filters.broker,
            topic=self.filters.topic,
            client=self.filters.client,
            step=step_of(until - since),
            pair=None if follower is None or leader is None else (follower, leader),
            is_following=self.filters.until is None,
            run=self.filters.run,
            incident=self.filters.incident,
            against=AGAINST[self.filters.against] or until - since if self.filters.against else None,
        )

    def address(self, path: str, changes: Row) -> str:
        """Return the address of a page, with the filters of this page and some changes."""
        return f"{path}{replace(self.filters, **changes).query()}"
