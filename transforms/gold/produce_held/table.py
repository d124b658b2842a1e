"""A7: how long PRODUCE requests wait for replication, and for which follower (KIP-736)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from schemas.fields import Table
from schemas.gold.produce_held import PRODUCE_HELD, WAITS
from schemas.histogram import RELATIVE_ERROR
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.listeners import LISTENERS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES
from schemas.silver.topics import TOPICS
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.entries import names_touch
from transforms.gold.produce_held.held import (
    CLIENT_EVENTS_REACH,
    ISR_REACH,
    OUTCOMES,
    READS,
    REQUESTS_REACH,
    load_held,
)
from transforms.gold.unanswered import limit_unanswered
from transforms.quantiles import Histograms
from transforms.sql import bucket, connect, finite, is_in, rows_of, sum_ms, with_columns

GRAIN = "cluster, window_s, leader_id, follower_id, topic"


def produce_held() -> str:
    """Return the query of one row per window, leader, follower and topic, without quantiles, over `held`."""
    values = (f"{finite(f'{name}_ms')} AS {name}" for name in WAITS)
    waiting = "FROM held SELECT * REPLACE (nullif(remote_ms, 0) AS remote_ms)"
    waited = ", ".join(_of_wait(name) for name in WAITS)
    counts = ", ".join(f"count(*) FILTER (outcome = '{outcome}') AS n_{outcome}" for outcome in OUTCOMES)
    return f"""
        SELECT {GRAIN}, count(*) AS n, {counts}, {waited}
        FROM (SELECT {GRAIN}, outcome, {", ".join(values)} FROM ({waiting})) GROUP BY {GRAIN}
    """


def with_quantiles(rows: pa.Table) -> pa.Table:
    """Add the quantiles and the relative error."""
    columns: dict[str, pa.Array] = {}
    for name, quantiles in WAITS.items():
        hists = Histograms(rows[f"{name}_hist"])
        low, high = (rows[f"{name}_{end}_ms"].to_numpy() for end in ("min", "max"))
        for q in quantiles:
            columns[f"{name}_p{q}_ms"] = pa.array(hists.quantile(q / 100, low, high), from_pandas=True)
    return with_columns(rows, {**columns, "relative_error": pa.array(np.full(len(rows), RELATIVE_ERROR))})


def _of_wait(name: str) -> str:
    return f"""histogram({bucket(name)})::MAP(INT, BIGINT) AS {name}_hist, {sum_ms(name)} AS {name}_sum_ms,
        min({name}) AS {name}_min_ms, max({name}) AS {name}_max_ms"""


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    with connect({}) as db:
        load_held(db, inputs, is_in(inputs.windows))
        limit_unanswered(db, "held", "leader_id", "topic")
        found = db.sql(produce_held()).to_arrow_table()
    return {PRODUCE_HELD: rows_of(PRODUCE_HELD, with_quantiles(found))}


BUILD = Build(
    name="produce_held",
    tables=(PRODUCE_HELD,),
    rows=_rows,
    reads=READS,
    whole=(TOPICS, LISTENERS),
    touched_by=(
        Touch(table=REQUESTS, where="api = 'PRODUCE' OR kind = 'follower'", reach=REQUESTS_REACH),
        Touch(table=CLIENT_EVENTS, reach=CLIENT_EVENTS_REACH),
        Touch(table=ISR_CHANGES, reach=ISR_REACH),
        names_touch(REQUESTS_REACH),
    ),
)
