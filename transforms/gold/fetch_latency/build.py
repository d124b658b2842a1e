"""How `fetch_latency` and `broker_rtt` are built; both read the same paired fetches."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from transforms.gold.broker_rtt.table import LOOKBACK_S, broker_rtt, with_estimates
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.fetch_latency import pairing
from transforms.gold.fetch_latency.table import fetch_latency, with_quantiles
from transforms.spans import windows_of
from transforms.sql import connect
from transforms.windows import COVERAGE_REACH, Coverage, Reach

FETCHES_REACH = Reach(lookback_s=LOOKBACK_S, lookahead_s=pairing.REQUESTS_REACH.lookahead_s)
REQUESTS_REACH = Reach(
    lookback_s=max(COVERAGE_REACH.lookback_s, FETCHES_REACH.lookback_s),
    lookahead_s=FETCHES_REACH.lookahead_s,
)


def fetch_tables(
    rows: Mapping[str, pa.RecordBatchReader],
    covered: Iterable[Coverage],
    windows: Iterable[int] | None = None,
    *,
    skew_s: int = pairing.NEAR_S,
) -> dict[Table, pa.Table]:
    """
    Build both tables from rows of silver (`pairing.rows_of`).

    Only rows of `windows` (epoch seconds) are returned, by default all. `covered` is the result of
    `windows.coverage`.
    """
    wanted = "true" if windows is None else f"window_s IN ({', '.join(map(str, sorted(windows)))})"
    with connect(rows) as db:
        db.execute(f"CREATE TEMP TABLE fetches AS {pairing.fetches(skew_s)}")
        latency = db.sql(fetch_latency(wanted)).to_arrow_table()
        round_trips = db.sql(broker_rtt(wanted)).to_arrow_table()
    of_window = {(of.cluster, int(of.window_start.timestamp())): of for of in covered}
    return {
        FETCH_LATENCY: _as_rows(with_quantiles(latency), of_window, FETCH_LATENCY),
        BROKER_RTT: _as_rows(with_estimates(round_trips), of_window, BROKER_RTT),
    }


def _as_rows(found: pa.Table, covered: Mapping[tuple[str, int], Coverage], table: Table) -> pa.Table:
    """Return rows of a table: with the start of the window, and with its coverage."""
    seconds = found["window_s"].to_pylist()
    known = [covered.get(key) for key in zip(found["cluster"].to_pylist(), seconds, strict=True)]
    columns = {name: found[name] for name in found.column_names}
    columns["window_start"] = pa.array([second * 1_000_000 for second in seconds], pa.int64())
    for name in ("nodes_expected", "nodes_reporting", "is_settled"):
        columns[name] = pa.array([of and getattr(of, name) for of in known])
    schema = arrow_schema(table)
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)


def _frames(inputs: Inputs) -> Mapping[Table, pa.Table]:
    return fetch_tables(
        pairing.rows_of(inputs, FETCHES_REACH),
        inputs.covered(),
        None if inputs.spans is None else windows_of(inputs.spans),
        skew_s=pairing.skew_of(inputs),
    )


BUILD = Build(
    name="fetches",
    tables=(FETCH_LATENCY, BROKER_RTT),
    followed_by=(BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT),
    frames=_frames,
    reads={REQUESTS: REQUESTS_REACH, CLIENT_EVENTS: pairing.CLIENT_EVENTS_REACH},
    touched_by=(
        Touch(of=REQUESTS, reach=REQUESTS_REACH),
        Touch(of=CLIENT_EVENTS, reach=pairing.CLIENT_EVENTS_REACH),
    ),
    is_covered=True,
)
