"""Windows of one made pair: the rows that the real transforms make of its fetches."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.random import Generator

from schemas.histogram import GAMMA
from transforms.gold.broker_rtt.grid import METHODS, Ints
from transforms.gold.broker_rtt.table import broker_rtt, with_estimates
from transforms.gold.fetch_latency.pairing import MONO_RESOLUTION_MS
from transforms.gold.fetch_latency.table import fetch_latency, with_quantiles
from transforms.sql import connect, window_s

WINDOWS = 3_000
FETCHES_OF_WINDOW = 40
"""About this number of fetches fits into a window, because of their waits in purgatory."""


def pools(rng: Generator) -> dict[str, pa.Table]:
    """Return rows of a pair with round trips of 1 ms, by method (`broker_rtt`) or kind (`fetch_latency`)."""
    with connect({"made": _fetches(rng, WINDOWS * FETCHES_OF_WINDOW)}) as db:
        db.execute(f"CREATE TEMP TABLE fetches AS SELECT *, {window_s('logged_us')} AS window_s FROM made")
        # In an order, so that a seed always draws the same rows.
        trips, fetches = (
            db.sql(f"FROM ({query}) ORDER BY window_s").to_arrow_table()
            for query in (broker_rtt(), fetch_latency())
        )
    trips, fetches = with_estimates(trips), with_quantiles(fetches)
    # A consumer's log is not read.
    known = [name for name in fetches.column_names if not name.startswith(("true_", "n_true"))]
    of_method = {method: trips.filter(pc.equal(trips["method"], method)) for method in METHODS}
    return {**of_method, "follower": fetches, "consumer": fetches.select(known)}


def _fetches(rng: Generator, n: int) -> pa.Table:
    """Return fetches of one follower, one after the other, in the columns of `pairing.fetches`."""
    remote_ms = rng.exponential(300.0, n).clip(max=500.0)
    send_ms = rng.lognormal(-3.0, 0.3, n)
    total_ms = remote_ms + rng.lognormal(-0.2, 0.3, n) + send_ms
    logged_ms = np.cumsum(total_ms + rng.lognormal(0.2, 0.2, n))
    columns: dict[str, Any] = dict.fromkeys(("cluster", "client_id", "connection"), "")
    columns |= {"kind": "follower", "follower_id": 2, "leader_id": 1, "correlation_id": np.arange(n)}
    columns |= {"clock_resolution_ms": 1.0, "elapsed_resolution_ms": MONO_RESOLUTION_MS}
    columns |= {"total_ms": total_ms, "remote_ms": remote_ms, "send_ms": send_ms}
    columns["logged_us"] = (logged_ms * 1e3).astype(np.int64)
    columns["logged_mono_ns"] = (logged_ms * 1e6).astype(np.int64)
    columns["elapsed_ms"] = total_ms - send_ms + rng.lognormal(0.0, 0.15, n)
    return pa.table({name: np.broadcast_to(values, n) for name, values in columns.items()})


def drawn(rng: Generator, pool: pa.Table, levels: Mapping[str, Ints]) -> pa.Table:
    """
    Return random rows of a pool, one per element of the levels.

    `levels` has numbers of buckets by metric. A level of k moves each bucket of the metric by k, and so
    multiplies its times by GAMMA ** k.
    """
    n = len(next(iter(levels.values())))
    rows = pool.take(pa.array(rng.integers(pool.num_rows, size=n))).combine_chunks()
    for metric, level in levels.items():
        for place, name in enumerate(rows.column_names):
            if name.startswith(f"{metric}_"):
                rows = rows.set_column(place, name, _moved(rows[name].chunk(0), level))
    return rows


def _moved(values: pa.Array, level: Ints) -> pa.Array:
    if not pa.types.is_map(values.type):
        return pa.array(values.to_numpy(zero_copy_only=False) * GAMMA**level, from_pandas=True)
    keys = values.keys.to_numpy() + np.repeat(level, np.diff(values.offsets.to_numpy()))
    return pa.MapArray.from_arrays(values.offsets, pa.array(keys, pa.int32()), values.items)
