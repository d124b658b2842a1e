"""A full disk: told in one line, nothing half, and all well once there is room."""

import random
from types import SimpleNamespace

import pytest

from benchmarks.faults import full_disk
from benchmarks.faults.full_disk import FAULTS, LAST_RESORT, LEFT_PAGES, NEVER_FULL, meets_it_full, moments_of
from conf.exit_codes import ExitCode


@pytest.mark.live
@pytest.mark.faults
@pytest.mark.parametrize("name", FAULTS)
def test_a_disk_that_fills_up_loses_and_doubles_nothing(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []


@pytest.mark.parametrize("room", LEFT_PAGES)
def test_each_try_has_less_room_and_the_last_has_none(room):
    for seed in range(50):
        moments = moments_of(room, random.Random(seed))
        left = [moment.left_pages for moment in moments]

        assert left == sorted(left, reverse=True)
        assert len(set(left[:-1])) == len(left[:-1])
        assert moments[-1] == LAST_RESORT


@pytest.mark.parametrize(
    ("ends", "wrong", "tries"),
    [
        ([(0, ""), (ExitCode.FULL, "the disk is full: DISK (warehouse)")], [], 2),
        ([(0, ""), (0, ""), (0, "")], [NEVER_FULL], 3),
        (
            [(1, "the disk is full: DISK")],
            [f"exit code 1 and not {ExitCode.FULL}: the disk is full: DISK"],
            1,
        ),
        ([(ExitCode.FULL, "the disk is full: other")], ["DISK is not named: the disk is full: other"], 1),
    ],
    ids=["met full at the second try", "never full", "another exit code", "another folder"],
)
def test_a_run_must_meet_a_full_disk(tmp_path, monkeypatch, ends, wrong, tries):
    published, coming = [], iter([(code, told.replace("DISK", str(tmp_path))) for code, told in ends])
    monkeypatch.setattr(full_disk, "_while_it_fills", lambda *_: next(coming))
    site = SimpleNamespace(publish=published.append)
    found = meets_it_full(site, None, tmp_path, [(LAST_RESORT, [n]) for n in range(3)])

    assert [line.replace(str(tmp_path), "DISK") for line in found] == wrong
    assert published == [[n] for n in range(tries)]
