"""Each job starts as a program; `tests/cluster` and `tests/dags` run most of them with `spark-submit`."""

import os
import subprocess
import sys

import pytest

from conf.settings import PROJECT

MAINS = sorted((PROJECT / "jobs").glob("[!_]*.py"))


@pytest.mark.parametrize("main", MAINS, ids=lambda main: main.stem)
def test_a_job_starts_as_a_program_and_shows_an_example(main):
    done = subprocess.run(
        [sys.executable, str(main), "--help"],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Example:" in done.stdout
    assert f"plumbline {main.stem.replace('_', '-')}" in done.stdout
