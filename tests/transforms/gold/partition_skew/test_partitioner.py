"""A slow leader among three: who it is, and which partitioner speaks from what it gets."""

import pytest

from tests.transforms.gold.silver_rows import Cases
from tests.transforms.gold.skew_rows import batches_of, produce, silver, spans_of

CASES = Cases()


@pytest.fixture(scope="module")
def told(spark):
    return spans_of(spark, CASES)


@CASES.test
def test_the_slowest_leader_is_held_against_the_others():
    """Three times the bytes to the leader that takes 20 ms, in each of six windows."""
    rows = [
        produce(10 * w + p, p, 10 * w, 300 if p == 0 else 100, total_ms=20.0 + w if p == 0 else 2.0)
        for w in range(6)
        for p in range(3)
    ]

    _, (summary,) = yield silver(rows)

    assert (summary.slowest_leader_id, summary.slowest_ratio) == (1, pytest.approx(3.0))
    assert summary.slowest_latency_ratio == pytest.approx(11, rel=0.1)
    assert (summary.slow_by, summary.partitioner) == ("leader_latency", None)  # of 18 batches nothing is told
    assert summary.windows == 6
    assert summary.share_per_ms_low < summary.share_per_ms < summary.share_per_ms_high
    assert summary.share_per_ms == pytest.approx(0.4 / 20.5, rel=0.03)


SPOKEN = {  # of the slow leader over the others: batches, their size; in a row, a full one -> partitioner
    "sticky: as many, larger": (1.0, 4.5, 1, 1, "sticky"),
    "sticky with less load": (1.0, 2.4, 1, 1, "sticky"),
    "keys that happen to fall there": (2.2, 2.0, 1, 1, None),
    "keys that wait to be sent together": (1.0, 3.0, 1, 2, None),
    "more than uniform, and stays": (1.3, 2.0, 3, 2, None),
    "uniform": (0.6, 2.8, 3, 2.5, "uniform"),
    "uniform, hardly busy": (0.475, 2.8, 3, 2.5, "uniform"),
    "keys as uneven as that": (0.6, 2.8, 1, 1, None),
    "neither long nor short stays": (0.46, 2.8, 3, 3, None),
    "adaptive, hardly busy": (0.46, 2.8, 3, 4.5, "adaptive"),
    "adaptive that spares it": (0.4, 2.0, 3, 4.5, "adaptive"),
    "stays long and gets little": (0.4, 2.0, 3, 1, None),
    "stays short and gets much": (0.6, 2.8, 3, 4.5, None),
    "keys that are even": (0.5, 2.0, 1, 1, None),
    "hardly anything": (0.25, 2.0, 3, 4.5, None),
}


CASES.silver |= {
    name: silver(batches_of((batches, 1, 1), (round(100 * size), 100, 100), stays=stays, full=full))
    for name, (batches, size, stays, full, _) in SPOKEN.items()
}


@pytest.mark.parametrize("name", SPOKEN)
def test_what_a_slow_leader_gets_speaks_for_a_partitioner_or_for_none(told, name):
    batches, size, *_, partitioner = SPOKEN[name]
    _, (summary,) = told[name]

    assert (summary.slowest_leader_id, summary.slow_by) == (1, "batch_size")
    assert summary.slowest_ratio == pytest.approx(batches * size, rel=0.06)
    assert summary.slowest_batches_ratio == pytest.approx(batches, rel=0.04)
    assert summary.partitioner == partitioner


@CASES.test
def test_a_leader_is_as_slow_as_all_its_requests_together():
    """Two of its requests, of a partition that hardly anybody uses, took 90 ms; two hundred took 2 ms."""
    rows = [produce(n / 10, n % 3, n // 3 * 10, 100) for n in range(600)]
    rows += [produce(n, 3, n * 10, 100, broker_id=1, total_ms=90.0) for n in range(2)]

    _, (summary,) = yield silver(rows)

    assert summary.slow_by is None
    assert summary.slowest_latency_ratio == pytest.approx(1, rel=0.1)


@CASES.test
def test_a_stay_is_told_in_full_batches_less_what_chance_gives():
    """Stays of 2, 1 and 3 batches of 10 bytes, the largest 20: 70 bytes in three stays, of two partitions."""
    order = [1, 0, 0, 1, 0, 1, 0, 0, 0, 1]
    rows = [produce(n, p, 10 * n, 20 if n == 4 else 10) for n, p in enumerate(order)]

    _, summaries = yield silver(rows)
    (summary,) = (row for row in summaries if row.slowest_leader_id == 1)

    assert summary.slowest_stay_ratio == pytest.approx(70 / 3 / 20 * (1 - 1 / 2))


@CASES.test
def test_even_batches_of_even_leaders_speak_for_nobody():
    _, (summary,) = yield silver(batches_of((2, 1, 1), (100, 100, 100)))

    assert (summary.slow_by, summary.partitioner, summary.top_share) == (None, None, 0.5)
