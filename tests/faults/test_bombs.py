"""A gzip of some megabytes that holds one line of 1.5 GB: what reads it lives, and says what it was."""

import gzip
import json
import sys
import time
from collections import defaultdict

import psutil
import pytest

from conf.settings import PROJECT
from schemas.bronze import REQUEST_LOG
from schemas.silver import QUARANTINE, REQUESTS
from tests.faults.oracles import rows_of
from tests.faults.site import Site
from tests.transforms.parse.raw_rows import COMPLETED, HEAD

pytestmark = [pytest.mark.live, pytest.mark.faults]

MIB = 1024 * 1024
LENGTH_MIB = 1_430
LENGTH_BYTES = LENGTH_MIB * MIB + len(HEAD)
PYTHON_MIB, JVM_MIB = 400, 3_000
"""The JVM's heap is told 2 GiB; what Parquet and zstd take beside it came to 500 MiB."""

ENDS_WITHIN_S = 900


@pytest.fixture
def bomb(tmp_path):
    path = tmp_path / "logs" / "broker-1" / "kafka-request.log.gz"
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(COMPLETED + b"\n" + HEAD)
        for _ in range(LENGTH_MIB):
            out.write(b"x" * MIB)
        out.write(b"\n" + COMPLETED + b"\n")
    assert path.stat().st_size < 8 * MIB
    return path


def run(*command):
    """Run a command of ours; give its exit code and the peak of memory, in MiB, of each of its programs."""
    peaks_mib = defaultdict(int)
    started_s = time.monotonic()
    with psutil.Popen([sys.executable, "-m", "plumbline", *command], cwd=PROJECT) as job:
        try:
            while job.poll() is None:
                assert time.monotonic() - started_s < ENDS_WITHIN_S
                _look(job, peaks_mib)
                time.sleep(0.2)
        finally:
            for process in (*job.children(recursive=True), job) if job.is_running() else ():
                process.kill()
    return job.returncode, peaks_mib


def _look(job, peaks_mib):
    for process in (job, *job.children(recursive=True)):
        try:
            resident = process.memory_info().rss // MIB
            name = "java" if process.exe().endswith("java") else "python"
        except psutil.Error:
            continue
        peaks_mib[name] = max(peaks_mib[name], resident)


def test_a_report_over_a_bomb_tells_it_and_reads_the_lines_around(bomb, tmp_path):
    told = tmp_path / "r.json"
    code, peaks_mib = run("report", "--from", str(bomb.parents[1]), "--json", str(told))

    print(dict(peaks_mib))
    quality = json.loads(told.read_text())["data_quality"]
    assert code == 0
    assert (quality["lines_read"], quality["kept"], quality["quarantined"]) == (3, 2, 1)
    assert quality["quarantined_by_reason"] == [{"reason": "oversized", "lines": 1}]
    assert f"of {LENGTH_BYTES} bytes" in told.read_text()
    assert peaks_mib["python"] < PYTHON_MIB
    assert peaks_mib["java"] < JVM_MIB


def test_a_bomb_passes_collector_and_ingest_in_parts_with_every_byte(lab, bomb, tmp_path):
    site = Site(lab.telemetry_bootstrap_servers, tmp_path)
    written = site.warehouse("bomb")
    with written.conf.open("a") as conf:
        conf.write(
            f'[collector]\nstate = "{tmp_path / "state"}"\n'
            f'files = [{{ path = "{bomb.with_suffix("")}*", kind = "request-log", node = "broker-1" }}]\n'
        )
    for word in ("collect", "ingest"):
        code, peaks_mib = run(word, "--once", "--conf", str(written.conf))
        print(word, dict(peaks_mib))
        assert code == 0, word
        assert peaks_mib["python"] < PYTHON_MIB
        assert peaks_mib["java"] < JVM_MIB

    sizes = [len(row["value"]) for row in rows_of(written.root, REQUEST_LOG, "value").to_pylist()]
    reasons = rows_of(written.root, QUARANTINE, "reason", "chunk").to_pylist()
    parts = len(sizes) - 2
    assert sum(sizes) == LENGTH_BYTES + 2 * len(COMPLETED)
    assert {row["reason"] for row in reasons} == {"oversized"}
    assert len({row["chunk"] for row in reasons}) == len(reasons) == parts == 358
    assert rows_of(written.root, REQUESTS, "offset").num_rows == 2
