import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import truth
from lab.errors import LabError
from lab.layout import Link
from lab.proxy import applied_log
from lab.scenarios import Scenario, ScenarioPlan, Side
from lab.topics import spread

IDS = [1, 2, 3]
PAIRS = [(f, leader) for f in IDS for leader in IDS if f != leader]


@pytest.mark.parametrize(
    ("plan", "shape", "delayed"),
    [
        (ScenarioPlan(scenario=Scenario.HEALTHY), "none", []),
        (ScenarioPlan(scenario=Scenario.SLOW_BROKER, broker=3), "broker", [(1, 3), (2, 3), (3, 1), (3, 2)]),
        (ScenarioPlan(scenario=Scenario.SLOW_LINK, follower=2, leader=1), "link", [(2, 1)]),
        (
            ScenarioPlan(scenario=Scenario.SLOW_SIDE, broker=2, side=Side.FOLLOWER),
            "follower_side",
            [(2, 1), (2, 3)],
        ),
        (
            ScenarioPlan(scenario=Scenario.SLOW_SIDE, broker=2, side=Side.LEADER),
            "leader_side",
            [(1, 2), (3, 2)],
        ),
    ],
)
def test_a_shape_slows_exactly_its_pairs(plan, shape, delayed):
    assert plan.resolved(IDS).shape() == shape
    assert plan.resolved(IDS).delayed(PAIRS) == delayed


@given(
    st.sampled_from(Scenario),
    st.integers(0, 1000),
    st.sampled_from([None, *IDS]),
    st.sampled_from([None, *IDS]),
)
def test_what_is_not_named_is_picked_by_the_seed(scenario, seed, follower, leader):
    """The same seed picks the same, what is named stays, and a link never leads to itself."""
    plan = ScenarioPlan(scenario=scenario, seed=seed, follower=follower, leader=leader)
    if follower is not None and follower == leader and scenario is Scenario.SLOW_LINK:
        with pytest.raises(LabError, match="a link needs two brokers"):
            plan.resolved(IDS)
        return
    resolved = plan.resolved(IDS)

    assert resolved == plan.resolved(IDS)
    assert bool(resolved.delayed(PAIRS)) == (scenario is not Scenario.HEALTHY)
    if scenario is Scenario.SLOW_LINK:
        assert follower in (None, resolved.follower)
        assert leader in (None, resolved.leader)


def test_different_seeds_reach_every_pair():
    plans = [ScenarioPlan(scenario=Scenario.SLOW_LINK, seed=seed).resolved(IDS) for seed in range(100)]

    assert {(plan.follower, plan.leader) for plan in plans} == set(PAIRS)


def test_a_broker_that_is_not_there_is_refused():
    with pytest.raises(LabError, match=r"no broker 7: the brokers are \[1, 2, 3\]"):
        ScenarioPlan(scenario=Scenario.SLOW_BROKER, broker=7).resolved(IDS)


@given(st.integers(2, 7), st.integers(2, 3))
def test_every_ordered_pair_replicates(n, replication_factor):
    ids = list(range(1, n + 1))
    rows = spread(ids, n * (n - 1), replication_factor)

    assert all(len(set(row)) == len(row) == min(n, replication_factor) for row in rows)
    assert {(f, row[0]) for row in rows for f in row[1:]} == {(f, b) for f in ids for b in ids if f != b}
    assert {ids.count(row[0]) for row in rows} == {1}


def test_truth_holds_the_applied_delay_within_the_span_only(tmp_path, monkeypatch):
    clock = iter(range(1000, 2000))
    monkeypatch.setattr(applied_log.time, "time_ns", lambda: next(clock))
    with applied_log.AppliedLog.open(tmp_path) as log:
        for ms in range(1, 102):
            log.add(Link(follower=2, leader=1, listen_port=1, target_port=2), 1, 0, ms * 1_000_000, 0)
        log.add(Link(follower=3, leader=1, listen_port=1, target_port=2), 1, 0, 5_000_000, 0)

    rows = truth.applied_delays(tmp_path, truth.NanosRange(since_ns=1000, until_ns=1101))

    assert rows == [
        {
            "follower_id": 2,
            "leader_id": 1,
            "n": 101,
            "applied_p5_ms": 6.0,
            "applied_p10_ms": 11.0,
            "applied_p50_ms": 51.0,
            "applied_p90_ms": 91.0,
        },
    ]
    (single,) = truth.applied_delays(tmp_path, truth.NanosRange(since_ns=1101, until_ns=1102))
    assert (single["follower_id"], single["n"], single["applied_p50_ms"]) == (3, 1, 5.0)
    assert truth.applied_delays(tmp_path, truth.NanosRange(since_ns=5000, until_ns=6000)) == []
