"""How `fetch_latency` and `broker_rtt` are built; both read the same paired fetches."""

from collections.abc import Collection, Iterable, Mapping

import pyarrow as pa

from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.listeners import LISTENERS
from schemas.silver.requests import REQUESTS
from transforms.gold.broker_rtt.table import LOOKBACK_S, broker_rtt, with_estimates
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.clients import limit_clients
from transforms.gold.fetch_latency import pairing
from transforms.gold.fetch_latency.table import fetch_latency, with_quantiles
from transforms.sql import RowSource, connect, is_in, rows_of, with_columns
from transforms.windows import COVERAGE_REACH, Coverage, Reach

FETCHES_REACH = Reach(lookback_s=LOOKBACK_S, lookahead_s=pairing.REQUESTS_REACH.lookahead_s)
REQUESTS_REACH = Reach(
    lookback_s=max(COVERAGE_REACH.lookback_s, FETCHES_REACH.lookback_s),
    lookahead_s=FETCHES_REACH.lookahead_s,
)


def fetch_tables(
    rows: Mapping[str, RowSource],
    covered: Iterable[Coverage],
    windows: Collection[int] | None = None,
    *,
    skew_s: int = pairing.NEAR_S,
) -> dict[Table, pa.Table]:
    """
    Build both tables from rows of silver (`pairing.rows_of`).

    Only rows of `windows` (epoch seconds) are returned, by default all. `covered` is the result of
    `windows.coverage`.
    """
    wanted = is_in(windows)
    with connect(rows) as db:
        db.execute(f"CREATE TEMP TABLE fetches AS {pairing.fetches(skew_s)}")
        names, others = "client_id, follower_id", "kind <> 'follower'"
        limit_clients(db, "fetches", "TABLE", names=names, at_us="logged_us", condition=others)
        latency = db.sql(fetch_latency(wanted)).to_arrow_table()
        round_trips = db.sql(broker_rtt(wanted)).to_arrow_table()
    of_window = {(of.cluster, int(of.window_start.timestamp())): of for of in covered}
    return {
        FETCH_LATENCY: _as_rows(with_quantiles(latency), of_window, FETCH_LATENCY),
        BROKER_RTT: _as_rows(with_estimates(round_trips), of_window, BROKER_RTT),
    }


def _as_rows(found: pa.Table, covered: Mapping[tuple[str, int], Coverage], table: Table) -> pa.Table:
    """Return rows of a table, with the coverage of their windows."""
    keys = zip(found["cluster"].to_pylist(), found["window_s"].to_pylist(), strict=True)
    known = [covered.get(key) for key in keys]
    names = ("nodes_expected", "nodes_reporting", "is_settled")
    return rows_of(
        table,
        with_columns(found, {name: pa.array([of and getattr(of, name) for of in known]) for name in names}),
    )


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    return fetch_tables(
        pairing.rows_of(inputs, FETCHES_REACH),
        inputs.covered(),
        inputs.windows,
        skew_s=pairing.skew_of(inputs),
    )


BUILD = Build(
    name="fetches",
    tables=(FETCH_LATENCY, BROKER_RTT),
    followed_by=(BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT),
    rows=_rows,
    reads={REQUESTS: REQUESTS_REACH, CLIENT_EVENTS: pairing.CLIENT_EVENTS_REACH},
    whole=(LISTENERS,),
    touched_by=(
        Touch(table=REQUESTS, reach=REQUESTS_REACH),
        Touch(table=CLIENT_EVENTS, reach=pairing.CLIENT_EVENTS_REACH),
    ),
    is_covered=True,
)
