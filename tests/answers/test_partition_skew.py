"""Producers added up over a span: evenness, a slow leader among three, and the partitioner."""

import math
from statistics import pvariance

import pytest

from answers.formats import NONE
from answers.partition_skew.question import QUESTION
from answers.partition_skew.sentences import PRODUCERS, measured, sentences
from answers.partition_skew.spread import MIN_BATCHES, partitions, producers
from schemas.gold.partition_skew import PARTITION_SKEW, PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY
from schemas.silver.perf_test import CLIENT_METRICS, RUNS
from tests.answers import made_gold
from tests.answers.cases import Cases
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.skew_rows import AT, batches_of, gold, produce, silver
from transforms.gold import unanswered
from transforms.gold.clients import OTHERS


def built(silver):
    return {PARTITION_SKEW: gold(silver), RUNS: silver[RUNS]}


def answers(selection):
    return partitions(selection), producers(selection)


CASES = Cases(built, answers)


def test_rows_are_the_declared_ones_and_nothing_gives_nothing():
    rows = [produce(n, n % 3, n // 3 * 10, 1_000) for n in range(9)]
    span, summary = answers(selected(built(silver(rows))))

    assert_declared(span, PARTITION_SKEW_SPAN)
    assert_declared(summary, PARTITION_SKEW_SUMMARY)
    assert answers(selected(built(silver([])))) == ([], [])


def test_topics_that_were_counted_together_have_no_row(monkeypatch):
    monkeypatch.setattr(unanswered, "MOST_UNANSWERED", 3)
    parts = {"error_code": None, "offset": None}
    rows = [produce(n, 0, 0, 70, part=parts | {"topic_id": None, "topic_name": f"t-{n}"}) for n in range(9)]
    made = built(silver(rows))

    assert OTHERS in made[PARTITION_SKEW]["topic"].to_pylist()
    assert {row["topic"] for row in partitions(selected(made))} == {"t-0", "t-1", "t-2"}


def slow_leader(windows):
    """Return three times the bytes to the leader that takes 20 ms and more, in each window."""
    return [
        produce(10 * w + p, p, 10 * w, 300 if p == 0 else 100, total_ms=20.0 + w if p == 0 else 2.0)
        for w in range(windows)
        for p in range(3)
    ]


@CASES.test
def test_the_slowest_leader_is_held_against_the_others():
    _, (summary,) = yield silver(slow_leader(6))

    assert (summary["slowest_leader_id"], summary["slowest_ratio"]) == (1, pytest.approx(3.0))
    assert summary["slowest_latency_ratio"] == pytest.approx(11, rel=0.1)
    assert (summary["slow_by"], summary["partitioner"]) == ("leader_latency", None)  # 18 batches are too few
    assert summary["windows"] == 6
    assert summary["share_per_ms_low"] < summary["share_per_ms"] < summary["share_per_ms_high"]
    assert summary["share_per_ms"] == pytest.approx(0.4 / 20.5, rel=0.03)


@CASES.test
def test_interval_of_the_slope_is_the_jackknife_over_windows():
    """In each window one leader has a share of 0.6, and two have 0.2 and are faster by a delay."""
    _, (summary,) = yield silver(slow_leader(6))

    delays = [18.0 + w for w in range(6)]  # ms above the others: 2 / 3 above the mean, twice 1 / 3 below
    products = [0.4 * delay * 6 / 9 for delay in delays]
    squares = [delay**2 * 6 / 9 for delay in delays]
    slope = sum(products) / sum(squares)
    slopes = [
        (sum(products) - product) / (sum(squares) - square)
        for product, square in zip(products, squares, strict=True)
    ]
    half = 1.959964 * math.sqrt(5 * pvariance(slopes))
    assert summary["share_per_ms"] == pytest.approx(slope)
    assert summary["share_per_ms_low"] == pytest.approx(slope - half)
    assert summary["share_per_ms_high"] == pytest.approx(slope + half)


@CASES.test
def test_a_producer_without_a_client_id_is_counted():
    rows = [produce(n, n % 3, n // 3 * 10, 1_000, client_id=None) for n in range(9)]

    span, (summary,) = yield silver(rows)

    assert [(row["client_id"], row["batches"], row["bytes"], row["share"]) for row in span] == [
        (None, 3, 3_000, pytest.approx(1 / 3))
    ] * 3
    assert (summary["client_id"], summary["bytes"], summary["partitions"]) == (None, 9_000, 3)


@CASES.test
def test_a_leader_that_moves_within_a_window_is_the_one_with_most_batches():
    early = [produce(n, 0, 10 * n, 1_000, broker_id=5 if n > 6 else 4) for n in range(9)]
    late = [produce(n, 1, 10 * n, 1_000, broker_id=7 if n > 1 else 6) for n in range(9)]

    span, _ = yield silver([*early, *late])

    assert {row["partition"]: row["leader_id"] for row in span} == {0: 4, 1: 7}


@CASES.test
def test_below_five_windows_the_slope_has_no_interval():
    _, (summary,) = yield silver(slow_leader(4))

    assert summary["share_per_ms"] == pytest.approx(0.4 / 19.5, rel=0.03)
    assert (summary["share_per_ms_low"], summary["share_per_ms_high"]) == (None, None)


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
def test_what_a_slow_leader_gets_speaks_for_a_partitioner_or_for_none(name):
    batches, size, *_, partitioner = SPOKEN[name]
    _, (summary,) = CASES.answer(name)

    assert (summary["slowest_leader_id"], summary["slow_by"]) == (1, "batch_size")
    assert summary["slowest_ratio"] == pytest.approx(batches * size, rel=0.06)
    assert summary["slowest_batches_ratio"] == pytest.approx(batches, rel=0.04)
    assert summary["partitioner"] == partitioner


ENOUGH = {MIN_BATCHES - 1: None, MIN_BATCHES: "sticky"}
CASES.silver |= {
    f"{n} batches": silver(batches_of((1, 1, 1), (450, 100, 100), n=MIN_BATCHES)[:n]) for n in ENOUGH
}


@pytest.mark.parametrize("n", ENOUGH)
def test_a_partitioner_is_named_from_300_batches_on(n):
    _, (summary,) = CASES.answer(f"{n} batches")

    assert (summary["batches"], summary["slow_by"], summary["partitioner"]) == (n, "batch_size", ENOUGH[n])


@CASES.test
def test_a_leader_is_as_slow_as_all_its_requests_together():
    """Two of its requests, of a partition that hardly anybody uses, took 90 ms; two hundred took 2 ms."""
    rows = [produce(n / 10, n % 3, n // 3 * 10, 100) for n in range(600)]
    rows += [produce(n, 3, n * 10, 100, broker_id=1, total_ms=90.0) for n in range(2)]

    _, (summary,) = yield silver(rows)

    assert summary["slow_by"] is None
    assert summary["slowest_latency_ratio"] == pytest.approx(1, rel=0.1)


@CASES.test
def test_a_stay_is_counted_in_full_batches_less_what_chance_gives():
    """Stays of 2, 1 and 3 batches of 10 bytes, the largest 20: 70 bytes in three stays, of two partitions."""
    order = [1, 0, 0, 1, 0, 1, 0, 0, 0, 1]
    rows = [produce(n, p, 10 * n, 20 if n == 4 else 10) for n, p in enumerate(order)]

    _, summaries = yield silver(rows)
    (summary,) = (row for row in summaries if row["slowest_leader_id"] == 1)

    assert summary["slowest_stay_ratio"] == pytest.approx(70 / 3 / 20 * (1 - 1 / 2))


@CASES.test
def test_even_batches_of_even_leaders_speak_for_nobody():
    _, (summary,) = yield silver(batches_of((2, 1, 1), (100, 100, 100)))

    assert (summary["slow_by"], summary["partitioner"], summary["top_share"]) == (None, None, 0.5)


@CASES.test
def test_batches_to_the_same_partition_as_the_one_before_are_held_against_chance():
    """Six of eight follow their like; by chance 25/81 + 16/81 of them would."""
    order = [0, 0, 0, 1, 1, 1, 1, 0, 0]
    rows = [produce(n, p, 10 * n, 5) for n, p in enumerate(order)]

    _, summaries = yield silver([*rows, produce(4.5, 2, 0, 5, client_id="other")])

    (row,) = (row for row in summaries if row["client_id"] == "c")
    assert row["repeat_ratio"] == pytest.approx(6 / (8 * (25 + 16) / 81))


@CASES.test
def test_a_partition_that_got_nothing_counts_as_one():
    """Someone else produces to it, so it is there."""
    rows = [produce(0, 0, 0, 300), produce(1, 1, 0, 100), produce(2, 2, 0, 50, client_id="other")]

    span, summaries = yield silver(rows)

    shares = {r["partition"]: r["share"] for r in span if r["client_id"] == "c"}
    assert shares == {0: 0.75, 1: 0.25, 2: 0.0}
    (row,) = (row for row in summaries if row["client_id"] == "c")
    assert (row["partitions"], row["max_over_mean"], row["top_share"]) == (3, pytest.approx(2.25), 0.75)
    assert row["effective_partitions"] == pytest.approx(1 / (0.75**2 + 0.25**2))
    assert row["gini"] == pytest.approx(0.5)  # of 0, 100, 300: by hand
    assert row["coefficient_of_variation"] == pytest.approx(0.9354, abs=1e-4)
    assert (row["chi_square"], row["degrees_of_freedom"]) == (pytest.approx(1.0), 2)


def sized(size, configuration):
    """Return a run with the size of its records; batches of ten records have 100 bytes."""
    run = {"cluster": "lab", "run": "r1", "arm": "sticky", "client_id": "c", "position": "r"}
    run |= {"started_at": AT, "record_size_bytes": size, "configuration": configuration}
    return silver(batches_of((1, 1, 1), (100, 100, 100), n=30), [run])


SIZES = {
    "records of 10": (10, [], []),
    "records of 11": (11, [], ["bytes_do_not_add_up"]),
    "compressed": (11, ["compression.type=lz4"], []),
}
CASES.silver |= {name: sized(*case[:2]) for name, case in SIZES.items()}


@pytest.mark.parametrize("name", SIZES)
def test_bytes_that_cannot_hold_what_was_sent_are_flagged(name):
    """Batches of ten records have 100 bytes: enough for records of 10 and not for those of 11."""
    _, (summary,) = CASES.answer(name)

    assert (summary["run"], summary["quality_flags"]) == ("r1", SIZES[name][-1])


def of(rows, **tables):
    return selected({PARTITION_SKEW: rows} | tables, cluster="east")


def retried(nth, partition):
    """Return a row of batches that a client sent again: they have a latency and no bytes of their own."""
    none = dict.fromkeys(("batches", "bytes", "records", "batches_counted"), 0)
    return made_gold.skew(nth, partition) | none | {"retried": 40}


@pytest.mark.parametrize("partitions_with_bytes", [(0,), ()], ids=["one", "none"])
def test_a_leader_is_not_judged_against_leaders_with_retries_alone(partitions_with_bytes):
    rows = [
        (made_gold.skew if partition in partitions_with_bytes else retried)(0, partition)
        for partition in range(3)
    ]

    [row] = producers(of(rows))
    answer = QUESTION.answer(of(rows))

    assert row["slowest_latency_ratio"] == pytest.approx(5, rel=0.05)
    assert (row["slow_by"], row["slowest_ratio"]) == (None, None)
    assert "no leader is slow for it" in sentences([row])[0]
    assert [section.name for section in answer.sections] == ["shares-of", "skew"]
    assert answer.headline.mood == "calm"


def test_batches_that_were_sent_again_are_flagged():
    rows = [made_gold.skew(0, partition) for partition in range(3)]

    assert [row["quality_flags"] for row in producers(of(rows))] == [[]]
    rows[0] |= {"retried": 1}
    assert [row["quality_flags"] for row in producers(of(rows))] == [["retried_batches"]]


def of_node(node, run="r1", sent=1_000.0):
    metric = {"metric_group": "producer-node-metrics", "metric": "outgoing-byte-total", "value": sent}
    tags = {"client-id": "orders-app", "node-id": node}
    return metric | {"cluster": "east", "run": run, "arm": None, "logged_at": AT, "tags": tags}


def test_bytes_of_nodes_are_of_brokers_alone():
    """`node--1` is a bootstrap connection."""
    selection = selected(
        {CLIENT_METRICS: [of_node(f"node-{n}") for n in (-1, 1, 2)]},
        cluster="east",
    )

    assert [(row["leader_id"], row["share"]) for row in partitions(selection)] == [(1, 0.5), (2, 0.5)]
    [row] = producers(selection)
    assert row["chi_square"] is None
    cells = {column.head: column.cell(row | {"run_name": "r1"}) for column in PRODUCERS.columns}
    assert cells["\N{GREEK SMALL LETTER CHI}\N{SUPERSCRIPT TWO} (df)"] == NONE


def test_a_run_in_the_request_log_is_not_counted_by_node_too():
    rows = [made_gold.skew(0, partition) | {"run": "r1"} for partition in range(3)]
    metrics = [of_node(f"node-{n}", run) for n in (1, 2) for run in ("r1", "r2")]
    selection = selected({PARTITION_SKEW: rows, CLIENT_METRICS: metrics}, cluster="east")

    assert [(row["run"], row["method"]) for row in producers(selection)] == [
        ("r2", "client_metrics"),
        ("r1", "request_log"),
    ]


def test_of_a_client_with_runs_only_the_runs_are_listed():
    rows = [{"client_id": client, "run": run} for client, run in (("a", "r"), ("a", None), ("b", None))]

    assert measured(rows) == [rows[0], rows[2]]
