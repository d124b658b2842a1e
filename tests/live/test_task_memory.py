"""A task's memory is bounded in bytes: it does not depend on how many large records a batch has."""

import os
import subprocess
import sys

import pytest

from conf.settings import PROJECT
from engine.process.session import NEEDED, WORKER_ENV
from tests.live.large_records import lines, pages, publish, repeats

pytestmark = pytest.mark.live

MOST_MIB = 512 - 40
"""A worker may have 512 MiB; PySpark's own modules, which this program lacks, take some 40 of them."""


@pytest.mark.parametrize(
    ("records", "kind", "n"),
    [(lines, "request-log", 100), (repeats, "request-log", 100), (pages, "metrics", 8)],
    ids=("lines", "repeats", "pages"),
)
def test_large_records_do_not_add_up(records, kind, n, lab, tmp_path):
    bootstrap = lab.telemetry_bootstrap_servers
    topic = publish(bootstrap, records(n))
    as_worker = {
        name.removeprefix(WORKER_ENV): value for name, value in NEEDED.items() if name.startswith(WORKER_ENV)
    }
    program = [sys.executable, "-m", "tests.live.large_records", bootstrap, topic, kind]

    few, many = (
        int(
            subprocess.check_output(
                [*program, tmp_path / str(count), str(count)], cwd=PROJECT, env=os.environ | as_worker
            )
        )
        for count in (n // 4, n)
    )

    assert many < MOST_MIB
    assert many < few + 64
