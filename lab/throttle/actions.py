"""What a part does after its topic is filled: one function for each kind of part."""

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
from lab.throttle.facts import PartRecord
from lab.throttle.parts import PartKind
from lab.throttle.sizes import SizeWatcher
from lab.throttle.tool import IS_BEGUN, LIMIT_IS_SET, ReassignmentCommand, first_at

POLL_INTERVAL_S, REPORT_INTERVAL_S = 0.25, 10.0
SPARE_S = 60.0
"""Added to twice the expected time, so that a busy machine does not cause a failure."""

DOWN_S, DOWN_AFTER = 5.0, 0.3
"""The broker stops after this share of the move (DOWN_AFTER), for this time (DOWN_S)."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What an action needs: the lab, the record of the part, the move, and the sizes on disk."""

    lab: Lab
    record: PartRecord
    move: ReassignmentCommand
    watcher: SizeWatcher
    say: Say

    def note(self, name: str, at_ns: int | None = None) -> None:
        """Record the instant of an event. Default: now."""
        self.record.at_ns[name] = time.time_ns() if at_ns is None else at_ns


def _move(context: ActionContext) -> None:
    _begin(context)
    _until_done(context)
    _verify(context)


def _left_over(context: ActionContext) -> None:
    _begin(context)
    _until_done(context)
    context.say(f"done; the throttle stays for {context.record.part.watch_s:g} s")
    time.sleep(context.record.part.watch_s)
    _verify(context)


def _ineffective(context: ActionContext) -> None:
    record = context.record
    context.note("asked")
    context.note("limit_set", limits.set_rates(context.lab, record.broker_ids, record.part.limit_bytes_per_s))
    context.note("begun", first_at(context.move.execute(None), IS_BEGUN))
    _until_done(context)
    time.sleep(record.part.watch_s)
    _verify(context)


def _stuck(context: ActionContext) -> None:
    _begin(context)
    _watch_unfinished_move(context, context.record.part.watch_s)
    context.note("cancel_asked")
    context.move.cancel()
    context.note("cleared", limits.clear(context.lab, context.record.topic))


def _in_sync(context: ActionContext) -> None:
    record = context.record
    context.note("asked")
    limits.set_lists(context.lab, record.topic, "*")
    context.note("limit_set", limits.set_rates(context.lab, record.broker_ids, record.part.limit_bytes_per_s))
    time.sleep(record.part.watch_s)
    context.note("cleared", limits.clear(context.lab, record.topic))


def _restart(context: ActionContext) -> None:
    record, state = context.record, context.lab.state
    broker_id, _ = record.targets[0]
    _begin(context)
    while _moved_bytes(context) < DOWN_AFTER * record.part.total_bytes:
        time.sleep(POLL_INTERVAL_S)
    context.say(f"broker {broker_id} is shut down for {DOWN_S:g} s")
    crash.shut_down(state, broker_id)
    context.note("stopped")
    time.sleep(DOWN_S)
    context.note("started")
    crash.restart(state, broker_id, LOAD_TOPIC)
    context.note("back")
    topics.elect_preferred_leaders(context.lab)
    _until_done(context)
    _verify(context)


ACTIONS: Mapping[PartKind, Callable[[ActionContext], None]] = {
    PartKind.MOVE: _move,
    PartKind.INEFFECTIVE: _ineffective,
    PartKind.STUCK: _stuck,
    PartKind.LEFT_OVER: _left_over,
    PartKind.IN_SYNC: _in_sync,
    PartKind.RESTART: _restart,
}


def _begin(context: ActionContext) -> None:
    context.note("asked")
    output = context.move.execute(context.record.part.limit_bytes_per_s)
    context.note("limit_set", first_at(output, LIMIT_IS_SET))
    context.note("begun", first_at(output, IS_BEGUN))


def _until_done(context: ActionContext) -> None:
    """Poll the cluster until only the new replicas are left, all in sync."""
    record = context.record
    client = topics.admin(context.lab.bootstrap_servers)
    patience_s = 2 * (record.part.move_s + record.part.watch_s) + SPARE_S
    began = reported = time.monotonic()
    while not _is_done(context, client):
        now = time.monotonic()
        if now > began + patience_s:
            message = f"{record.topic} did not move within {patience_s:g} s"
            raise LabError(message)
        if now > reported + REPORT_INTERVAL_S:
            reported = now
            _report_progress(context, record.part.move_s - (now - began))
        time.sleep(POLL_INTERVAL_S)
    context.note("done")


def _is_done(context: ActionContext, client: AdminClient) -> bool:
    after = [replicas for _, replicas in context.record.placements]
    try:
        return topics.has_replica_orders(context.lab, context.record.topic, after, client=client)
    except KafkaException:  # no broker answers: one is stopping or starting
        return False


def _report_progress(context: ActionContext, left_s: float) -> None:
    total = max((one.total(context.record.sources) for one in context.watcher.samples), default=0)
    moved = f"{_moved_bytes(context) / 1e6:.0f} of {total / 1e6:.0f} MB have moved"
    context.say(f"{moved}, about {max(0.0, left_s):.0f} s left")


def _moved_bytes(context: ActionContext) -> int:
    return context.watcher.samples[-1].total(context.record.targets) if context.watcher.samples else 0


def _watch_unfinished_move(context: ActionContext, for_s: float) -> None:
    """Wait, and check that the move does not end: its throttle is below the produce rate."""
    client = topics.admin(context.lab.bootstrap_servers)
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        if _is_done(context, client):
            message = f"{context.record.topic} moved, although its throttle is below the produce rate"
            raise LabError(message)
        time.sleep(POLL_INTERVAL_S)


def _verify(context: ActionContext) -> None:
    context.note("verify_asked")
    context.move.verify()
    context.note("cleared")
