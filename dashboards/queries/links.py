"""A1 and A2 out of gold: round trips of pairs, who is slow, and what fetches really took."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from dashboards.asked import DashboardRequest
from dashboards.queries.histogram import added_up, at_rank
from reports.findings import Finding
from schemas.rows import Row

COARSE_MS, MIN_N_P10, MIN_N_P50 = 1.0, 30, 12
WINDOW = timedelta(seconds=10)

IN_SPAN = "cluster = $cluster AND window_start >= $since AND window_start < $until"
OF_BROKER = "($broker::INTEGER IS NULL OR follower_id = $broker OR leader_id = $broker)"
OF_CLIENT = "($client::VARCHAR IS NULL OR client_id = $client)"

CULPRITS = f"SELECT * FROM gold.broker_rtt_culprit WHERE {IN_SPAN} ORDER BY window_start"

ESTIMATOR = f"""CASE WHEN n >= {MIN_N_P10} AND clock_resolution_ms < {COARSE_MS} THEN 'p10'
    WHEN n >= {MIN_N_P50} THEN 'p50' END"""

_PAIR = "follower_id, leader_id, method, step_at"
_PICKED = f"""
    SELECT *, CASE WHEN $is_by_step THEN time_bucket(to_seconds($step_s), window_start) END AS step_at
    FROM gold.broker_rtt
    WHERE {IN_SPAN} AND {OF_BROKER}
      AND ($only::TIMESTAMPTZ[] IS NULL OR list_contains($only::TIMESTAMPTZ[], window_start))
      AND ($but::TIMESTAMPTZ[] IS NULL OR NOT list_contains($but::TIMESTAMPTZ[], window_start))
      AND ($follower::INTEGER IS NULL OR (follower_id = $follower AND leader_id = $leader))"""
_ENDS = ", ".join(
    f"{at_rank(f'{which}_rank({q}, blocks, total)')} AS {which}_{name}"
    for name, q in (("p10", 0.1), ("p50", 0.5))
    for which in ("low", "high")
)
_RTT = f"""
    WITH picked AS ({_PICKED}),
    sums AS (
        SELECT {_PAIR}, min(window_start) AS since, max(window_start) + INTERVAL 10 SECOND AS until,
               count(*) AS windows, sum(n)::BIGINT AS n, sum(blocks)::BIGINT AS blocks,
               min(rtt_min_ms) AS rtt_min_ms, max(rtt_max_ms) AS rtt_max_ms,
               max(clock_resolution_ms) AS clock_resolution_ms
        FROM picked GROUP BY ALL
    ),
    ranked AS ({added_up("picked", _PAIR, "rtt_hist")}),
    keys AS (
        SELECT follower_id, leader_id, method, ranked.step_at AS step_at,
               {at_rank("rank_of(0.1, total)")} AS p10,
               {at_rank("rank_of(0.5, total)")} AS p50, {at_rank("rank_of(0.99, total)")} AS p99, {_ENDS}
        FROM ranked JOIN sums USING (follower_id, leader_id, method)
        WHERE ranked.step_at IS NOT DISTINCT FROM sums.step_at GROUP BY ALL
    ),
    told AS (
        SELECT sums.*, {ESTIMATOR} AS estimator, low_p10, high_p10, low_p50, high_p50,
               within_ms(bucket_ms(p10), rtt_min_ms, rtt_max_ms) AS rtt_p10_ms,
               within_ms(bucket_ms(p50), rtt_min_ms, rtt_max_ms) AS rtt_p50_ms,
               within_ms(bucket_ms(p99), rtt_min_ms, rtt_max_ms) AS rtt_p99_ms
        FROM sums JOIN keys USING (follower_id, leader_id, method)
        WHERE sums.step_at IS NOT DISTINCT FROM keys.step_at
    )
    SELECT * EXCLUDE (low_p10, high_p10, low_p50, high_p50, step_at),
           coalesce(step_at, since) AS window_start,
           CASE estimator WHEN 'p10' THEN rtt_p10_ms WHEN 'p50' THEN rtt_p50_ms END AS rtt_ms,
           edge_ms(CASE estimator WHEN 'p10' THEN low_p10 WHEN 'p50' THEN low_p50 END, -1) AS rtt_low_ms,
           edge_ms(CASE estimator WHEN 'p10' THEN high_p10 WHEN 'p50' THEN high_p50 END, 1) AS rtt_high_ms
    FROM told ORDER BY method, follower_id, leader_id, window_start"""
_RTT_WINDOWS = f"""
    SELECT window_start, follower_id, leader_id, method, n, estimator, rtt_ms, rtt_low_ms, rtt_high_ms,
           rtt_p50_ms, rtt_p99_ms
    FROM gold.broker_rtt
    WHERE {IN_SPAN} AND {OF_BROKER}
      AND ($follower::INTEGER IS NULL OR (follower_id = $follower AND leader_id = $leader))
    ORDER BY window_start"""
BASELINE = """
    SELECT arg_max(COLUMNS(['p10_ms', 'p50_ms', 'windows']), hour) FROM gold.broker_rtt_baseline
    WHERE cluster = $cluster AND follower_id = $follower AND leader_id = $leader AND method = $method
      AND hour < $until"""

METRICS = ("total", "remote", "leader_local", "true")
_FETCHER = "leader_id, kind, follower_id, client_id, step_at"
_OF_FETCHES = f"""
    SELECT *, CASE WHEN $is_by_step THEN time_bucket(to_seconds($step_s), window_start) END AS step_at
    FROM gold.fetch_latency
    WHERE {IN_SPAN} AND {OF_BROKER} AND {OF_CLIENT}
      AND ($only::TIMESTAMPTZ[] IS NULL OR list_contains($only::TIMESTAMPTZ[], window_start))
      AND ($follower::INTEGER IS NULL OR (follower_id = $follower AND leader_id = $leader))"""


def _fetches() -> str:
    """Add up each metric's histograms by themselves, and join them to the counts; NULL is a key here."""
    same = " AND ".join(
        f"{{0}}.{name} IS NOT DISTINCT FROM sums.{name}" for name in _FETCHER.replace(" ", "").split(",")
    )
    bounds = ", ".join(
        f"min({name}_min_ms) AS {name}_min_ms, max({name}_max_ms) AS {name}_max_ms" for name in METRICS
    )
    keys = ", ".join(
        f"""{name}_keys AS (
            SELECT {_FETCHER}, {at_rank("rank_of(0.5, total)")} AS p50,
                   {at_rank("rank_of(0.99, total)")} AS p99
            FROM ({added_up("picked", _FETCHER, f"{name}_hist")}) GROUP BY ALL)"""
        for name in METRICS
    )
    told = ", ".join(
        f"within_ms(bucket_ms({name}_keys.{q}), {name}_min_ms, {name}_max_ms) AS {name}_{q}_ms"
        for name in METRICS
        for q in ("p50", "p99")
    )
    joins = " ".join(f"LEFT JOIN {name}_keys ON {same.format(f'{name}_keys')}" for name in METRICS)
    return f"""
        WITH picked AS ({_OF_FETCHES}),
        sums AS (
            SELECT {_FETCHER}, min(window_start) AS since, sum(n)::BIGINT AS n,
                   sum(n_delayed)::BIGINT AS n_delayed, sum(n_true)::BIGINT AS n_true, {bounds}
            FROM picked GROUP BY ALL),
        {keys}
        SELECT sums.* EXCLUDE (step_at), coalesce(sums.step_at, since) AS window_start, {told}
        FROM sums {joins} ORDER BY leader_id, kind, follower_id, client_id, window_start"""


_FETCHES = _fetches()


def culprits(asked: DashboardRequest) -> list[Row]:
    """Read who was accused, window by window."""
    return asked.rows(CULPRITS)


def outside(found: Sequence[Finding]) -> list[datetime]:
    """List the windows of every finding, a lingering name's too: what is left is quiet."""
    windows = []
    for one in found:
        at = one.since
        while at < one.named_until:
            windows.append(at)
            at += WINDOW
    return windows


def round_trips(
    asked: DashboardRequest,
    *,
    only: Sequence[datetime] | None = None,
    but: Sequence[datetime] | None = None,
    pair: tuple[int, int] | None = None,
) -> list[Row]:
    """Add each pair's round trips up over the span: as `gold.broker_rtt_summary`."""
    return asked.rows(_RTT, is_by_step=False, only=_list(only), but=_list(but), **_of(pair))


def round_trips_over_time(asked: DashboardRequest, pair: tuple[int, int] | None = None) -> list[Row]:
    """Give each pair's round trips step by step; longer steps than a window are added up, not averaged."""
    if asked.step == WINDOW:
        return asked.rows(_RTT_WINDOWS, **_of(pair))
    return asked.rows(_RTT, is_by_step=True, only=None, but=None, **_of(pair))


def fetches(
    asked: DashboardRequest, *, only: Sequence[datetime] | None = None, pair: tuple[int, int] | None = None
) -> list[Row]:
    """Add each fetcher's fetches up over the span, percentiles of all of them."""
    return asked.rows(_FETCHES, is_by_step=False, only=_list(only), **_of(pair))


def fetches_over_time(asked: DashboardRequest, pair: tuple[int, int] | None = None) -> list[Row]:
    """Give each fetcher's percentiles step by step."""
    if asked.step == WINDOW:
        query = f"{_OF_FETCHES} ORDER BY window_start"
        lean = query.replace("SELECT *,", f"SELECT {_WITHOUT_HISTOGRAMS},")
        return asked.rows(lean, is_by_step=False, only=None, **_of(pair))
    return asked.rows(_FETCHES, is_by_step=True, only=None, **_of(pair))


_WITHOUT_HISTOGRAMS = "* EXCLUDE (" + ", ".join(f"{name}_hist" for name in METRICS) + ")"


def baseline(asked: DashboardRequest, pair: tuple[int, int], method: str) -> Row:
    """Give a pair's own quiet level as it was frozen last; NULLs without one."""
    follower, leader = pair
    return asked.rows(BASELINE, follower=follower, leader=leader, method=method)[0]


def _of(pair: tuple[int, int] | None) -> dict[str, int | None]:
    follower, leader = pair or (None, None)
    return {"follower": follower, "leader": leader}


def _list(windows: Sequence[datetime] | None) -> list[datetime] | None:
    return None if windows is None else list(windows)
