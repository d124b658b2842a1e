"""
Scenario `throttle`: move replicas under a throttle, as in KIP-73's test plan, and under faulty throttles.

Every part creates and fills a topic, and deletes it at the end. Kafka's reassignment tool sets the throttle,
starts the move and, when the move is done, removes the throttle. The true rate comes from the sizes on disk,
sampled twice a second. The exporters are scraped into files next to the logs.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import load, topics, truth
from lab.errors import LabError
from lab.layout import Lab
from lab.scenarios import Say
from lab.throttle import data, facts, limits, pages
from lab.throttle.actions import ACTIONS, ActionContext
from lab.throttle.facts import PartRecord
from lab.throttle.parts import PARTS, ThrottlePart
from lab.throttle.sizes import SizeWatcher, bytes_on_disk, folder_of
from lab.throttle.tool import ReassignmentCommand

SCENARIO = "throttle"
TRICKLE = load.Load(
    records_per_s=30.0,
    record_size_bytes=100,
    properties=("batch.size=0", "partitioner.adaptive.partitioning.enable=false"),
)
"""
Load on another topic, which is not throttled, so that followers always have new data. Each record is a
separate batch: otherwise a producer stays with one partition for 16 KiB, which takes five seconds.
"""

RECORD_BYTES = 1000
PLACEMENT_TIMEOUT_S = 30.0
WINDOW_PAUSE_S = 12.0
"""Longer than the quota's window of 11 s, so that one part does not affect the rate of the next part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottlePlan:
    """The parts to run, the number of rounds, and the scrape interval of the exporters."""

    repeats: int = 1
    parts: Sequence[ThrottlePart] = PARTS
    scrape_every_s: float = pages.INTERVAL_S

    @property
    def expected_s(self) -> float:
        """The expected duration of the run."""
        return self.repeats * sum(part.expected_s for part in self.parts)


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Where one run writes: its truth, and the files with sizes on disk and scrapes."""

    folder: Path
    began_ns: int

    def json_lines(self, name: str) -> Path:
        """Return the path of a JSON lines file of the run."""
        return self.folder / f"{truth.file_stem(SCENARIO, at_ns=self.began_ns)}.{name}.jsonl"


def run(state: Path, plan: ThrottlePlan, *, say: Say = print) -> Path:
    """
    Run every part and return the path of the ground truth.

    Throttles and moves are always undone at the end. An interrupted run leaves the ground truth of the parts
    that finished.

    Raises:
        LabError: no lab runs in this folder, a throttle is set already, or a move failed.

    """
    lab = Lab.load(state)
    _check(lab, plan)
    files = RunFiles(lab.state / "truth", time.time_ns())
    rounds = [(nth, part) for nth in range(plan.repeats) for part in plan.parts]
    done: list[dict[str, Any]] = []
    path = files.folder
    with (
        pages.recorded_pages(lab, files.json_lines("scrapes"), interval_s=plan.scrape_every_s),
        _producing(lab, TRICKLE),
    ):
        for at, (nth, part) in enumerate(rounds):
            left_s = sum(other.expected_s for _, other in rounds[at:])
            say(
                f"part {at + 1} of {len(rounds)}, {part.name}: {part.description}; "
                f"about {left_s / 60:.1f} min left"
            )
            done.append(_part(lab, part, nth, files, _within(say, part)) | {"repeat": nth})
            path = truth.write(files.folder, SCENARIO, _facts(lab, plan, files, done), at_ns=files.began_ns)
    return path


def _facts(lab: Lab, plan: ThrottlePlan, files: RunFiles, done: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "scenario": SCENARIO,
        "since": truth.iso(files.began_ns),
        "until": truth.iso(time.time_ns()),
        "brokers": lab.broker_ids,
        "cluster": lab.cluster,
        "sizes_file": str(files.json_lines("sizes")),
        "scrapes_file": str(files.json_lines("scrapes")),
        "scrape_every_s": plan.scrape_every_s,
        "trickle_records_per_s": TRICKLE.records_per_s,
        "parts": done,
    }


def _within(say: Say, part: ThrottlePart) -> Say:
    return lambda text: say(f"  {part.name}: {text}")


def _check(lab: Lab, plan: ThrottlePlan) -> None:
    for part in plan.parts:
        part.placements(lab.broker_ids)
    if already := limits.current_rates(lab):
        names = "; ".join(f"broker {broker}: {', '.join(rates)}" for broker, rates in already.items())
        message = f"a throttle is set already ({names}): remove it, or restart the lab"
        raise LabError(message)


def _part(lab: Lab, part: ThrottlePart, nth: int, files: RunFiles, say: Say) -> dict[str, Any]:
    placements = part.placements(lab.broker_ids)
    record = PartRecord(part, f"{SCENARIO}-{files.began_ns // 1_000_000}-{nth}-{part.name}", placements)
    move = ReassignmentCommand.create(lab, record.topic, [after for _, after in placements])
    data.create(lab, record.topic, part)
    with _clean_up(lab, record, move, say):
        before = [replicas for replicas, _ in placements]
        topics.wait_until_placed(lab, record.topic, before, PLACEMENT_TIMEOUT_S)
        record.at_ns["created"] = time.time_ns()
        record.topic_id = topics.id_of(lab, record.topic)
        data.fill(lab, record.topic, part)
        record.at_ns["filled"] = time.time_ns()
        replicas = sorted({*record.sources, *record.targets})
        watcher = SizeWatcher(lab, record.topic, part.name, replicas, files.json_lines("sizes"))
        with _producing(lab, _produced(record)), watcher:
            record.bytes_at_start = {
                replica: bytes_on_disk(folder_of(lab, record.topic, replica)) for replica in record.sources
            }
            ACTIONS[part.kind](ActionContext(lab, record, move, watcher, say))
    time.sleep(WINDOW_PAUSE_S)
    return facts.ground_truth(record, watcher.samples)


def _produced(record: PartRecord) -> load.Load | None:
    if not record.part.produce_bytes_per_s:
        return None
    return load.Load(
        records_per_s=record.part.produce_bytes_per_s / RECORD_BYTES,
        record_size_bytes=RECORD_BYTES,
        topic=record.topic,
        linger_ms=50,
    )


@contextmanager
def _producing(lab: Lab, produced: load.Load | None) -> Iterator[None]:
    """
    Produce while the block runs.

    Raises:
        LabError: the load ended before the block.

    """
    if produced is None:
        yield
        return
    running = load.begin(lab, produced)
    try:
        running.wait_until_producing()
        yield
        if not running.is_alive:
            message = f"the load of {produced.topic} ended before its part. Its output: {running.output}"
            raise LabError(message)
    finally:
        running.stop()


@contextmanager
def _clean_up(lab: Lab, record: PartRecord, move: ReassignmentCommand, say: Say) -> Iterator[None]:
    """Delete the topic at the end. If the part fails, first cancel the move and remove the throttles."""
    try:
        yield
    except BaseException:
        say("interrupted: cancelling the move and removing the throttle")
        if "asked" in record.at_ns and "done" not in record.at_ns:
            _cancel(say, move)
        limits.clear(lab, record.topic)
        raise
    finally:
        topics.delete_many(lab, [record.topic])


def _cancel(say: Say, move: ReassignmentCommand) -> None:
    """Cancel a move that may not have begun. If the tool fails, deleting the topic ends the move."""
    try:
        move.cancel()
    except LabError as error:
        say(str(error))
