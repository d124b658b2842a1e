"""A1: fetch latency over a time range. Percentiles are those of all fetches, not averages of percentiles."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from answers.formats import ms
from answers.gold.histogram import added_up
from answers.gold.reader import QueryRows
from answers.gold.selection import (
    IN_SPAN,
    OF_CLIENT,
    OF_EITHER_BROKER,
    OF_PAIRS,
    ONLY,
    STEP,
    WINDOW,
    BrokerPair,
    GoldSelection,
    keys_of,
)
from answers.listing import Listing, broker, count, identifier, milliseconds, text
from schemas.histogram import RELATIVE_ERROR
from schemas.rows import Row

METRICS = ("total", "remote", "leader_local", "true")
QUANTILES = {"p50": 0.5, "p99": 0.99}
DRAWN = ("total", "leader_local", "true")
"""The metrics whose medians are drawn over time."""

_FETCHER = ("leader_id", "kind", "follower_id", "client_id")
_PICKED = f"""
    SELECT *, {STEP} FROM gold.fetch_latency
    WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_CLIENT} AND {OF_PAIRS}
      AND {ONLY}"""


def _summed(metrics: Sequence[str], quantiles: Sequence[str]) -> str:
    """Return the query of each fetcher's counts, and sums and quantiles of some metrics, by step."""
    sums = {"cluster": "min(cluster)", "since": "min(window_start)"}
    sums |= {name: f"sum({name})::BIGINT" for name in ("n", "n_delayed", "n_true")}
    sums |= {
        f"{metric}_{function}_ms": f"{function}({metric}_{function}_ms)"
        for metric in metrics
        for function in ("min", "max")
    }
    sums |= {f"{metric}_sum_ms": f"sum_ms({metric}_sum_ms)" for metric in metrics}
    values = ", ".join(
        f"within_ms(bucket_ms({metric}_{name}), {metric}_min_ms, {metric}_max_ms) AS {metric}_{name}_ms"
        for metric in metrics
        for name in quantiles
    )
    by, hists = ", ".join(_FETCHER), {metric: f"{metric}_hist" for metric in metrics}
    ranks = {name: f"rank_of({QUANTILES[name]}, total)" for name in quantiles}
    return f"""
    WITH picked AS NOT MATERIALIZED ({_PICKED})
    SELECT {by}, {", ".join(sums)}, coalesce(step_at, since) AS window_start, {values},
           {RELATIVE_ERROR}::DOUBLE AS relative_error
    FROM ({added_up("picked", f"{by}, step_at", hists, ranks, sums)})
    ORDER BY {by}, window_start"""


FETCHES, STEPS = _summed(METRICS, tuple(QUANTILES)), _summed(DRAWN, ("p50",))
WINDOWS = f"""
    SELECT COLUMNS(lambda name: name NOT LIKE '%_hist') FROM gold.fetch_latency
    WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_CLIENT}
    ORDER BY window_start, leader_id, kind, follower_id, client_id"""
MEDIANS = f"""
    SELECT window_start, leader_id, kind, follower_id, {", ".join(f"{metric}_p50_ms" for metric in DRAWN)}
    FROM gold.fetch_latency WHERE {IN_SPAN} AND {OF_EITHER_BROKER} AND {OF_CLIENT} AND {OF_PAIRS}
    ORDER BY window_start, leader_id, kind, follower_id, client_id"""
STOCK = """
    SELECT * FROM gold.stock_fetch_total
    WHERE cluster = $cluster AND scraped_at >= $since AND scraped_at < $until
      AND ($broker::INTEGER IS NULL OR leader_id = $broker)"""


def fetches(selection: GoldSelection, *, only: Sequence[datetime] | None = None) -> QueryRows:
    """Return one row per leader and fetcher, over some windows or all; `window_start` is the first one."""
    return selection.rows(FETCHES, is_by_step=False, pairs=None, **selection.of_windows(only))


def windows(selection: GoldSelection) -> QueryRows:
    """Return the rows of `gold.fetch_latency` without histograms."""
    return selection.rows(WINDOWS)


def over_time(selection: GoldSelection, pairs: Collection[BrokerPair] | None = None) -> QueryRows:
    """Return each fetcher's medians of the metrics that are drawn, step by step."""
    if selection.step == WINDOW:
        return selection.rows(MEDIANS, pairs=keys_of(pairs))
    return selection.rows(STEPS, is_by_step=True, only=None, pairs=keys_of(pairs))


def newest_stock(selection: GoldSelection) -> QueryRows:
    """Return the last scrape of each leader."""
    return selection.rows(
        f"{STOCK} QUALIFY row_number() OVER (PARTITION BY leader_id ORDER BY scraped_at DESC) = 1"
    )


def stock(selection: GoldSelection) -> QueryRows:
    """Return Kafka's own TotalTimeMs of follower fetches."""
    return selection.rows(f"{STOCK} ORDER BY scraped_at, leader_id")


def slowest(followers: Sequence[Row]) -> Row | None:
    """Return the follower and leader with the highest true median; None without a follower's log."""
    known = [row for row in followers if row["true_p50_ms"] is not None]
    return max(known, key=lambda row: row["true_p50_ms"], default=None)


def headline(followers: Sequence[Row]) -> tuple[str, list[str]]:
    """Return the sentence about the slowest follower and leader, and its evidence."""
    worst = slowest(followers)
    if worst is None:
        needed = "True latency needs the followers' NetworkClient log; without it only leader_local is known."
        return "True fetch latency is not known: no follower's log is there.", [needed]
    fastest = min(row["true_p50_ms"] for row in followers if row["true_p50_ms"] is not None)
    sentence = (
        f"Broker {worst['follower_id']}'s fetches from broker {worst['leader_id']} are the slowest: "
        f"{ms(worst['true_p50_ms'])} ms at the median, where the plain total reads "
        f"{ms(worst['total_p50_ms'])} ms."
    )
    tail = f"p99 {ms(worst['true_p99_ms'])} ms, n = {worst['n_true']:,}"
    return sentence, [
        f"{tail}; the fastest pair's median is {ms(fastest)} ms.",
        f"Of its total {ms(worst['remote_p50_ms'])} ms (median) are the wait in purgatory for new records.",
    ]


def _fetchers(kind: str) -> Callable[[Sequence[Row]], list[Row]]:
    """Return the function that selects the fetchers of a kind, the busiest first."""
    return lambda rows: sorted((row for row in rows if row["kind"] == kind), key=lambda row: -row["n"])


_LEADER, _CLIENT = broker("leader", "leader_id"), text("client id", "client_id", style="path")
_FETCHES = (
    count("fetches", "n"),
    milliseconds("total p50 ms", "total_p50_ms", style="dim"),
    milliseconds("total p99 ms", "total_p99_ms", style="dim", in_terminal=False),
    milliseconds("wait p50 ms", "remote_p50_ms", style="dim"),
    milliseconds("leader's own p50 ms", "leader_local_p50_ms", style="strong"),
    milliseconds("leader's own p99 ms", "leader_local_p99_ms"),
)
_ABOUT = {"leader's own p99 ms": "total - remote of each request, by the leader's log: without the network."}
FOLLOWERS = Listing(
    name="follower-table",
    title="Followers",
    lead="Percentiles of all fetches of the span, from histograms that are added up.",
    rows=_fetchers("follower"),
    columns=(
        _LEADER,
        identifier("follower", "follower_id"),
        replace(_CLIENT, in_terminal=False),
        *_FETCHES,
        milliseconds("true p50 ms", "true_p50_ms", style="strong"),
        milliseconds("true p99 ms", "true_p99_ms"),
    ),
    about=_ABOUT
    | {"true p99 ms": "KIP-736: elapsed at the follower - remote of each request; needs the follower's log."},
)
CONSUMERS = Listing(
    name="consumer-table",
    title="Consumers",
    lead="Fetches of consumers, with and without the wait for new records (fetch.max.wait.ms).",
    rows=_fetchers("consumer"),
    columns=(_LEADER, _CLIENT, *_FETCHES),
    about=_ABOUT,
)
SHARES = replace(
    CONSUMERS,
    name="share-table",
    title="Share consumers",
    lead="Fetches of share groups (SHARE_FETCH), with and without the wait: for new records, for records "
    "that other members hold, and until the share coordinator has stored the acknowledgements of the fetch.",
    rows=_fetchers("share"),
)
RAFTS = replace(
    CONSUMERS,
    name="raft-table",
    is_folded=True,
    title="Fetches of the metadata log (raft)",
    lead="",
    rows=_fetchers("raft"),
)
