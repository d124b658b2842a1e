"""The windows of produce waits: counts, quantiles and histograms of what the requests say."""

from itertools import pairwise

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.produce_held import PRODUCE_HELD, WAITS
from tests.transforms.gold.held_rows import fetch, gold, produce, replicated
from tests.transforms.gold.silver_rows import objects

N = 20


def stream(follower, network_ms, n=N):
    """Make the fetches of a follower: request k is sent at 1,000 k ms and answered to it 0.9 ms later."""
    answers = [(1_000.0 * k + 1.2, 1_000.0 * (k + 1) + 1.2) for k in range(n)]
    first = fetch(-500.0, 1.2, 10, follower, 0)
    return [
        first,
        *(fetch(begin + network_ms, end, 11 + k, follower, k + 1) for k, (begin, end) in enumerate(answers)),
    ]


def produces(network_ms, n=N):
    return [produce(1_000.0 * k, 1_000.0 * k + 1.2 + network_ms + 0.3, 10 + k) for k in range(n)]


LINES = [*stream(2, 2.0), *stream(3, 10.0), *produces(10.0)]


def test_rows_are_the_gold_table_and_nothing_gives_nothing():
    assert gold(LINES).schema == arrow_schema(PRODUCE_HELD)
    assert objects(gold([])) == []


def test_the_counts_add_up_and_every_request_counts_once():
    rows = objects(gold([*LINES, produce(400.0, 400.4, 500)]))

    assert sum(row.n for row in rows) == N + 1
    assert {(row.follower_id, row.n == row.n_released) for row in rows} == {(3, True), (None, False)}
    assert [row.n_not_held for row in rows if row.follower_id is None] == [1]


def test_quantiles_and_sums_are_those_of_the_requests():
    rows = [row for row in objects(gold(LINES)) if row.n > 1]

    assert sum(row.n for row in rows) == N
    for row in rows:
        assert row.held_p50_ms == pytest.approx(7.9, rel=0.011)
        assert (row.network_p10_ms, row.remote_p50_ms) == pytest.approx((10.0, 11.1), rel=0.011)
        assert row.held_sum_ms == pytest.approx(7.9 * row.n)
        assert all(sum((row[f"{name}_hist"] or {}).values()) == row.n for name in list(WAITS)[:6])
        assert row.own_append_p50_ms is None
        parts = sum(row[f"{name}_sum_ms"] for name in ("busy", "serve", "network", "take"))
        assert parts == pytest.approx(row.remote_sum_ms)
    assert all(before.window_start < after.window_start for before, after in pairwise(rows))


def test_a_quiet_cluster_has_ties_and_no_accused_follower():
    rows = objects(gold([*stream(2, 2.0), *stream(3, 2.2), *produces(2.2)]))

    assert {(row.follower_id, row.n_released, row.n_tie) for row in rows if row.n > 1} <= {
        (3, 0, row.n) for row in rows
    }


def test_without_a_name_of_the_topic_its_id_is_shown():
    (row,) = objects(gold([*replicated(2, 3.2), *replicated(3, 11.2), produce(0.0, 11.5)], names=False))

    assert (row.topic, row.n_released) == ("AAAAAAAAAAAAAAAAAAAAAg", 1)
