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
from dataclasses import dataclass
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq

from benchmarks.pipeline.lines import Topics, at_rate, in_order
from conf.settings import PROJECT, Settings
from jobs import tables
from schemas.gold import FETCH_LATENCY
from schemas.silver import REQUESTS

SLOW_S, SLOW_PER_S = 240.0, 500.0
"""While the jobs start and their code is compiled, lines come slowly: a backlog of then would count later."""

SETTLE_S, BLOCK_S, PATIENCE_S, POLL_S = 60.0, 10.0, 120.0, 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Lines of one rate: when each was appended, and when it was visible, epoch seconds."""

    per_s: float
    appended_at: np.ndarray
    silver_at: np.ndarray
    gold_at: np.ndarray  # NaN where gold never had it
    cores: dict[str, float]  # CPU-seconds a second of each job


def watch(topics: Topics, conf: Path, logs: Path, *, per_s: float, duration_s: float) -> Seen:
    """Run both jobs, publish at a steady rate, and note when each line can be seen."""
    settings = Settings.load(conf)
    with _jobs(conf) as jobs, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        publishing = pool.submit(_publish, topics, logs, per_s, duration_s)
        reader, cpu = Reader(settings.warehouse_root), dict[str, float]()
        began, ended = time.time(), None
        while not (ended and (reader.has(publishing.result()) or time.time() - ended > PATIENCE_S)):
            _raise_if_ended(jobs)
            reader.poll()
            if ended is None and publishing.done():
                ended = time.time()
            if not cpu and time.time() - began > SLOW_S + SETTLE_S:
                cpu, warm_at = {name: _cpu_s(job) for name, job in jobs.items()}, time.time()
            time.sleep(POLL_S)
        used = {name: (_cpu_s(job) - cpu[name]) / (time.time() - warm_at) for name, job in jobs.items()}
        return reader.seen(publishing.result(), per_s, used)


def _publish(topics: Topics, logs: Path, per_s: float, duration_s: float) -> dict[tuple[int, int], float]:
    lines = in_order(logs)
    paced = chain(at_rate(lines, SLOW_PER_S, SLOW_S), at_rate(lines, per_s, SETTLE_S + duration_s))
    topics.publish(paced, linger_ms=5, is_timed=True)
    return topics.appended_at


class Reader:
    """Polls the Delta logs and reads every new file of silver; knows nothing of Spark."""

    def __init__(self, root: Path) -> None:
        """Begin before the first commit."""
        self._silver, self._gold = (Path(tables.path(root, table)) for table in (REQUESTS, FETCH_LATENCY))
        self._next = {self._silver: 0, self._gold: 0}
        self._silver_at: dict[tuple[int, int], tuple[float, int]] = {}  # seen at, in version
        self._gold_at: list[tuple[int, float]] = []  # built from that version, seen at

    def poll(self) -> None:
        """Take in every version that is there by now."""
        for version, actions in self._new(self._silver):
            for added in (a["add"] for a in actions if "add" in a and a["add"]["dataChange"]):
                rows = pq.read_table(self._silver / added["path"], columns=["partition", "offset"])
                now = time.time()
                places = zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True)
                self._silver_at |= dict.fromkeys(places, (now, version))
        for _, actions in self._new(self._gold):
            info = next(a["commitInfo"] for a in actions if "commitInfo" in a)
            told = info.get("userMetadata")
            if told:
                version = json.loads(told)["built_from"]["silver.requests"]
                self._gold_at.append((version, time.time()))

    def has(self, appended: dict[tuple[int, int], float]) -> bool:
        """Tell whether every line can be seen."""
        if len(self._silver_at) < len(appended) or not self._gold_at:
            return False
        return max(v for v, _ in self._gold_at) >= max(version for _, version in self._silver_at.values())

    def seen(self, appended: dict[tuple[int, int], float], per_s: float, cores: dict[str, float]) -> Seen:
        """Put together what was seen of the lines behind the time of warming up."""
        first = min(appended.values()) + SLOW_S + SETTLE_S
        built, built_at = (np.array(column) for column in zip(*self._gold_at, strict=True))
        order = np.argsort(built, kind="stable")
        # The first commit built from a version or a later one.
        earliest = np.minimum.accumulate(built_at[order][::-1])[::-1]
        rows = []
        for place, at in appended.items():
            if at < first:
                continue
            silver_at, version = self._silver_at.get(place, (np.nan, -1))
            nth = int(np.searchsorted(built[order], version)) if version >= 0 else len(built)
            rows.append((at, silver_at, earliest[nth] if nth < len(earliest) else np.nan))
        at, silver, gold = np.array(rows).T
        return Seen(per_s=per_s, appended_at=at, silver_at=silver, gold_at=gold, cores=cores)

    def _new(self, where: Path) -> Iterator[tuple[int, list[dict[str, dict[str, Any]]]]]:
        while (entry := where / "_delta_log" / f"{self._next[where]:020}.json").exists():
            yield self._next[where], [json.loads(line) for line in entry.read_text().splitlines()]
            self._next[where] += 1


def quantiles(late_s: np.ndarray, appended_at: np.ndarray, seed: int) -> dict[str, tuple[float, ...]]:
    """Give p50 and p99 with 95 % intervals; blocks of ten seconds are resampled."""
    dice = np.random.default_rng(seed)
    block = ((appended_at - appended_at.min()) // BLOCK_S).astype(int)
    parts = [late_s[block == nth] for nth in range(block.max() + 1)]
    drawn = [np.concatenate([parts[k] for k in dice.integers(0, len(parts), len(parts))]) for _ in range(500)]
    return {
        f"p{q}": (
            float(np.quantile(late_s, q / 100)),
            *(float(x) for x in np.quantile([np.quantile(d, q / 100) for d in drawn], [0.025, 0.975])),
        )
        for q in (50, 99)
    }


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


def _cpu_s(job: psutil.Popen) -> float:
    times = [process.cpu_times() for process in (job, *job.children(recursive=True))]
    return float(sum(t.user + t.system for t in times))


def told(seen: Seen, seed: int) -> dict[str, object]:
    """Put the figures of one rate into plain values."""
    silver, gold = seen.silver_at - seen.appended_at, seen.gold_at - seen.appended_at
    third = len(silver) // 3
    return {
        "per_s": seen.per_s,
        "lines": len(silver),
        "never_in_silver": int(np.isnan(silver).sum()),
        "never_in_gold": int(np.isnan(gold).sum()),
        "silver_s": quantiles(silver, seen.appended_at, seed),
        "gold_s": quantiles(gold, seen.appended_at, seed),
        "silver_p50_first_third_s": float(np.median(silver[:third])),
        "silver_p50_last_third_s": float(np.median(silver[-third:])),
        "gold_p50_first_third_s": float(np.median(gold[:third])),
        "gold_p50_last_third_s": float(np.median(gold[-third:])),
        "cores": seen.cores,
    }
