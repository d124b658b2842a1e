"""
Measure the time from the broker's append until a line is visible to a reader of the Delta logs.

The ingest, and optionally gold, run as their own processes, as shipped. The broker stamps each record when
it appends it (LogAppendTime). A line is visible in silver when the reader has read its row. It is visible in
gold when the reader has seen a commit of `gold.fetch_latency` that was built from a version of silver with
that row; the commit names this version.
"""

import json
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.pipeline import programs
from benchmarks.pipeline.arms import lateness
from benchmarks.pipeline.arms.lateness import SeenLines
from benchmarks.pipeline.arms.lines import Topics, at_rate, in_order
from benchmarks.pipeline.arms.scale import Scale
from benchmarks.pipeline.usage import Usage
from conf.settings import Settings
from engine.delta import tables
from lab.layout import Lab
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.requests import REQUESTS

SLOW_PER_S = 500.0
"""The rate while the programs start and the JVM compiles; a backlog of that time would count later."""

PATIENCE_S, POLL_S = 120.0, 0.02

Places = dict[int, np.ndarray]
"""Instants in epoch seconds by offset, for each partition."""


def watch(  # noqa: PLR0913 (programs, input and duration)
    lab: Lab, topics: Topics, conf: Path, logs: Path, scale: Scale, *, per_s: float, with_gold: bool
) -> SeenLines:
    """Run the programs, publish at a steady rate, and return when each line became visible."""
    settings = Settings.load(conf)
    with (
        programs.publisher() as (pool, pid),
        programs.running(conf, with_gold=with_gold) as started,
    ):
        usage = Usage(programs.watched(started, lab, pid))
        publishing = pool.submit(_publish, topics, logs, scale, per_s)
        reader, ended = SilverReader(settings.warehouse_root, with_gold=with_gold), float("inf")
        while time.time() < ended + PATIENCE_S:
            programs.check_running(started, conf)
            reader.poll()
            if publishing.done():
                ended = min(ended, time.time())
                if reader.has(publishing.result()):
                    break
            else:
                usage.look()
            time.sleep(POLL_S)
        return reader.seen(publishing.result(), per_s, scale.slow_s + scale.settle_s, usage)


def _publish(topics: Topics, logs: Path, scale: Scale, per_s: float) -> Places:
    lines, seconds = in_order(logs), scale.settle_s + scale.rate_seconds[per_s]
    paced = chain(at_rate(lines, SLOW_PER_S, scale.slow_s), at_rate(lines, per_s, seconds))
    topics.publish(paced, linger_ms=5, is_timed=True)
    return {partition: np.array(at) for partition, at in topics.appended_at.items()}


class SilverReader:
    """A reader that polls the Delta logs and reads every new file of silver, without Spark."""

    def __init__(self, root: Path, *, with_gold: bool) -> None:
        """Start before the first commit."""
        self._silver, self._gold = (Path(tables.path(root, table)) for table in (REQUESTS, FETCH_LATENCY))
        self._with_gold = with_gold
        self._next = {self._silver: 0, self._gold: 0}
        self._files: list[tuple[np.ndarray, np.ndarray, float, int]] = []  # places, seen at, version
        self._rows = 0
        self._gold_at: list[tuple[int, float]] = []  # source version, seen at

    def poll(self) -> None:
        """Read every new version."""
        for version, actions in self._new(self._silver):
            for added in (a["add"] for a in actions if "add" in a and a["add"]["dataChange"]):
                rows = pq.read_table(self._silver / added["path"], columns=["partition", "offset"])
                places = rows["partition"].to_numpy(), rows["offset"].to_numpy()
                self._files.append((*places, time.time(), version))
                self._rows += len(rows)
        for _, actions in self._new(self._gold):
            info = next(a["commitInfo"] for a in actions if "commitInfo" in a)
            metadata = info.get("userMetadata")
            if metadata:
                version = json.loads(metadata)["built_from"]["silver.requests"]
                self._gold_at.append((version, time.time()))

    def has(self, appended: Places) -> bool:
        """Return whether every line is visible in every layer."""
        if self._rows < sum(len(at) for at in appended.values()):
            return False
        if not self._with_gold:
            return True
        built = max((version for version, _ in self._gold_at), default=-1)
        return built >= max(version for *_, version in self._files)

    def seen(self, appended: Places, per_s: float, warm_s: float, usage: Usage) -> SeenLines:
        """Return when each line became visible, and the resources of the programs."""
        silver, versions = ({p: np.full(len(at), np.nan) for p, at in appended.items()} for _ in range(2))
        for partitions, offsets, seen_at, version in self._files:
            for partition in appended:
                ours = offsets[partitions == partition]
                silver[partition][ours], versions[partition][ours] = seen_at, version
        appended_at, silver_at, version_of = (
            np.concatenate([of[p] for p in appended]) for of in (appended, silver, versions)
        )
        was_sent = ~np.isnan(appended_at)
        begin, end = float(np.nanmin(appended_at)) + warm_s, float(np.nanmax(appended_at))
        visible_at = {lateness.SILVER: silver_at[was_sent]}
        if self._with_gold:
            visible_at[lateness.GOLD] = self._in_gold(version_of[was_sent])
        return SeenLines(
            per_s=per_s,
            measured_from=begin,
            appended_at=appended_at[was_sent],
            visible_at=visible_at,
            batches={
                lateness.SILVER: len({version for *_, at, version in self._files if begin <= at <= end}),
                lateness.GOLD: len({version for version, at in self._gold_at if begin <= at <= end}),
            },
            usage=usage.between(begin, end),
            memory_is=usage.memory_is,
        )

    def _in_gold(self, versions: np.ndarray) -> np.ndarray:
        """Return the instant of the first commit that was built from each version or a later one."""
        if not self._gold_at:
            return np.full(len(versions), np.nan)
        built, built_at = (np.array(column) for column in zip(*self._gold_at, strict=True))
        order = np.argsort(built, kind="stable")
        earliest = np.append(np.minimum.accumulate(built_at[order][::-1])[::-1], np.nan)
        at: np.ndarray = earliest[np.searchsorted(built[order], versions)]  # NaN sorts last.
        return at

    def _new(self, where: Path) -> Iterator[tuple[int, list[dict[str, dict[str, Any]]]]]:
        while (entry := where / "_delta_log" / f"{self._next[where]:020}.json").exists():
            yield self._next[where], [json.loads(line) for line in entry.read_text().splitlines()]
            self._next[where] += 1
