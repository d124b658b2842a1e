"""One writer of a layer."""

import multiprocessing
import os

import pytest

from conf.exit_codes import HeldError
from engine.process.lease import lease


def hold(warehouse, is_held, may_end):
    with lease(warehouse, "gold", timeout_s=5):
        is_held.set()
        may_end.wait(30)


def test_second_writer_is_told_which_process_holds_the_lease(tmp_path):
    context = multiprocessing.get_context("spawn")
    is_held, may_end = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path, is_held, may_end))
    other.start()
    try:
        assert is_held.wait(30)
        with (
            pytest.raises(HeldError, match=f"process {other.pid} "),
            lease(tmp_path, "gold", timeout_s=0.2),
        ):
            pass
    finally:
        may_end.set()
        other.join(30)


def test_lease_ends_with_its_process_however_that_ends(tmp_path):
    context = multiprocessing.get_context("spawn")
    is_held, never = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path, is_held, never))
    other.start()
    assert is_held.wait(30)
    other.kill()
    other.join(30)

    with lease(tmp_path, "gold", timeout_s=1):
        assert str(os.getpid()) in (tmp_path / "_gold.holder.json").read_text()
    assert not (tmp_path / "_gold.holder.json").exists()
