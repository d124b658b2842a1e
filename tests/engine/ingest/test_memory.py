"""A task's memory does not grow with the number of large records in a batch."""

import os
import subprocess
import sys

import pytest

from conf.settings import PROJECT
from jobs.session import ARROW_POOL, NEEDED

MOST_MIB = 512


@pytest.mark.parametrize(("kind", "n"), [("lines", 100), ("pages", 8)])
def test_memory_does_not_grow_with_the_number_of_large_records(kind, n, tmp_path):
    as_worker = os.environ | {ARROW_POOL.removeprefix("spark.executorEnv."): NEEDED[ARROW_POOL]}
    program = [sys.executable, "-m", "tests.engine.ingest.large_records", kind]

    few, many = (
        int(subprocess.check_output([*program, tmp_path / str(size), str(size)], cwd=PROJECT, env=as_worker))
        for size in (n // 4, n)
    )

    assert many < MOST_MIB
    assert many < few + 64
