"""When an arm of the produce waits meets its targets: each miss is seen."""

from dataclasses import replace

import pytest

from benchmarks.produce.arms import ARMS
from benchmarks.produce.judge import Judged, is_met

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
)
MISSED = {
    "too few requests": {"requests": 999},
    "too few are held": {"held": 199},
    "too few are right": {"right": 189},
    "too many are wrong": {"wrong": 5},
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


def test_a_quiet_arm_may_have_few_held_requests_but_names_them_rightly():
    quiet = replace(GOOD, held=20, right=19, wrong=0, injected_ms=None, rise_ms=None, trip_rise_ms=None)

    assert is_met(OF["quiet"], quiet)
    assert not is_met(OF["quiet"], replace(quiet, right=18))


def test_a_slow_disk_moves_the_followers_own_time_and_not_the_round_trip():
    disk = replace(GOOD, injected_ms=None, means_ms=STILL | {"busy": (0.0, 0.4), "own_append": (0.4, 1.0)})

    assert is_met(OF["slow-disk"], disk)
    assert not is_met(OF["slow-disk"], replace(disk, means_ms=STILL | {"busy": (0.0, 0.9)}))
    assert not is_met(OF["slow-disk"], replace(disk, trip_rise_ms=0.6))
    assert not is_met(OF["slow-disk"], replace(disk, trip_rise_ms=None))
    assert is_met(OF["pauses"], replace(disk, means_ms=STILL))
    assert not is_met(OF["pauses"], replace(disk, trip_rise_ms=0.6))


def test_with_acks_1_no_request_is_held():
    acks_1 = replace(GOOD, held=0, right=0, wrong=0, outcomes={"not_held": 1_000})

    assert is_met(OF["acks-1"], acks_1)
    assert not is_met(OF["acks-1"], replace(acks_1, outcomes={"not_held": 999, "tie": 1}))
    assert not is_met(OF["acks-1"], replace(acks_1, requests=999))
