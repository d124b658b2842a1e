"""The part of gold that is answered from: a cluster, a span and filters."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from answers.gold.reader import GoldReader, QueryRows
from answers.gold.relations import FIRST, LAST
from schemas.gold import GOLD
from schemas.rows import Row

WINDOW = timedelta(seconds=10)
MINUTE = timedelta(minutes=1)

BrokerPair = tuple[int, int]
"""A follower and a leader."""

IN_SPAN = "cluster = $cluster AND window_start >= $since AND window_start < $until"
WINDOW_END = "window_start + INTERVAL 10 SECOND"
OF_PAIRS = """($pairs::BIGINT[] IS NULL
    OR (follower_id::BIGINT << 32) + leader_id IN (SELECT unnest($pairs::BIGINT[])))"""
OF_EITHER_BROKER = "($broker::INTEGER IS NULL OR follower_id = $broker OR leader_id = $broker)"
ONLY = "($only::TIMESTAMPTZ[] IS NULL OR window_start IN (SELECT unnest($only::TIMESTAMPTZ[])))"
STEP = "CASE WHEN $is_by_step THEN time_bucket(to_seconds($step_s), window_start) END AS step_at"
OF_CLIENT = "($client::VARCHAR IS NULL OR client_id = $client)"
NO_CLIENT = "chr(0)"
"""Stands for a client id that is NULL while rows are joined by client; NULL equals nothing."""

OF_TOPIC = "($topic::VARCHAR IS NULL OR topic = $topic)"


def of_all(query: str, *columns: str) -> str:
    """Return the union of a query over each gold table that has the columns; `{table}` is the table."""
    names = (table.name for table in GOLD if set(columns) <= set(table.schema.names))
    return " UNION ".join(query.format(table=f"gold.{name}", name=name) for name in names)


def keys_of(pairs: Collection[BrokerPair] | None) -> list[int] | None:
    """Return the parameter of `OF_PAIRS`; None selects all pairs."""
    return None if pairs is None else [(follower << 32) + leader for follower, leader in sorted(pairs)]


STEPS_S = (10, 60, 300, 1800, 7200, 43200)
MOST_POINTS = 400


def step_of(length: timedelta) -> timedelta:
    """
    Return the length of a step of a figure: a line has at most `MOST_POINTS` steps.

    >>> [str(step_of(timedelta(hours=hours))) for hours in (1, 6, 24, 24 * 30)]
    ['0:00:10', '0:01:00', '0:05:00', '2:00:00']
    """
    enough = (step for step in STEPS_S if length.total_seconds() / step <= MOST_POINTS)
    return timedelta(seconds=next(enough, STEPS_S[-1]))


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
    pair: BrokerPair | None = None
    is_following: bool = False  # the span ends with the newest window
    run: str | None = None  # name of a comparison
    incident: str | None = None  # id of an incident
    against: timedelta | None = None  # how much earlier the span to compare with is
    network_bytes_per_s: float | None = None  # network bandwidth of a broker
    conf: Sequence[str] = ()  # the settings files that name the warehouse, if they are known
    outside: Mapping[str, Sequence[Row]] = field(default_factory=dict, repr=False)  # rows that gold lacks

    @property
    def of_all_brokers(self) -> "GoldSelection":
        """The rows without the filter of brokers: who is slow does not depend on it."""
        return replace(self, broker=None)

    @property
    def earlier(self) -> "GoldSelection | None":
        """The rows of the span to compare with; None without one."""
        if self.against is None:
            return None
        return replace(self, since=self.since - self.against, until=self.until - self.against, against=None)

    @property
    def by_minute(self) -> "GoldSelection":
        """The span; in whole minutes if it follows the newest window, so that few commits move it."""
        if not self.is_following:
            return self
        since, until = self.since, self.until + MINUTE
        return replace(self, since=_whole_minute(since), until=_whole_minute(until))

    def of_windows(self, windows: Sequence[datetime] | None) -> Row:
        """Return the parameter of `ONLY`, and the span of the windows: less is read. None selects all."""
        if not windows:
            return {"only": None if windows is None else []}
        since, until = max(self.since, min(windows)), min(self.until, max(windows) + WINDOW)
        return {"only": list(windows), "since": since, "until": until}

    def rows(self, query: str, **more: Any) -> QueryRows:  # noqa: ANN401 (parameters of any type)
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


def _whole_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
