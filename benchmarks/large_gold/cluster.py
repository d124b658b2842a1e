"""The rows of gold of a large cluster, for any span of windows; the same seed gives the same rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import default_rng

from benchmarks.large_gold.pool import drawn, pools
from benchmarks.large_gold.rest import REST
from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.histogram import LN_GAMMA
from transforms.gold.broker_rtt.grid import METHODS, Ints
from transforms.spans import Span
from transforms.sql import connect
from transforms.windows import WINDOW_S

NAME = "large"
SLOW, SLOW_MS = (3, 1), 20.0
"""The follower and the leader of the slow link, and how much slower it is."""

CLIENTS, LEADERS_OF_CLIENT = 200, 3
MICROS = 1_000_000


@dataclass(frozen=True)
class LargeCluster:
    """A cluster with a throttled move and a slow link from these instants on (epoch seconds)."""

    brokers: int
    moved_from: int
    slow_from: int
    seed: int = 1

    @cached_property
    def _pools(self) -> dict[str, pa.Table]:
        return pools(default_rng(self.seed))

    def rows(self, span: Span) -> dict[Table, pa.Table]:
        """Return the rows of a span, of all tables that are made window by window."""
        starts = np.arange(*span, WINDOW_S)
        with connect({"starts": pa.table({"second": starts})}) as db:
            db.execute(f"SET VARIABLE brokers = {self.brokers}; SET VARIABLE moved_from = {self.moved_from}")
            found = {table: [db.sql(query).to_arrow_table()] for table, query in REST.items()}
        found[BROKER_RTT] = [self._of_pairs(starts, method, "rtt") for method in METHODS]
        found[FETCH_LATENCY] = [self._of_pairs(starts, "follower", "true"), self._of_clients(starts)]
        return {
            table: pa.concat_tables([self._whole(table, part) for part in parts])
            for table, parts in found.items()
        }

    def counts(self, end: int) -> pa.Table:
        """Return the counts of lines at an instant."""
        lines = end - self.moved_from
        nodes = [f"broker-{broker + 1}" for broker in range(self.brokers)]
        counted = {"lines_read": lines, "kept": lines, "quarantined": 0, "skipped": 0, "duplicates": 0}
        ends = {"first_logged_at": self.moved_from * MICROS, "last_logged_at": end * MICROS}
        rows = [{**counted, **ends, "node": node, "kind": "request-log", "source": node} for node in nodes]
        return self._whole(DATA_QUALITY, pa.Table.from_pylist(rows))

    def _of_pairs(self, starts: Ints, pool: str, metric: str) -> pa.Table:
        """Return a row per window and pair; the metric has the pair's round trip, 0.3 to 3 ms."""
        pairs = np.argwhere(~np.eye(self.brokers, dtype=bool)) + 1
        normal = default_rng(self.seed).integers(-60, 55, len(pairs))
        slow = np.round(np.log(np.exp(normal * LN_GAMMA) + SLOW_MS) / LN_GAMMA).astype(np.int64)
        is_slow = (pairs == SLOW).all(axis=1) & (starts[:, None] >= self.slow_from)
        rng = default_rng([self.seed, int(starts[0])])
        level = np.where(is_slow, slow, normal) + rng.integers(-1, 2, (len(starts), 1))
        window, pair = (each.ravel() for each in np.indices(level.shape))
        follower, leader = pairs[pair].T
        keys = {"window_start": starts[window] * MICROS, "follower_id": follower, "leader_id": leader}
        names = np.char.add(np.char.add("broker-", follower.astype(str)), "-fetcher-0")
        return _with(drawn(rng, self._pools[pool], {metric: level.ravel()}), **keys, client_id=names)

    def _of_clients(self, starts: Ints) -> pa.Table:
        """Return a row per window, client and leader that it fetches from; clients differ in latency."""
        shape = (len(starts), CLIENTS, LEADERS_OF_CLIENT)
        window, client, nth = (each.ravel() for each in np.indices(shape))
        rng = default_rng([self.seed, int(starts[0])])
        return _with(
            drawn(rng, self._pools["consumer"], {"leader_local": client % 90}),
            window_start=starts[window] * MICROS,
            leader_id=(client + 7 * nth) % self.brokers + 1,
            follower_id=pa.nulls(len(client), pa.int32()),
            kind=pa.repeat("consumer", len(client)),
            client_id=np.char.add("app-", client.astype(str)),
        )

    def _whole(self, table: Table, rows: pa.Table) -> pa.Table:
        """Return rows in the schema of a table; columns that they lack are NULL."""
        shared: dict[str, Any] = {"cluster": NAME, "is_settled": True, "is_balanced": True}
        shared |= dict.fromkeys(("nodes_expected", "nodes_reporting"), self.brokers)
        schema, n, known = arrow_schema(table), rows.num_rows, set(rows.column_names) - {"cluster"}
        columns = [
            rows[field.name].cast(field.type)
            if field.name in known
            else pa.repeat(pa.scalar(shared.get(field.name), field.type), n)
            for field in schema
        ]
        return pa.table(columns, schema=schema)


def _with(rows: pa.Table, **columns: Any) -> pa.Table:  # noqa: ANN401 (arrays of NumPy or Arrow)
    kept = rows.drop_columns([name for name in columns if name in rows.column_names])
    for name, values in columns.items():
        kept = kept.append_column(name, pa.array(values))
    return kept
