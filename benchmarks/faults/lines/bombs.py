"""A gzip bomb: a file of some megabytes with one line of 1.5 GB. Its readers survive and report the line."""

import gzip
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from benchmarks.faults.oracles import rows_of
from benchmarks.faults.site import Site
from conf.settings import PROJECT
from schemas.bronze import REQUEST_LOG
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.requests import REQUESTS
from tests.transforms.parse.records import COMPLETED, HEAD

MIB = 1024 * 1024
LENGTH_MIB = 1_430
LENGTH_BYTES = LENGTH_MIB * MIB + len(HEAD)
PARTS = 358
"""The collector sends such a line in this many parts of 4 MiB."""

MAX_MIB = {"python": 400, "java": 3_000}
"""The JVM heap may have 2 GiB; Parquet and zstd took up to 500 MiB outside the heap."""

MAX_PACKED_MIB = 8
ENDS_WITHIN_S = 900


def through_a_report(_bootstrap_servers: str, folder: Path, _dice: random.Random) -> list[str]:
    """Report on a log with the bomb: the long line is reported, and the lines around it are parsed."""
    report = folder / "r.json"
    bomb = planted(folder)
    wrong = run("report", "--from", str(bomb.parents[1]), "--json", str(report))
    if wrong:
        return wrong
    quality = json.loads(report.read_text())["data_quality"]
    return differing(
        {
            "lines": tuple(quality[name] for name in ("lines_read", "kept", "quarantined")),
            "reasons": quality["quarantined_by_reason"],
            "is its length reported": f"of {LENGTH_BYTES} bytes" in report.read_text(),
        },
        {
            "lines": (3, 2, 1),
            "reasons": [{"reason": "oversized", "lines": 1}],
            "is its length reported": True,
        },
    )


def through_collector_and_ingest(bootstrap_servers: str, folder: Path, _dice: random.Random) -> list[str]:
    """Collect and ingest a log with the bomb: every byte of it arrives, in parts."""
    written = Site(bootstrap_servers, folder).warehouse("bomb")
    with written.conf.open("a") as conf:
        conf.write(
            f'[collector]\ncluster = "made"\nstate = "{folder / "state"}"\n'
            f'files = [{{ path = "{planted(folder).with_suffix("")}*", kind = "request-log", '
            'node = "broker-1" }]\n'
        )
    for word in ("collect", "ingest"):
        if wrong := run(word, "--once", "--conf", str(written.conf)):
            return wrong
    sizes = [len(row["value"]) for row in rows_of(written.root, REQUEST_LOG, "value").to_pylist()]
    quarantined = rows_of(written.root, QUARANTINE, "reason", "chunk").to_pylist()
    return differing(
        {
            "bytes of bronze": sum(sizes),
            "rows of bronze": len(sizes),
            "reasons": {row["reason"] for row in quarantined},
            "parts": len({row["chunk"] for row in quarantined}),
            "rows of quarantine": len(quarantined),
            "rows of silver": rows_of(written.root, REQUESTS, "offset").num_rows,
        },
        {
            "bytes of bronze": LENGTH_BYTES + 2 * len(COMPLETED),
            "rows of bronze": PARTS + 2,
            "reasons": {"oversized"},
            "parts": PARTS,
            "rows of quarantine": PARTS,
            "rows of silver": 2,
        },
    )


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {
    "gzip bomb through a report": through_a_report,
    "gzip bomb through collector and ingest": through_collector_and_ingest,
}


FILES = (PROJECT / "answers", PROJECT / "serving")
"""Code of the report."""


def planted(folder: Path) -> Path:
    """Write the bomb between two plain lines, and return the file."""
    path = folder / "logs" / "broker-1" / "kafka-request.log.gz"
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(COMPLETED + b"\n" + HEAD)
        for _ in range(LENGTH_MIB):
            out.write(b"x" * MIB)
        out.write(b"\n" + COMPLETED + b"\n")
    assert path.stat().st_size < MAX_PACKED_MIB * MIB
    return path


def run(*command: str) -> list[str]:
    """Run a plumbline command; return its failures: a nonzero exit code, and too much memory."""
    peaks_mib = defaultdict[str, int](int)
    started_s = time.monotonic()
    with psutil.Popen([sys.executable, "-m", "plumbline", *command], cwd=PROJECT) as job:
        try:
            while job.poll() is None:
                assert time.monotonic() - started_s < ENDS_WITHIN_S, command
                _look(job, peaks_mib)
                time.sleep(0.02)  # a short program must be seen while it runs
        finally:
            for process in (*job.children(recursive=True), job) if job.is_running() else ():
                process.kill()
    ended = [f"{command[0]} ended with exit code {job.returncode}"] if job.returncode else []
    return ended + above(peaks_mib, command[0])


def above(peaks_mib: Mapping[str, int], word: str) -> list[str]:
    """
    Return the programs that took more memory than allowed, and those that were not observed.

    >>> above({"python": 399, "java": 3_001}, "ingest")
    ['ingest: java took 3001 MiB and may take 3000']
    >>> above({"java": 2_000}, "ingest")
    ['ingest: no memory of python was seen']
    """
    seen = {name: peaks_mib.get(name, 0) for name in MAX_MIB}
    expected = MAX_MIB if word == "ingest" else {"python"}
    unseen = [f"{word}: no memory of {name} was seen" for name in expected if not seen[name]]
    return unseen + [
        f"{word}: {name} took {seen[name]} MiB and may take {most}"
        for name, most in MAX_MIB.items()
        if seen[name] > most
    ]


def differing(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """
    Return the values that differ from the expected ones.

    >>> differing({"rows": 2, "parts": 3}, {"rows": 2, "parts": 4})
    ['parts: 3 and not 4']
    """
    return [f"{name}: {found[name]} and not {want}" for name, want in wanted.items() if found[name] != want]


def _look(job: psutil.Popen, peaks_mib: dict[str, int]) -> None:
    for process in (job, *job.children(recursive=True)):
        try:
            resident = process.memory_info().rss // MIB
            name = "java" if process.exe().endswith("java") else "python"
        except psutil.Error:
            continue
        peaks_mib[name] = max(peaks_mib[name], resident)
