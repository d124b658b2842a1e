"""
Measure cores, memory and freshness for a quiet cluster: a small load of every kind.

The publisher sends records like a collector's, with the collector's own producer. At the end bronze must have
every sent record, or the run fails. The stages before and after the quiet cluster measure only the cost of
batches of gold: without scrapes, and while replicas move under a throttle.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
from confluent_kafka import KafkaError, Message

from benchmarks.pipeline import programs
from benchmarks.pipeline.arms import batch_costs, lateness, quiet_lines
from benchmarks.pipeline.arms.freshness import PublishedLines, SilverReader, follow
from benchmarks.pipeline.arms.lines import AppendTimes, stamp
from benchmarks.pipeline.arms.quiet_lines import LINES, MOVES, QUIET, Recording
from benchmarks.pipeline.arms.scale import Scale
from benchmarks.pipeline.counts import check, rows_of
from benchmarks.pipeline.usage import Usage
from collectors.log_files.lines import RawLine
from collectors.publish import Publisher
from conf.names import Kind
from conf.settings import Collector, Settings
from engine.delta import tables
from engine.ingest.sources import SOURCES
from lab.layout import Lab
from schemas.silver.not_kept import QUARANTINE

TURN_S, PATIENCE_S = 0.2, 120.0
BROKERS = ("1", "2", "3")


class Tree(NamedTuple):
    """A tree under test: its settings, its running programs, and the reader of its tables."""

    conf: Path
    started: Mapping[str, psutil.Popen]
    reader: SilverReader


def watch(lab: Lab, conf: Path, scale: Scale, folder: Path, *, with_gold: bool) -> dict[str, object]:
    """Run the programs on the recording in `folder`, at a quiet cluster's pace; return their figures."""
    settings, send = Settings.load(conf), partial(publish, conf, folder, scale, with_gold=with_gold)
    log = batch_costs.BatchLog(conf.parent / f"{programs.GOLD}.log")
    with programs.running(conf, with_gold=with_gold) as started:
        tree = Tree(conf, started, SilverReader(settings.warehouse_root, with_gold=with_gold))
        also = (lambda: log.look(time.time()),) if with_gold else ()
        published, usage = _follow(lab, {"": tree}, send, *also)
    at = quiet_lines.spans(quiet_lines.stages(folder, scale, with_gold=with_gold), published.began)
    return _figures(tree, published, at[QUIET], usage) | {
        "measured_s": scale.quiet_s,
        "sent": published.sent,
        "quarantined": rows_of(Path(tables.path(settings.warehouse_root, QUARANTINE))),
        "max_trigger_delay_s": settings.ingest.max_trigger_delay_s,
        "batches": batch_costs.by_stage(
            log.batches, usage, {name: at[name] for name in (LINES, QUIET, MOVES) if name in at}
        ),
    }


def watch_trees(
    lab: Lab, trees: Mapping[str, tuple[Path, Path]], scale: Scale, folder: Path
) -> dict[str, dict[str, object]]:
    """
    Run the programs of several checkouts at the same time on the same records; return their figures.

    `trees` has the checkout and the settings of each. Only the quiet cluster itself is sent. A program is
    called `PROGRAM of TREE` in the figures.
    """
    with ExitStack() as stack:
        under_test = {
            name: Tree(
                conf,
                stack.enter_context(programs.running(conf, with_gold=True, checkout=checkout)),
                SilverReader(Settings.load(conf).warehouse_root, with_gold=True),
            )
            for name, (checkout, conf) in trees.items()
        }
        conf = next(iter(under_test.values())).conf
        published, usage = _follow(lab, under_test, partial(publish, conf, folder, scale, with_gold=False))
    run = quiet_lines.stages(folder, scale, with_gold=False)
    span = quiet_lines.spans(run, published.began)[QUIET]
    return {name: _figures(tree, published, span, usage) for name, tree in under_test.items()}


def _follow(
    lab: Lab, trees: Mapping[str, Tree], send: Callable[[], PublishedLines], *looks: Callable[[], None]
) -> tuple[PublishedLines, Usage]:
    """Send records in another process until each tree has them; return what was sent and used."""
    under_test = {
        f"{program} of {name}" if name else program: process
        for name, tree in trees.items()
        for program, process in tree.started.items()
    }
    with programs.worker() as (pool, pid):
        usage = Usage(programs.watched(under_test, lab, pid))

        def look() -> None:
            for tree in trees.values():
                programs.check_running(tree.started, tree.conf)
            for one in (usage.look, *looks):
                one()

        publishing = pool.submit(send)
        follow(publishing, [tree.reader for tree in trees.values()], look, every_s=TURN_S)
        published = publishing.result()
        for tree in trees.values():
            check(f"quiet, {tree.conf}", _counts(Settings.load(tree.conf), published.sent))
        return published, usage


def _figures(
    tree: Tree, published: PublishedLines, span: tuple[float, float], usage: Usage
) -> dict[str, object]:
    per_s = 1 / quiet_lines.INTERVAL_S[Kind.REQUEST_LOG]
    return lateness.figures(tree.reader.seen(published.appended, per_s, span, usage))


def publish(conf: Path, folder: Path, scale: Scale, *, with_gold: bool) -> PublishedLines:
    """Send the records of all stages at their pace."""
    settings, sent, appended = Settings.load(conf), Counter[str](), AppendTimes()
    run = quiet_lines.stages(folder, scale, with_gold=with_gold)
    publisher = Publisher(settings.telemetry, Collector(cluster="lab", time_zone="UTC"), threading.Event())
    requests, began = publisher.topic(Kind.REQUEST_LOG), time.time()

    def delivered(error: KafkaError | None, message: object) -> None:
        if error is not None:
            publisher.failed(error, settings.telemetry.topic_prefix)
        elif isinstance(message, Message) and message.topic() == requests:
            appended.note(message)

    for stage, (begin, _) in zip(run, quiet_lines.spans(run, began).values(), strict=True):
        for at_s, kind, nth in stage.due:
            while (ahead_s := begin + at_s - time.time()) > 0:
                time.sleep(min(ahead_s, TURN_S))
                publisher.serve()
            for line in records(stage.recording, kind, nth):
                publisher.send(line, delivered)
                sent[kind.value] += 1
    if publisher.flush(60.0, 60.0):
        message = "the telemetry broker did not acknowledge every record"
        raise RuntimeError(message)
    return PublishedLines(appended.places(), began, dict(sent))


def records(recording: Recording, kind: Kind, number: int) -> list[RawLine]:
    """Return the due records of a kind with the current time: a line, a poll, or a page per broker."""
    now_ns = time.time_ns()
    if kind is Kind.CLUSTER:
        document = {"polled_at_ns": now_ns, "brokers": {broker: {} for broker in BROKERS}, "topics": None}
        value = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
        return [RawLine(value, "cluster", "kafka://lab", f"cluster/poll/{now_ns}", kind.value)]
    if kind is Kind.METRICS:
        nodes = sorted({page.node for page in recording.pages})
        of_node = {node: [page for page in recording.pages if page.node == node] for node in nodes}
        return [
            RawLine(
                pages[number % len(pages)].text,
                node,
                f"http://{node}/metrics",
                f"{node}/scrape/{now_ns}",
                kind.value,
            )
            for node, pages in of_node.items()
        ]
    lines = recording.lines[kind]
    node, line = lines[number % len(lines)]
    source = quiet_lines.FILES[kind]
    value = stamp() + line[line.index(b" ") :]
    return [RawLine(value, node, f"{node}/{source}", f"{node}/{kind.value}/{now_ns}", kind.value)]


def _counts(settings: Settings, sent: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the rows of each bronze table and the records sent, when they are equal or time is up."""
    until = time.monotonic() + PATIENCE_S
    while True:
        counts = {
            source.bronze.name: (
                rows_of(Path(tables.path(settings.warehouse_root, source.bronze))),
                sent.get(source.kind.value, 0),
            )
            for source in SOURCES
        }
        if all(rows == wanted for rows, wanted in counts.values()) or time.monotonic() > until:
            return counts
        time.sleep(1.0)
