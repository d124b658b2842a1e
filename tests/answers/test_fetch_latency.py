"""A1 added up over a span."""

from datetime import UTC, datetime, timedelta

from answers.fetches.latency import fetches
from answers.fetches.question import answer
from schemas.gold.fetch_latency import FETCH_LATENCY
from tests.answers.selected import selected

START = datetime(2026, 11, 21, 11, 0, tzinfo=UTC)
# Buckets of 500 ms (1002) and 2 ms (726); see `schemas.histogram`.
IDLE, QUICK = 1002, 726


def window(nth, hist, *, client_id="broker-2-fetcher-0", follower_id=2, **more):
    values = {IDLE: 500.0, QUICK: 2.0}
    return {
        "cluster": "lab",
        "window_start": START + nth * timedelta(seconds=10),
        "leader_id": 1,
        "kind": "follower" if follower_id else "consumer",
        "follower_id": follower_id,
        "client_id": client_id,
        "n": sum(hist.values()),
        "n_delayed": 0,
        "n_true": 0,
        "total_hist": hist,
        "total_sum_ms": sum(values[bucket] * n for bucket, n in hist.items()),
        "total_min_ms": min(values[bucket] for bucket in hist),
        "total_max_ms": max(values[bucket] for bucket in hist),
        **more,
    }


def summed(*rows):
    return fetches(selected({FETCH_LATENCY: rows}))


def test_percentile_of_a_span_is_of_its_fetches_and_not_of_its_windows():
    """One busy window of 2 ms outweighs three idle ones of 500 ms; the median of medians would be 500."""
    (row,) = summed(window(0, {QUICK: 90}), *[window(nth, {IDLE: 10}) for nth in (1, 2, 3)])

    assert (row["n"], round(row["total_p50_ms"])) == (120, 2)
    assert 495 < row["total_p99_ms"] <= 500


def test_clients_without_ids_are_kept_apart_from_others_and_not_lost():
    rows = summed(
        window(0, {QUICK: 5}, client_id=None, follower_id=None),
        window(1, {IDLE: 5}, client_id=None, follower_id=None),
        window(0, {IDLE: 7}, client_id="a", follower_id=None),
    )

    by_client = {row["client_id"]: row for row in rows}
    assert {client: row["n"] for client, row in by_client.items()} == {None: 10, "a": 7}
    assert round(by_client[None]["total_p50_ms"]) == 2


def test_missing_metric_stays_null():
    (row,) = summed(window(0, {QUICK: 5}))

    assert row["true_p50_ms"] is None
    assert row["true_sum_ms"] is None


def test_no_windows_give_no_rows():
    assert summed() == []


def test_share_consumers_have_a_table_of_their_own_next_to_consumers():
    rows = [
        window(0, {QUICK: 5}),
        window(0, {IDLE: 5}, client_id="app", follower_id=None),
        window(0, {IDLE: 7}, client_id="app", follower_id=None, kind="share"),
    ]

    sections = {section.name: section for section in answer(selected({FETCH_LATENCY: rows})).sections}

    assert [name for name in sections if name in {"followers", "consumers", "share", "raft"}] == [
        "followers",
        "consumers",
        "share",
    ]
    (table,) = sections["share"].blocks
    assert [(row["kind"], row["client_id"], row["n"]) for row in table.rows] == [("share", "app", 7)]
