"""What is done in a part once its topic is filled and its sizes are watched: one function for each kind."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lab import crash, topics
from lab.errors import LabError
from lab.layout import LOAD_TOPIC, Lab
from lab.scenarios import Say
from lab.throttle import limits
from lab.throttle.facts import Journey
from lab.throttle.parts import Kind
from lab.throttle.sizes import Watch
from lab.throttle.tool import IS_BEGUN, LIMIT_IS_SET, Reassignment, first_at

POLL_S, SAY_EVERY_S = 0.25, 10.0
SPARE_S = 60.0
"""Beside twice the expected time: a busy machine is no failure."""

DOWN_S, DOWN_AFTER = 5.0, 0.3
"""A broker is restarted when this share of the move is done, and stays down so long."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What an act needs: the lab, the move as the tool reads it, and the sizes as they are watched."""

    lab: Lab
    journey: Journey
    move: Reassignment
    watch: Watch
    say: Say

    def note(self, name: str, at_ns: int | None = None) -> None:
        """Write down that something happened, now unless told."""
        self.journey.at_ns[name] = time.time_ns() if at_ns is None else at_ns


def _move(stage: Stage) -> None:
    _begin(stage)
    _until_done(stage)
    _verify(stage)


def _left_over(stage: Stage) -> None:
    _begin(stage)
    _until_done(stage)
    stage.say(f"done; the throttle is left for {stage.journey.part.watch_s:g} s")
    time.sleep(stage.journey.part.watch_s)
    _verify(stage)


def _ineffective(stage: Stage) -> None:
    journey = stage.journey
    stage.note("asked")
    stage.note("limit_set", limits.set_rates(stage.lab, journey.broker_ids, journey.part.limit_bytes_per_s))
    stage.note("begun", first_at(stage.move.execute(None), IS_BEGUN))
    _until_done(stage)
    time.sleep(journey.part.watch_s)
    _verify(stage)


def _stuck(stage: Stage) -> None:
    _begin(stage)
    _sit(stage, stage.journey.part.watch_s)
    stage.note("cancel_asked")
    stage.move.cancel()
    stage.note("cleared", limits.clear(stage.lab, stage.journey.topic))


def _in_sync(stage: Stage) -> None:
    journey = stage.journey
    stage.note("asked")
    limits.set_lists(stage.lab, journey.topic, "*")
    stage.note("limit_set", limits.set_rates(stage.lab, journey.broker_ids, journey.part.limit_bytes_per_s))
    time.sleep(journey.part.watch_s)
    stage.note("cleared", limits.clear(stage.lab, journey.topic))


def _restart(stage: Stage) -> None:
    journey, state = stage.journey, stage.lab.state
    broker_id, _ = journey.targets[0]
    _begin(stage)
    while _moved_bytes(stage) < DOWN_AFTER * journey.part.total_bytes:
        time.sleep(POLL_S)
    stage.say(f"broker {broker_id} is shut down and stays so for {DOWN_S:g} s")
    crash.shut_down(state, broker_id)
    stage.note("stopped")
    time.sleep(DOWN_S)
    stage.note("started")
    crash.revive(state, broker_id, LOAD_TOPIC)
    stage.note("back")
    topics.lead_as_before(stage.lab)
    _until_done(stage)
    _verify(stage)


ACTS: Mapping[Kind, Callable[[Stage], None]] = {
    Kind.MOVE: _move,
    Kind.INEFFECTIVE: _ineffective,
    Kind.STUCK: _stuck,
    Kind.LEFT_OVER: _left_over,
    Kind.IN_SYNC: _in_sync,
    Kind.RESTART: _restart,
}


def _begin(stage: Stage) -> None:
    stage.note("asked")
    said = stage.move.execute(stage.journey.part.limit_bytes_per_s)
    stage.note("limit_set", first_at(said, LIMIT_IS_SET))
    stage.note("begun", first_at(said, IS_BEGUN))


def _until_done(stage: Stage) -> None:
    """Ask the cluster until the new replicas are the only ones and in sync."""
    journey = stage.journey
    client = topics.admin(stage.lab.bootstrap_servers)
    patience_s = 2 * (journey.part.move_s + journey.part.watch_s) + SPARE_S
    began = said = time.monotonic()
    while not _is_done(stage, client):
        now = time.monotonic()
        if now > began + patience_s:
            message = f"{journey.topic} has not moved within {patience_s:g} s"
            raise LabError(message)
        if now > said + SAY_EVERY_S:
            said = now
            _tell(stage, journey.part.move_s - (now - began))
        time.sleep(POLL_S)
    stage.note("done")


def _is_done(stage: Stage, client: AdminClient) -> bool:
    after = [replicas for _, replicas in stage.journey.placed]
    try:
        return topics.has_orders(stage.lab, stage.journey.topic, after, client=client)
    except KafkaException:  # nobody answers: a broker is on its way down or up
        return False


def _tell(stage: Stage, left_s: float) -> None:
    there = max((one.total(stage.journey.sources) for one in stage.watch.seen), default=0)
    of = f"{_moved_bytes(stage) / 1e6:.0f} of {there / 1e6:.0f} MB have moved"
    stage.say(f"{of}, about {max(0.0, left_s):.0f} s to go")


def _moved_bytes(stage: Stage) -> int:
    return stage.watch.seen[-1].total(stage.journey.targets) if stage.watch.seen else 0


def _sit(stage: Stage, for_s: float) -> None:
    """Wait for what does not come: a throttle below what is produced lets no move end."""
    client = topics.admin(stage.lab.bootstrap_servers)
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        if _is_done(stage, client):
            message = f"{stage.journey.topic} has moved, and was meant to be stuck"
            raise LabError(message)
        time.sleep(POLL_S)


def _verify(stage: Stage) -> None:
    stage.note("verify_asked")
    stage.move.verify()
    stage.note("cleared")
