"""
From broker append to visible: a reader of its own polls the logs of silver and gold while lines come in.

Ingest and gold run as their own processes as shipped. The broker stamps each record as it appends it
(LogAppendTime). A line is visible in silver once the reader has read its row; in gold once the reader has
seen a commit of `gold.fetch_latency` built from a version of silver that holds it: the commit itself says so.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq

from benchmarks.pipeline.lateness import Seen
from benchmarks.pipeline.lines import Topics, at_rate, in_order
from conf.settings import PROJECT, Settings
from jobs import tables
from schemas.gold import FETCH_LATENCY
from schemas.silver import REQUESTS

SLOW_S, SLOW_PER_S = 60.0, 500.0
"""While the jobs start and their code is compiled, lines come slowly: a backlog of then would count later."""

SETTLE_S = 180.0
"""So long they then come at the measured rate before what comes is measured."""

PATIENCE_S, POLL_S, CPU_EVERY_S = 120.0, 0.02, 1.0

Places = dict[int, np.ndarray]
"""Partition to instants, epoch seconds, by offset."""


def watch(topics: Topics, conf: Path, logs: Path, *, per_s: float, duration_s: float) -> Seen:
    """Run both jobs, publish at a steady rate, and note when each line can be seen."""
    settings = Settings.load(conf)
    with _jobs(conf) as jobs, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        publishing = pool.submit(_publish, topics, logs, per_s, duration_s)
        reader, used, ended = Reader(settings.warehouse_root), Used(jobs), float("inf")
        while time.time() < ended + PATIENCE_S:
            _raise_if_ended(jobs)
            reader.poll()
            if publishing.done():
                ended = min(ended, time.time())
                if reader.has(publishing.result()):
                    break
            else:
                used.look()
            time.sleep(POLL_S)
        return reader.seen(publishing.result(), per_s, used)


def _publish(topics: Topics, logs: Path, per_s: float, duration_s: float) -> Places:
    lines = in_order(logs)
    paced = chain(at_rate(lines, SLOW_PER_S, SLOW_S), at_rate(lines, per_s, SETTLE_S + duration_s))
    topics.publish(paced, linger_ms=5, is_timed=True)
    return {partition: np.array(at) for partition, at in topics.appended_at.items()}


class Used:
    """CPU-seconds of the jobs, looked at every second as long as lines are published."""

    def __init__(self, jobs: dict[str, psutil.Popen]) -> None:
        """Begin."""
        self._jobs, self._at = jobs, list[float]()
        self._cpu_s: dict[str, list[float]] = {name: [] for name in jobs}

    def look(self) -> None:
        """Note what was used until now, once a second."""
        now = time.time()
        if self._at and now < self._at[-1] + CPU_EVERY_S:
            return
        self._at.append(now)
        for name, job in self._jobs.items():
            self._cpu_s[name].append(sum(map(_cpu_s, (job, *job.children(recursive=True)))))

    def cores(self, begin: float, end: float) -> dict[str, float]:
        """Give the CPU-seconds a second of each job between two instants."""
        return {
            name: float(np.diff(np.interp([begin, end], self._at, cpu_s))[0]) / (end - begin)
            for name, cpu_s in self._cpu_s.items()
        }


def _cpu_s(process: psutil.Process) -> float:
    """Give what a process has used, those of its children included that have ended; 0 once it has itself."""
    try:
        return float(sum(process.cpu_times()[:4]))
    except psutil.NoSuchProcess:
        return 0.0


class Reader:
    """Polls the Delta logs and reads every new file of silver; knows nothing of Spark."""

    def __init__(self, root: Path) -> None:
        """Begin before the first commit."""
        self._silver, self._gold = (Path(tables.path(root, table)) for table in (REQUESTS, FETCH_LATENCY))
        self._next = {self._silver: 0, self._gold: 0}
        self._files: list[tuple[np.ndarray, np.ndarray, float, int]] = []  # places, seen at, in version
        self._rows = 0
        self._gold_at: list[tuple[int, float]] = []  # built from that version, seen at

    def poll(self) -> None:
        """Take in every version that is there by now."""
        for version, actions in self._new(self._silver):
            for added in (a["add"] for a in actions if "add" in a and a["add"]["dataChange"]):
                rows = pq.read_table(self._silver / added["path"], columns=["partition", "offset"])
                places = rows["partition"].to_numpy(), rows["offset"].to_numpy()
                self._files.append((*places, time.time(), version))
                self._rows += len(rows)
        for _, actions in self._new(self._gold):
            info = next(a["commitInfo"] for a in actions if "commitInfo" in a)
            told = info.get("userMetadata")
            if told:
                version = json.loads(told)["built_from"]["silver.requests"]
                self._gold_at.append((version, time.time()))

    def has(self, appended: Places) -> bool:
        """Tell whether every line can be seen."""
        if self._rows < sum(len(at) for at in appended.values()) or not self._gold_at:
            return False
        return max(v for v, _ in self._gold_at) >= max(version for *_, version in self._files)

    def seen(self, appended: Places, per_s: float, used: Used) -> Seen:
        """Put together what was seen of all lines."""
        silver, versions = ({p: np.full(len(at), np.nan) for p, at in appended.items()} for _ in range(2))
        for partitions, offsets, seen_at, version in self._files:
            for partition in appended:
                ours = offsets[partitions == partition]
                silver[partition][ours], versions[partition][ours] = seen_at, version
        appended_at, silver_at, version_of = (
            np.concatenate([of[p] for p in appended]) for of in (appended, silver, versions)
        )
        was_sent = ~np.isnan(appended_at)
        begin, end = float(np.nanmin(appended_at)) + SLOW_S + SETTLE_S, float(np.nanmax(appended_at))
        return Seen(
            per_s=per_s,
            measured_from=begin,
            appended_at=appended_at[was_sent],
            silver_at=silver_at[was_sent],
            gold_at=self._in_gold(version_of[was_sent]),
            batches={
                "silver": len({version for *_, at, version in self._files if begin <= at <= end}),
                "gold": len({version for version, at in self._gold_at if begin <= at <= end}),
            },
            cores=used.cores(begin, end),
        )

    def _in_gold(self, versions: np.ndarray) -> np.ndarray:
        """Give the instant of the first commit built from each version or a later one."""
        if not self._gold_at:
            return np.full(len(versions), np.nan)
        built, built_at = (np.array(column) for column in zip(*self._gold_at, strict=True))
        order = np.argsort(built, kind="stable")
        earliest = np.append(np.minimum.accumulate(built_at[order][::-1])[::-1], np.nan)
        at: np.ndarray = earliest[np.searchsorted(built[order], versions)]  # NaN sorts behind all
        return at

    def _new(self, where: Path) -> Iterator[tuple[int, list[dict[str, dict[str, Any]]]]]:
        while (entry := where / "_delta_log" / f"{self._next[where]:020}.json").exists():
            yield self._next[where], [json.loads(line) for line in entry.read_text().splitlines()]
            self._next[where] += 1


@contextmanager
def _jobs(conf: Path) -> Iterator[dict[str, psutil.Popen]]:
    plumbline = [sys.executable, "-m", "plumbline"]
    words = {
        "ingest": [*plumbline, "ingest"],
        "build-gold": ["nice", "-n", "5", *plumbline, "build-gold", "--follow"],
    }
    out = conf.parent
    jobs = {
        name: psutil.Popen(
            [*told, "--conf", str(conf)],
            cwd=PROJECT,
            stderr=(out / f"{name}.log").open("w"),
            stdout=subprocess.DEVNULL,
        )
        for name, told in words.items()
    }
    try:
        yield jobs
    finally:
        for job in jobs.values():
            job.terminate()
        for job in jobs.values():
            job.wait(60)


def _raise_if_ended(jobs: dict[str, psutil.Popen]) -> None:
    for name, job in jobs.items():
        if job.poll() is not None:
            message = f"{name} ended with {job.returncode}"
            raise RuntimeError(message)
