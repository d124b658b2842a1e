"""The part of gold that is answered from: a cluster, a span and filters."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from answers.gold.reader import FIRST, LAST, GoldReader
from schemas.gold import GOLD
from schemas.rows import Row

WINDOW = timedelta(seconds=10)

IN_SPAN = "cluster = $cluster AND window_start >= $since AND window_start < $until"
WINDOW_END = "window_start + INTERVAL 10 SECOND"
OF_PAIR = "($follower::INTEGER IS NULL OR (follower_id = $follower AND leader_id = $leader))"
OF_EITHER_BROKER = "($broker::INTEGER IS NULL OR follower_id = $broker OR leader_id = $broker)"
ONLY = "($only::TIMESTAMPTZ[] IS NULL OR list_contains($only::TIMESTAMPTZ[], window_start))"
STEP = "CASE WHEN $is_by_step THEN time_bucket(to_seconds($step_s), window_start) END AS step_at"
OF_CLIENT = "($client::VARCHAR IS NULL OR client_id = $client)"
NO_CLIENT = "chr(0)"
"""Stands for a client id that is NULL while rows are joined by client; NULL equals nothing."""

OF_TOPIC = "($topic::VARCHAR IS NULL OR topic = $topic)"


def of_all(query: str, *columns: str) -> str:
    """Return the union of a query over each gold table that has the columns; `{table}` is its name."""
    tables = (f"gold.{table.name}" for table in GOLD if set(columns) <= set(table.schema.names))
    return " UNION ".join(query.format(table=table) for table in tables)


_CLUSTERS = of_all("SELECT cluster FROM {table}", "cluster")
CLUSTERS = f"SELECT cluster FROM ({_CLUSTERS}) WHERE cluster IS NOT NULL ORDER BY cluster"


def clusters_of(gold: GoldReader) -> list[str]:
    """Return the names of the clusters that have gold."""
    return [row["cluster"] for row in gold.rows(CLUSTERS)]


def ids_of(pair: tuple[int, int] | None) -> dict[str, int | None]:
    """Return the parameters of `OF_PAIR`; None selects all pairs."""
    follower, leader = pair or (None, None)
    return {"follower": follower, "leader": leader}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSelection:
    """Restricts the rows of gold; a filter that is None does not."""

    gold: GoldReader = field(repr=False)
    cluster: str
    since: datetime = FIRST
    until: datetime = LAST
    broker: int | None = None
    topic: str | None = None
    client: str | None = None
    step: timedelta = WINDOW

    def rows(self, query: str, **more: Any) -> list[Row]:  # noqa: ANN401 (parameters of any type)
        """Return the rows of a query. Texts of users are parameters, never a part of the query."""
        parameters = {
            "cluster": self.cluster,
            "since": self.since,
            "until": self.until,
            "broker": self.broker,
            "topic": self.topic,
            "client": self.client,
            "step_s": int(self.step.total_seconds()),
        }
        return self.gold.rows(query, parameters | more)
