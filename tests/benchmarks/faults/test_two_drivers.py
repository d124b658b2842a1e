"""Two drivers on one checkpoint, with and without the lease."""

import random
from types import SimpleNamespace

import pytest

from benchmarks.faults.state import two_drivers
from benchmarks.faults.state.two_drivers import FAULTS, FOUND_OUT, collided


@pytest.mark.live
@pytest.mark.faults
@pytest.mark.parametrize("name", FAULTS)
def test_a_second_driver_doubles_nothing(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []


class Driver:
    """A fake driver that ends when lines are published, or when it is stopped."""

    def __init__(self, pid, ends_with=None, *, output="", stops_with=0):
        """Start running, with no exit code."""
        self.pid, self.output, self.code = pid, output, None
        self._ends_with, self._stops_with = ends_with, stops_with

    def meet_lines(self):
        """End with the exit code for new lines."""
        self.code = self._ends_with

    def stop(self):
        """End with the exit code for a stop."""
        self.code = self._stops_with
        return self.code


def wrong_with(*drivers, monkeypatch, holder=2):
    monkeypatch.setattr(two_drivers, "COLLIDE_WITHIN_S", 0.3)
    monkeypatch.setattr(two_drivers, "COMES_TO_WORK_S", 0.3)
    monkeypatch.setattr(two_drivers, "_holder", lambda _: holder)
    site = SimpleNamespace(publish=lambda *_, **__: [driver.meet_lines() for driver in drivers])
    return collided(site, None, drivers, [])


GONE = "ingest stopped: File file:/c/ingest_lines_v1/offsets/..1.466f5b78-daa8.tmp.crc does not exist"


@pytest.mark.parametrize("message", [*FOUND_OUT, GONE])
def test_one_of_two_concurrent_drivers_ends_because_of_the_other(monkeypatch, message):
    second = Driver(2, 1, output=f"ingest stopped: {message}")
    assert wrong_with(Driver(1), second, monkeypatch=monkeypatch) == []


def test_two_drivers_that_never_find_out_are_wrong(monkeypatch):
    (failure,) = wrong_with(Driver(1), Driver(2), monkeypatch=monkeypatch)
    assert failure.endswith("neither found out")


def test_a_second_driver_that_never_holds_the_lease_proves_nothing(monkeypatch):
    (failure,) = wrong_with(Driver(1), Driver(2, 1, output=FOUND_OUT[0]), monkeypatch=monkeypatch, holder=1)
    assert failure.startswith("the second driver did not come past its lease")


def test_a_driver_that_ended_before_both_were_at_work_proves_nothing(monkeypatch):
    gone = Driver(1)
    gone.code = 0
    (failure,) = wrong_with(gone, Driver(2), monkeypatch=monkeypatch)
    assert failure.startswith("process 1 ended with exit code 0")


@pytest.mark.parametrize(("code", "output"), [(0, ""), (1, "ingest stopped: no memory"), (5, FOUND_OUT[0])])
def test_a_driver_that_ends_for_another_reason_is_wrong(monkeypatch, code, output):
    (failure,) = wrong_with(Driver(1), Driver(2, code, output=output), monkeypatch=monkeypatch)
    assert failure.startswith(f"process 2 ended with exit code {code}: ")


def test_the_remaining_driver_must_end_when_it_is_stopped(monkeypatch):
    first, second = Driver(1, stops_with=1, output="why"), Driver(2, 1, output=FOUND_OUT[0])
    assert wrong_with(first, second, monkeypatch=monkeypatch) == ["process 1 ended with exit code 1: why"]
