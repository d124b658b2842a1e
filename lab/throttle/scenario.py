"""
Scenario `throttle`: replicas moved under a throttle, KIP-73's own test plan, and throttles that go wrong.

Every part has a topic of its own, filled beforehand and deleted afterwards. Kafka's reassignment tool sets
the throttle, begins the move and, when it is done, takes the throttle away. The real rate is read from the
disk twice a second, and the exporters are scraped into files beside the logs.
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
from lab.throttle.acts import ACTS, Stage
from lab.throttle.facts import Journey
from lab.throttle.parts import PARTS, Part
from lab.throttle.sizes import Watch, bytes_on_disk, folder_of
from lab.throttle.tool import Reassignment

SCENARIO = "throttle"
TRICKLE = load.Load(
    records_per_s=30.0,
    record_size_bytes=100,
    properties=("batch.size=0", "partitioner.adaptive.partitioning.enable=false"),
)
"""
Of another topic, which is not throttled: followers have news all the time. Each record is a batch of its own,
since a producer stays with one partition for 16 KiB otherwise, and that were five seconds.
"""

RECORD_BYTES = 1000
PLACED_WITHIN_S = 30.0
EMPTY_AFTER_S = 12.0
"""The quota's window is 11 s: what one part moved is no part of the next one's rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which parts, how often, and how many seconds lie between two scrapes of an exporter."""

    repeats: int = 1
    parts: Sequence[Part] = PARTS
    scrape_every_s: float = pages.INTERVAL_S

    @property
    def expected_s(self) -> float:
        """How long all of it is expected to take."""
        return self.repeats * sum(part.expected_s for part in self.parts)


@dataclass(frozen=True, slots=True)
class Files:
    """Where one run writes: the truth, and beside it what was seen on disk and of the exporters."""

    folder: Path
    began_ns: int

    def beside(self, what: str) -> Path:
        """Give the file of JSON lines about one thing."""
        return self.folder / f"{truth.stem(SCENARIO, at_ns=self.began_ns)}.{what}.jsonl"


def run(state: Path, plan: Plan, *, say: Say = print) -> Path:
    """
    Run every part; return the ground truth's path.

    Throttles and moves are taken back whatever happens; a run that is broken off leaves the truth of those
    parts that it finished.

    Raises:
        LabError: no lab runs here, a throttle is set already, or a move did not go as it should.

    """
    lab = Lab.load(state)
    _check(lab, plan)
    files = Files(lab.state / "truth", time.time_ns())
    rounds = [(nth, part) for nth in range(plan.repeats) for part in plan.parts]
    done: list[dict[str, Any]] = []
    path = files.folder
    with pages.kept(lab, files.beside("scrapes"), interval_s=plan.scrape_every_s), _producing(lab, TRICKLE):
        for at, (nth, part) in enumerate(rounds):
            left_s = sum(other.expected_s for _, other in rounds[at:])
            say(f"part {at + 1} of {len(rounds)}, {part.name}: {part.told}; about {left_s / 60:.1f} min left")
            done.append(_part(lab, part, nth, files, _within(say, part)) | {"repeat": nth})
            path = truth.write(files.folder, SCENARIO, _facts(lab, plan, files, done), at_ns=files.began_ns)
    return path


def _facts(lab: Lab, plan: Plan, files: Files, done: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "scenario": SCENARIO,
        "since": truth.iso(files.began_ns),
        "until": truth.iso(time.time_ns()),
        "brokers": lab.broker_ids,
        "cluster": lab.cluster,
        "sizes_file": str(files.beside("sizes")),
        "scrapes_file": str(files.beside("scrapes")),
        "scrape_every_s": plan.scrape_every_s,
        "trickle_records_per_s": TRICKLE.records_per_s,
        "parts": done,
    }


def _within(say: Say, part: Part) -> Say:
    return lambda text: say(f"  {part.name}: {text}")


def _check(lab: Lab, plan: Plan) -> None:
    for part in plan.parts:
        part.placed(lab.broker_ids)
    if already := limits.in_force(lab):
        names = "; ".join(f"broker {broker}: {', '.join(told)}" for broker, told in already.items())
        message = f"a throttle is set already ({names}): take it away, or start the lab anew"
        raise LabError(message)


def _part(lab: Lab, part: Part, nth: int, files: Files, say: Say) -> dict[str, Any]:
    placed = part.placed(lab.broker_ids)
    journey = Journey(part, f"{SCENARIO}-{files.began_ns // 1_000_000}-{nth}-{part.name}", placed)
    move = Reassignment.of(lab, journey.topic, [after for _, after in placed])
    data.create(lab, journey.topic, part)
    with _taken_back(lab, journey, move, say):
        before = [replicas for replicas, _ in placed]
        topics.wait_until_placed(lab, journey.topic, before, PLACED_WITHIN_S)
        journey.at_ns["created"] = time.time_ns()
        journey.topic_id = topics.id_of(lab, journey.topic)
        data.fill(lab, journey.topic, part)
        journey.at_ns["filled"] = time.time_ns()
        all_of_them = sorted({*journey.sources, *journey.targets})
        watch = Watch(lab, journey.topic, part.name, all_of_them, files.beside("sizes"))
        with _producing(lab, _produced(journey)), watch:
            journey.bytes_at_start = {
                replica: bytes_on_disk(folder_of(lab, journey.topic, replica)) for replica in journey.sources
            }
            ACTS[part.kind](Stage(lab, journey, move, watch, say))
    time.sleep(EMPTY_AFTER_S)
    return facts.told(journey, watch.seen)


def _produced(journey: Journey) -> load.Load | None:
    if not journey.part.produce_bytes_per_s:
        return None
    return load.Load(
        records_per_s=journey.part.produce_bytes_per_s / RECORD_BYTES,
        record_size_bytes=RECORD_BYTES,
        topic=journey.topic,
        linger_ms=50,
    )


@contextmanager
def _producing(lab: Lab, produced: load.Load | None) -> Iterator[None]:
    """Produce while the block runs; it is an error when that ended before the block did."""
    if produced is None:
        yield
        return
    running = load.begin(lab, produced)
    try:
        running.wait_until_producing()
        yield
        if not running.is_alive:
            message = f"the load of {produced.topic} ended before its part did: {running.output}"
            raise LabError(message)
    finally:
        running.stop()


@contextmanager
def _taken_back(lab: Lab, journey: Journey, move: Reassignment, say: Say) -> Iterator[None]:
    """Delete the topic at the end; when the part breaks off, first cancel the move and clear the limits."""
    try:
        yield
    except BaseException:
        say("broken off: cancelling the move, taking the throttle away")
        if "asked" in journey.at_ns and "done" not in journey.at_ns:
            _quietly(say, move)
        limits.clear(lab, journey.topic)
        raise
    finally:
        topics.delete_many(lab, [journey.topic])


def _quietly(say: Say, move: Reassignment) -> None:
    """Cancel a move that may not have begun; where the tool fails, deleting the topic ends the move."""
    try:
        move.cancel()
    except LabError as error:
        say(str(error))
