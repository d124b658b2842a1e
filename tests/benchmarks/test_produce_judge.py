"""When an arm of the produce waits meets its targets: each miss is seen."""

from dataclasses import replace

import pytest

from benchmarks.produce import judge
from benchmarks.produce.arms import ARMS
from benchmarks.produce.judge import Judged, compared, is_met
from benchmarks.produce.oracle import Released
from tests.transforms.gold.held_rows import produce, replicated, silver
from tests.transforms.gold.silver_rows import whole

OF = {arm.name: arm for arm in ARMS}
STILL = dict.fromkeys(("busy", "serve", "network", "take", "own_append", "round_trip"), (1.0, 1.0))
GOOD = Judged(
    requests=1_000,
    held=200,
    right=190,
    wrong=4,
    outcomes={"released": 194, "tie": 806},
    rise_ms=10.6,
    injected_ms=10.0,
    means_ms=STILL,
    trip_rise_ms=0.5,
    out_of_isr=0,
    accused=(None, (2, 1)),
)
MISSED = {
    "too few requests": {"requests": 999},
    "too few are held": {"held": 199},
    "too few are right": {"right": 189},
    "too many are wrong": {"wrong": 5},
    "the answer accuses no pair": {"accused": (None, None)},
    "the answer accuses another pair": {"accused": (None, (3, 1))},
    "the answer accuses it in the quiet time too": {"accused": ((2, 1), (2, 1))},
    "one names a follower outside the ISR": {"out_of_isr": 1},
    "the network rose by too much": {"rise_ms": 10.61},
    "the network rose by too little": {"rise_ms": 9.39},
    "the rise is not known": {"rise_ms": None},
}


@pytest.mark.parametrize("miss", MISSED.values(), ids=MISSED)
def test_an_arm_with_a_slow_link(miss):
    assert is_met(OF["slow-link"], GOOD)
    assert not is_met(OF["slow-link"], replace(GOOD, **miss))


def test_with_whole_milliseconds_fewer_must_be_right_and_no_part_is_judged():
    coarse = replace(GOOD, right=186, wrong=6, rise_ms=None)

    assert is_met(OF["slow-link"], coarse, whole_ms=True)
    assert not is_met(OF["slow-link"], coarse)
    assert not is_met(OF["slow-link"], replace(coarse, right=185), whole_ms=True)
    assert not is_met(OF["slow-link"], replace(coarse, wrong=7), whole_ms=True)


def test_a_quiet_arm_has_fewer_held_requests_but_names_them_rightly():
    quiet = replace(GOOD, held=100, right=95, wrong=0, injected_ms=None, rise_ms=None, accused=(None, None))

    assert is_met(OF["quiet"], quiet)
    assert not is_met(OF["quiet"], replace(quiet, right=94))
    assert not is_met(OF["quiet"], replace(quiet, held=99))


def test_an_arm_of_which_too_much_is_unmatched_is_not_met():
    assert is_met(OF["slow-link"], replace(GOOD, outcomes={"unmatched": 20, "tie": 980}))
    assert not is_met(OF["slow-link"], replace(GOOD, outcomes={"unmatched": 21, "tie": 979}))


SLOW_NS, END_NS, BASE_NS = 100 * 10**9, 200 * 10**9, 7 * 10**15
DONE = {"quiet_ns": 0, "slow_ns": SLOW_NS, "end_ns": END_NS, "topic": "t"}


class MadeOracle:
    """Knows the releaser of each base offset; it demands the instant of the append."""

    def __init__(self, of):
        """Know these."""
        self.of = of

    def released(self, parts, appended_ns):
        """Return that of the one offset."""
        [(partition, offset)] = parts
        assert (partition, appended_ns) == (("t", 4), BASE_NS - 3_000_000)
        return self.of[offset]


def request_of(nth, at_s, outcome, follower, **more):
    row = {"position": nth, "leader_id": 1, "follower_id": follower, "topic": "t", "outcome": outcome}
    row |= {"logged_us": at_s * 10**6, "remote_ms": 2.0, "network_ms": 1.0, "round_trip_ms": 0.5}
    return row | dict.fromkeys(("busy_ms", "serve_ms", "take_ms", "own_append_ms"), 0.1) | more


def judged_of(arm, rows, truths):
    requests = {
        row["position"]: {"partitions": [{"partition": 4, "offset": row["position"]}], "total_ms": 5.0}
        | {"request_queue_ms": 0.5, "local_ms": 1.5, "logged_mono_ns": BASE_NS}
        for row in rows
    }
    return compared(OF[arm], DONE, rows, requests, {1: MadeOracle(truths)})


def test_requests_of_the_slow_time_that_were_held_are_compared_with_the_oracle():
    rows = [
        request_of(0, 99, "released", 2),  # before the slow time
        request_of(1, 100, "released", 2),
        request_of(2, 150, "released", 3),  # the oracle says 2
        request_of(3, 150, "tie", 2),  # named, but as a tie
        request_of(4, 150, "unmatched", None),
        request_of(5, 150, "released", 2),  # held by 1.9 ms
        request_of(6, 150, "released", 2),  # the ISR changed
        request_of(7, 150, "not_held", None, remote_ms=0.0),
        request_of(8, 200, "released", 2),  # after it
        request_of(9, 150, "released", 2, topic="another"),
    ]
    truths = dict.fromkeys(range(10), Released(2, 2.0)) | {5: Released(2, 1.9), 6: None}

    found = judged_of("slow-link", rows, truths)

    assert (found.requests, found.held, found.right, found.wrong) == (7, 4, 1, 1)
    assert found.outcomes == {"not_held": 1, "released": 4, "tie": 1, "unmatched": 1}
    assert (found.injected_ms, found.out_of_isr, found.rise_ms) == (10.0, 0, None)


def test_the_rise_is_that_of_the_slowed_pair_from_the_quiet_to_the_slow_time():
    quiet = [request_of(nth, 50, "released", 2, network_ms=1.0 + nth / 100) for nth in range(40)]
    slow = [request_of(nth, 150, "released", 2, network_ms=11.5 + nth / 100) for nth in range(40, 80)]
    others = [request_of(nth, 150, "released", 3, network_ms=90.0) for nth in range(80, 120)]
    found = judged_of("slow-link", [*quiet, *slow, *others], dict.fromkeys(range(120), Released(2, 10.0)))

    assert found.rise_ms == pytest.approx(10.9)
    assert found.trip_rise_ms == pytest.approx(0.0)
    assert found.means_ms["network"] == pytest.approx((1.195, 12.095))


def test_a_name_of_the_stopped_follower_must_be_the_oracles():
    rows = [request_of(nth, 150, "released", follower) for nth, follower in enumerate((3, 3, 3, 2))]
    truths = {0: Released(3, 9.0), 1: Released(2, 0.1), 2: None, 3: Released(2, 9.0)}

    assert judged_of("out-of-isr", rows, truths).out_of_isr == 2
    assert judged_of("slow-link", rows, truths).out_of_isr == 0


def test_a_slow_disk_moves_the_followers_own_time_and_not_the_round_trip():
    disk = replace(
        GOOD,
        accused=(None, (3, 1)),
        injected_ms=None,
        means_ms=STILL | {"busy": (0.0, 0.4), "own_append": (0.4, 1.0)},
    )

    assert is_met(OF["slow-disk"], disk)
    assert not is_met(OF["slow-disk"], replace(disk, means_ms=STILL | {"busy": (0.0, 0.9)}))
    assert not is_met(OF["slow-disk"], replace(disk, trip_rise_ms=0.6))
    assert not is_met(OF["slow-disk"], replace(disk, trip_rise_ms=None))
    assert is_met(OF["pauses"], replace(disk, means_ms=STILL))
    assert is_met(OF["pauses"], replace(disk, accused=(None, None)))
    assert not is_met(OF["slow-disk"], replace(disk, accused=(None, None)))
    assert not is_met(OF["pauses"], replace(disk, trip_rise_ms=0.6))


def test_with_acks_1_no_request_is_held():
    acks_1 = replace(GOOD, held=0, right=0, wrong=0, outcomes={"not_held": 1_000})

    assert is_met(OF["acks-1"], acks_1)
    assert not is_met(OF["acks-1"], replace(acks_1, outcomes={"not_held": 999, "tie": 1}))
    assert not is_met(OF["acks-1"], replace(acks_1, requests=999))


def test_the_requests_that_are_judged_are_the_produce_lines():
    fast, slow = replicated(2, 3.2), replicated(3, 11.2)

    requests, held = judge._held(whole(silver([*fast, *slow, produce(0.0, 11.5)])))

    assert [row["total_ms"] for row in requests.values()] == [pytest.approx(11.6)]
    assert [(row["position"], row["outcome"]) for row in held] == [(*requests, "released")]
