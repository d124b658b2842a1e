"""A task's memory is bounded by bytes: however many large records a batch has, and however large they are."""

import os
import subprocess
import sys

import pytest

from conf.settings import PROJECT
from jobs.session import ARROW_POOL, NEEDED

MOST_MIB = 512


@pytest.mark.parametrize(("kind", "n"), [("lines", 100), ("pages", 8)])
def test_large_records_do_not_add_up(kind, n, tmp_path):
    as_worker = os.environ | {ARROW_POOL.removeprefix("spark.executorEnv."): NEEDED[ARROW_POOL]}
    program = [sys.executable, "-m", "tests.engine.ingest.large_records", kind]

    few, many = (
        int(subprocess.check_output([*program, tmp_path / str(of), str(of)], cwd=PROJECT, env=as_worker))
        for of in (n // 4, n)
    )

    assert many < MOST_MIB
    assert many < few + 64
