"""The culprit of simulated clusters: 0.7 ms round trips with 0.1 ms of noise, and a known slowness."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from schemas.arrow import arrow_schema
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from transforms.gold.broker_rtt.baseline import baseline
from transforms.gold.broker_rtt.culprit import culprits, sampling_error_ms
from transforms.gold.broker_rtt.grid import grids
from transforms.gold.broker_rtt.shapes import Thresholds, accumulated

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
THRESHOLDS = Thresholds(
    noise_ms=0.15,
    shared_ms=0.3,
    relative_noise=0.05,
    min_effect_ms=0.5,
    alarm=15.0,
    cap=8.0,
    tie=5.0,
    memory_windows=30,
)

NODES = (1, 2, 3)
FAR_PAIR = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One simulated cluster: how much each pair is slowed in each window."""

    slow_by: Callable[[int, int, int], float]
    nodes: tuple[int, ...] = NODES
    absent: frozenset[tuple[int, int]] = frozenset()
    windows: int = 24
    busy_ms: float = 0.0  # mean of what a busy machine adds to each pair's median, but not to its p10
    n: int = 20
    n_of: dict[tuple[int, int], int] = field(default_factory=dict)  # from window 12 on, where it is not `n`
    nodes_expected: int | None = None
    seed: int = 1


def healthy(_nth, _follower, _leader):
    return 0.0


def from_window_12(pairs, effect_ms=10.0):
    return lambda nth, follower, leader: effect_ms * (nth >= 12 and pairs(follower, leader))


def far(_nth, follower, leader):
    return 5.0 * ((follower, leader) == FAR_PAIR)


SHAPES = {
    "follower_side": (lambda f, _: f == 2, (2, 2, None)),
    "leader_side": (lambda _, leader: leader == 2, (2, None, 2)),
    "broker": (lambda f, leader: 3 in (f, leader), (3, None, None)),
    "link": (lambda f, leader: (f, leader) == (3, 1), (None, 3, 1)),
}
CASES = {
    **{
        f"{name} {effect_ms:g} ms": Case(slow_by=from_window_12(pairs, effect_ms))
        for name, (pairs, _) in SHAPES.items()
        for effect_ms in (3.0, 10.0)
    },
    **{f"healthy {seed}": Case(slow_by=healthy, seed=seed, windows=30) for seed in range(10)},
    "ended": Case(slow_by=lambda nth, f, leader: 10.0 * (12 <= nth < 18 and (f, leader) == (3, 1))),
    "one odd window": Case(slow_by=lambda nth, f, leader: 50.0 * (nth == 14 and (f, leader) == (3, 1))),
    "slow from the start": Case(slow_by=lambda _nth, f, _leader: 5.0 * (f == 2)),
    "all slow": Case(slow_by=lambda nth, _f, _leader: 0.6 * (nth >= 12)),
    **{f"busy {seed}": Case(slow_by=healthy, busy_ms=4.0, seed=seed) for seed in range(10)},
    "busy and a slow link": Case(slow_by=from_window_12(SHAPES["link"][0]), busy_ms=1.5),
    "far, known": Case(slow_by=far),
    "far, unknown": Case(slow_by=far),
    "a log missing": Case(slow_by=from_window_12(lambda f, _: f == 3), absent=frozenset({(1, 3), (2, 3)})),
    "two brokers": Case(slow_by=from_window_12(lambda f, _: f == 1), nodes=(1, 2)),
    "few fetches": Case(slow_by=healthy, n=3),
    "very slow": Case(slow_by=from_window_12(SHAPES["link"][0], 600.0), n_of={(3, 1): 7}),
    "a pair too thin": Case(slow_by=healthy, n_of={(3, 1): 3}),
    "one log of three": Case(
        slow_by=healthy, absent=frozenset({(1, 2), (3, 2), (1, 3), (2, 3)}), nodes_expected=1
    ),
}


def window_rows(cluster, case, windows):
    for nth in windows:
        dice = random.Random(case.seed * 10_000 + nth)
        shared = dice.gauss(0, 0.1)
        pairs = [(f, leader) for f in case.nodes for leader in case.nodes if f != leader]
        for follower, leader in pairs:
            rtt = 0.7 + shared + dice.gauss(0, 0.1) + case.slow_by(nth, follower, leader)
            waits = dice.expovariate(1 / case.busy_ms) if case.busy_ms else 0.0
            told = {
                "cluster": cluster,
                "window_start": NOON + timedelta(seconds=10 * nth),
                "follower_id": follower,
                "leader_id": leader,
                "method": "paired",
                "n": case.n_of.get((follower, leader), case.n) if nth >= 12 else case.n,
                "rtt_p10_ms": rtt - 0.2,
                "rtt_p50_ms": rtt + waits,
                "clock_resolution_ms": 1e-6,
                "nodes_expected": case.nodes_expected or len(case.nodes),
                "nodes_reporting": len(case.nodes),
                "is_settled": True,
            }
            if (follower, leader) not in case.absent:
                yield told


def grids_of(rows):
    return grids(pa.Table.from_pylist(list(rows), schema=arrow_schema(BROKER_RTT)))


def judged(grid, levels=()):
    """Return the verdicts by the number of their window."""
    schema = arrow_schema(BROKER_RTT_CULPRIT)
    rows = pa.Table.from_pylist(culprits(grid, dict(levels), THRESHOLDS), schema=schema).to_pylist()
    return {int((row["window_start"] - NOON).total_seconds()) // 10: SimpleNamespace(**row) for row in rows}


@pytest.fixture(scope="module")
def verdicts():
    """Judge each cluster: its name -> number of the window -> row."""
    yesterday = grids_of(window_rows("far, known", Case(slow_by=far, seed=9), range(-60, 0)))
    noon_s = int(NOON.timestamp())
    levels = {"far, known": {noon_s: baseline(yesterday["far, known"], noon_s, ())}}
    rows = [row for name, case in CASES.items() for row in window_rows(name, case, range(case.windows))]
    return {name: judged(grid, levels.get(name, ())) for name, grid in grids_of(rows).items()}


def words(rows):
    return {row.culprit for row in rows.values()}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("effect_ms", [3.0, 10.0])
def test_a_large_effect_is_named_in_its_second_window(verdicts, name, effect_ms):
    """Within 30 s of its start: a part of a window, and two whole ones."""
    rows = verdicts[f"{name} {effect_ms:g} ms"]
    named = rows[13]

    assert (named.culprit, named.broker_id, named.follower_id, named.leader_id) == (name, *SHAPES[name][1])
    assert named.since == NOON + timedelta(seconds=120)
    assert named.effect_ms == pytest.approx(effect_ms, abs=0.5)
    assert named.effect_low_ms < effect_ms < named.effect_high_ms
    assert {rows[nth].culprit for nth in range(12)} == {"none"}


def test_a_fault_that_ended_is_not_named_any_more(verdicts):
    rows = verdicts["ended"]

    assert rows[17].culprit == "link"
    assert {rows[nth].culprit for nth in range(19, 24)} == {"none"}


def test_a_single_odd_window_accuses_nobody(verdicts):
    assert words(verdicts["one odd window"]) == {"none"}


def test_a_pair_slow_from_the_first_line_on_is_seen_against_its_peers(verdicts):
    rows = verdicts["slow from the start"]

    assert (rows[1].culprit, rows[1].follower_id, rows[1].baseline) == ("follower_side", 2, "peers")
    assert rows[9].since == NOON


def test_what_all_pairs_share_is_nobodys_fault(verdicts):
    """A busy machine slows every pair alike."""
    assert words(verdicts["all slow"]) == {"none"}


def test_a_busy_machine_accuses_nobody(verdicts):
    """Medians of different pairs rise by different amounts, because the round trips of a window spread."""
    said = [words(verdicts[f"busy {seed}"]) for seed in range(10)]

    assert said == [{"none"}] * 10


def test_a_slow_link_is_named_on_a_busy_machine(verdicts):
    rows = verdicts["busy and a slow link"]

    assert {rows[nth].culprit for nth in range(12)} == {"none"}
    assert [(rows[nth].culprit, rows[nth].follower_id, rows[nth].leader_id) for nth in range(14, 24)] == [
        ("link", 3, 1)
    ] * 10


def test_an_own_history_forgives_a_pair_that_was_always_slower(verdicts):
    """Another zone is no fault; against peers alone it would look like one."""
    assert words(verdicts["far, known"]) == {"none"}
    assert verdicts["far, unknown"][9].culprit == "link"


def test_shapes_that_slow_the_same_visible_pairs_are_a_tie(verdicts):
    """Without broker 3's own log its links as a leader are not seen: its side and itself look alike."""
    row = verdicts["a log missing"][13]

    assert row.culprit == "ambiguous"
    assert {(s["culprit"], s["broker_id"]) for s in row.tied} == {("broker", 3), ("follower_side", 3)}
    assert row.effect_ms == pytest.approx(10, abs=0.5)
    assert (row.broker_id, row.pairs_seen, row.pairs_expected) == (None, 4, 6)


def test_two_brokers_show_that_something_is_slow_but_not_what(verdicts):
    """Two pairs alone accuse nobody; against its own history one is slow, and three shapes would do that."""
    rows = verdicts["two brokers"]

    assert rows[3].culprit == "not_enough_data"
    assert rows[13].culprit == "ambiguous"
    assert {shape["culprit"] for shape in rows[13].tied} == {"link", "follower_side", "leader_side"}


def test_link_so_slow_that_it_fetches_little_is_named_all_the_same(verdicts):
    """A wait of 500 ms and 600 ms on the way are 7 fetches in 10 s, too few for `broker_rtt.rtt_ms`."""
    named = verdicts["very slow"][13]

    assert (named.culprit, named.follower_id, named.leader_id) == ("link", 3, 1)
    assert named.effect_ms == pytest.approx(600, abs=1)


def test_a_pair_that_cannot_be_judged_is_not_acquitted(verdicts):
    rows = verdicts["a pair too thin"]

    assert {rows[nth].culprit for nth in range(12)} == {"none"}
    assert {(rows[nth].culprit, rows[nth].pairs_seen) for nth in range(12, 24)} == {("not_enough_data", 5)}


def test_pairs_of_brokers_whose_logs_are_missing_are_expected_too(verdicts):
    assert {(row.pairs_seen, row.pairs_expected) for row in verdicts["one log of three"].values()} == {(2, 6)}


def test_windows_without_estimates_are_told_apart_from_quiet_ones(verdicts):
    assert words(verdicts["few fetches"]) == {"not_enough_data"}


def test_five_minutes_of_ten_healthy_clusters_raise_no_alarm(verdicts):
    assert {word for seed in range(10) for word in words(verdicts[f"healthy {seed}"])} == {"none"}


def test_rows_without_broker_ids_are_windows_without_pairs():
    """A node whose name has no number has no broker id."""
    row, _ = window_rows("lab", Case(slow_by=healthy, nodes=(1, 2)), [0])

    [verdict] = judged(grids_of([{**row, "leader_id": None}])["lab"]).values()
    assert (verdict.culprit, verdict.pairs_seen, verdict.pairs_expected) == ("not_enough_data", 0, 2)


def test_spread_of_one_pair_counts_at_most_three_times_the_typical_spread():
    """A fault that begins within a window widens only its own pairs; their error must not hide it."""
    errors_ms = sampling_error_ms(np.array([[1.0, 1.0, 100.0]]), np.array([[4, 4, 4]]))

    assert errors_ms.tolist() == [[1.0, 1.0, 3.0]]


def test_evidence_does_not_hang_on_how_far_back_was_read():
    """Else a window that is judged again, by a job that began elsewhere, differs in the last digit told."""
    dice = random.Random(4)
    llr = np.array([[dice.gauss(1, 3)] for _ in range(90)])
    starts = 10 * np.arange(90)

    whole, recent = (
        accumulated(starts[of], llr[of], THRESHOLDS)[0][-1, 0]
        for of in (slice(None), slice(-THRESHOLDS.memory_windows, None))
    )
    assert whole == recent
