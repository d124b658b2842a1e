"""
Measure the time from the broker's append until a line is visible to a reader of the Delta logs.

The ingest, and optionally gold, run as their own processes, as shipped. The broker stamps each record when
it appends it (LogAppendTime). A line is visible in silver when the reader has read its row. It is visible in
gold when the reader has seen a commit of `gold.fetch_latency` that was built from a version of silver with
that row; the commit names this version. A verdict about it is visible with the commit of
`gold.broker_rtt_culprit` that follows.
"""

import json
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from benchmarks.pipeline import programs
from benchmarks.pipeline.arms import lateness
from benchmarks.pipeline.arms.lateness import SeenLines
from benchmarks.pipeline.arms.lines import Places, Topics, at_rate, in_order
from benchmarks.pipeline.arms.scale import Scale
from benchmarks.pipeline.usage import Usage
from conf.settings import Settings
from engine.delta import tables
from lab.layout import Lab
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.requests import REQUESTS

SLOW_PER_S = 500.0
"""The rate while the programs start and the JVM compiles; a backlog of that time would count later."""

PATIENCE_S, POLL_S = 120.0, 0.02
GOLD_LAYERS = {lateness.GOLD: FETCH_LATENCY, lateness.VERDICT: BROKER_RTT_CULPRIT}


class PublishedLines(NamedTuple):
    """What a publisher has sent: the append times of the request log, its start, and the records by kind."""

    appended: Places
    began: float
    sent: Mapping[str, int]


def watch(  # noqa: PLR0913 (programs, input and duration)
    lab: Lab, topics: Topics, conf: Path, logs: Path, scale: Scale, *, per_s: float, with_gold: bool
) -> SeenLines:
    """Run the programs, publish at a steady rate, and return when each line became visible."""
    settings = Settings.load(conf)
    with programs.worker() as (pool, pid), programs.running(conf, with_gold=with_gold) as started:
        usage = Usage(programs.watched(started, lab, pid))
        reader = SilverReader(settings.warehouse_root, with_gold=with_gold)
        publishing = pool.submit(_publish, topics, logs, scale, per_s)

        def look() -> None:
            programs.check_running(started, conf)
            usage.look()

        follow(publishing, [reader], look, every_s=POLL_S)
        appended = publishing.result().appended
        begin, end = (find([find(at) for at in appended.values()]) for find in (np.nanmin, np.nanmax))
        begin += scale.slow_s + scale.settle_s
        return reader.seen(appended, per_s, (float(begin), float(end)), usage)


def follow(
    publishing: Future[PublishedLines],
    readers: Collection["SilverReader"],
    look: Callable[[], None],
    *,
    every_s: float,
) -> None:
    """Poll until every reader sees every published line, at most two minutes after the last one."""
    ended = float("inf")
    while time.time() < ended + PATIENCE_S:
        look()
        for reader in readers:
            reader.poll()
        if publishing.done():
            ended = min(ended, time.time())
            if all(reader.has(publishing.result().appended) for reader in readers):
                return
        time.sleep(every_s)


def _publish(topics: Topics, logs: Path, scale: Scale, per_s: float) -> PublishedLines:
    lines, seconds = in_order(logs), scale.settle_s + scale.rate_seconds[per_s]
    paced = chain(at_rate(lines, SLOW_PER_S, scale.slow_s), at_rate(lines, per_s, seconds))
    began = time.time()
    topics.publish(paced, linger_ms=5, is_timed=True)
    return PublishedLines(topics.appended.places(), began, {})


class GoldCommit(NamedTuple):
    """A commit of a gold table: its time by the writer, the version of silver, when the reader saw it."""

    committed_ms: int
    built_from: int  # -1: the commit does not name it
    seen_at: float


class SilverReader:
    """A reader that polls the Delta logs and reads every new file of silver, without Spark."""

    def __init__(self, root: Path, *, with_gold: bool) -> None:
        """Start before the first commit."""
        layers = {lateness.SILVER: REQUESTS} | (GOLD_LAYERS if with_gold else {})
        self._where = {layer: Path(tables.path(root, table)) for layer, table in layers.items()}
        self._next = dict.fromkeys(layers, 0)
        self._files: list[tuple[np.ndarray, np.ndarray, float, int]] = []  # places, seen at, version
        self._rows = 0
        self._commits: dict[str, list[GoldCommit]] = {layer: [] for layer in GOLD_LAYERS if layer in layers}

    def poll(self) -> None:
        """Read every new version."""
        for version, actions in self._new(lateness.SILVER):
            for added in (a["add"] for a in actions if "add" in a and a["add"]["dataChange"]):
                rows = pq.read_table(
                    self._where[lateness.SILVER] / added["path"], columns=["partition", "offset"]
                )
                places = rows["partition"].to_numpy(), rows["offset"].to_numpy()
                self._files.append((*places, time.time(), version))
                self._rows += len(rows)
        for layer, commits in self._commits.items():
            for _, actions in self._new(layer):
                info = next(a["commitInfo"] for a in actions if "commitInfo" in a)
                note = info.get("userMetadata")
                built_from = json.loads(note)["built_from"]["silver.requests"] if note else -1
                commits.append(GoldCommit(info["timestamp"], built_from, time.time()))

    def has(self, appended: Places) -> bool:
        """Return whether every line is visible in every layer."""
        if self._rows < sum(len(at) for at in appended.values()):
            return False
        newest = max(version for *_, version in self._files)
        return all(max((v for v, _ in self.built(layer)), default=-1) >= newest for layer in self._commits)

    def built(self, layer: str) -> list[tuple[int, float]]:
        """
        Return the version of silver that each commit of a layer was built from, and when it was seen.

        A verdict is committed after the fetches of the same batch and before those of the next one.
        """
        fetches = [commit for commit in self._commits[lateness.GOLD] if commit.built_from >= 0]
        at = [commit.committed_ms for commit in fetches]
        commits = fetches if layer == lateness.GOLD else self._commits[layer]
        before = ((bisect_right(at, commit.committed_ms), commit.seen_at) for commit in commits)
        return [(fetches[n - 1].built_from, seen_at) for n, seen_at in before if n]

    def seen(self, appended: Places, per_s: float, measured: tuple[float, float], usage: Usage) -> SeenLines:
        """Return when each line that was appended up to the end of a span became visible."""
        (begin, end), (silver, versions) = measured, self._in_silver(appended)
        appended_at, silver_at, version_of = (
            np.concatenate([of[p] for p in appended]) for of in (appended, silver, versions)
        )
        counts = appended_at <= end  # NaN: the broker's answer was lost.
        built = {layer: self.built(layer) for layer in self._commits}
        commits = {lateness.SILVER: [(version, at) for *_, at, version in self._files]} | built
        of_gold = {layer: _first_built(found, version_of[counts]) for layer, found in built.items()}
        return SeenLines(
            per_s=per_s,
            measured_from=begin,
            appended_at=appended_at[counts],
            visible_at={lateness.SILVER: silver_at[counts]} | of_gold,
            batches={
                layer: len({version for version, at in found if begin <= at <= end})
                for layer, found in commits.items()
            },
            usage=usage.between(begin, end),
            memory_is=usage.memory_is,
        )

    def _in_silver(self, appended: Places) -> tuple[Places, Places]:
        """Return when each line was seen in silver, and in which version."""
        silver, versions = ({p: np.full(len(at), np.nan) for p, at in appended.items()} for _ in range(2))
        for partitions, offsets, seen_at, version in self._files:
            for partition in appended:
                ours = offsets[partitions == partition]
                silver[partition][ours], versions[partition][ours] = seen_at, version
        return silver, versions

    def _new(self, layer: str) -> Iterator[tuple[int, list[dict[str, dict[str, Any]]]]]:
        log = self._where[layer] / "_delta_log"
        while (entry := log / f"{self._next[layer]:020}.json").exists():
            yield self._next[layer], [json.loads(line) for line in entry.read_text().splitlines()]
            self._next[layer] += 1


def _first_built(commits: list[tuple[int, float]], versions: np.ndarray) -> np.ndarray:
    """Return the instant of the first commit that was built from each version or a later one."""
    if not commits:
        return np.full(len(versions), np.nan)
    built, built_at = (np.array(column) for column in zip(*commits, strict=True))
    order = np.argsort(built, kind="stable")
    earliest = np.append(np.minimum.accumulate(built_at[order][::-1])[::-1], np.nan)
    at: np.ndarray = earliest[np.searchsorted(built[order], versions)]  # NaN sorts last.
    return at
