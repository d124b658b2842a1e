"""Scenarios that inject known slowness. Each run writes its ground truth."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from lab import load, topics, truth
from lab.errors import LabError
from lab.layout import Lab
from lab.proxy import applied_log
from lab.proxy.control import Pair, links, set_delay

Say = Callable[[str], None]
SETTLE_S = 8.0  # the JIT compiler of a new producer dominates its first seconds
LOG_LAG_S = applied_log.FLUSH_INTERVAL_S + 0.3


class Scenario(StrEnum):
    """The faults that can be injected."""

    HEALTHY = "healthy"
    SLOW_BROKER = "slow_broker"
    SLOW_LINK = "slow_link"
    SLOW_SIDE = "slow_side"


class Side(StrEnum):
    """The slow side of a broker: its fetches as a follower, or the fetches it serves as a leader."""

    FOLLOWER = "follower"
    LEADER = "leader"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPlan:
    """Parameters of one run. `resolved` picks each value that is None, from the seed."""

    scenario: Scenario
    broker: int | None = None
    follower: int | None = None
    leader: int | None = None
    side: Side | None = None
    delay_ms: float = 10.0
    quiet_s: float = 60.0
    for_s: float = 60.0
    records_per_s: float = 0.0
    seed: int = 0

    def resolved(self, broker_ids: list[int]) -> "ScenarioPlan":
        """
        Return the plan with every choice made. The same seed gives the same choices.

        Raises:
            LabError: a broker does not exist, or both ends of a link are the same broker.

        """
        dice = random.Random(self.seed)  # noqa: S311 (a repeatable pick, no secret)
        picked, partner = dice.sample(broker_ids, 2) if len(broker_ids) > 1 else (broker_ids[0], None)
        side = dice.choice(list(Side))
        chosen: dict[str, Any] = {"broker": None, "follower": None, "leader": None, "side": None}
        if self.scenario is Scenario.SLOW_LINK:
            chosen["follower"], chosen["leader"] = self._link(broker_ids, picked, partner)
        elif self.scenario is not Scenario.HEALTHY:
            chosen["broker"] = picked if self.broker is None else self.broker
        if self.scenario is Scenario.SLOW_SIDE:
            chosen["side"] = self.side or side
        for name in ("broker", "follower", "leader"):
            if chosen[name] not in (None, *broker_ids):
                message = f"there is no {name} {chosen[name]}: the brokers are {broker_ids}"
                raise LabError(message)
        return ScenarioPlan(**asdict(self) | chosen)

    def _link(self, broker_ids: list[int], picked: int, partner: int | None) -> Pair:
        follower = self.follower if self.follower is not None else picked
        leader = self.leader if self.leader is not None else partner
        if leader is None or follower == leader:
            others = [other for other in broker_ids if other != follower]
            if self.leader is not None and self.follower is None:
                follower, leader = next(b for b in broker_ids if b != self.leader), self.leader
            elif self.leader is None and others:
                leader = others[0]
        if leader is None or follower == leader:
            message = f"a link needs two brokers, not {follower} -> {leader}: the brokers are {broker_ids}"
            raise LabError(message)
        return follower, leader

    def shape(self) -> str:
        """Return the shape of the culprit, in the pipeline's terms."""
        if self.scenario is Scenario.SLOW_SIDE:
            return f"{self.side}_side"
        return {"healthy": "none", "slow_broker": "broker", "slow_link": "link"}[self.scenario]

    def delayed(self, pairs: list[Pair]) -> list[Pair]:
        """Return the ordered pairs (follower, leader) that a resolved plan delays."""
        touched: dict[str, Callable[[int, int], bool]] = {
            "none": lambda _f, _l: False,
            "broker": lambda f, leader: self.broker in (f, leader),
            "link": lambda f, leader: (f, leader) == (self.follower, self.leader),
            "follower_side": lambda f, _l: f == self.broker,
            "leader_side": lambda _f, leader: leader == self.broker,
        }
        return [pair for pair in pairs if touched[self.shape()](*pair)]


def run(state: Path, plan: ScenarioPlan, *, say: Say = print) -> Path:
    """
    Run a scenario and return the path of its ground truth: baseline, injection, removal of the delay.

    The delay is always removed at the end. An interrupted run writes no ground truth.

    Raises:
        LabError: no lab runs in this folder, links already have a delay, or a broker does not exist.

    """
    lab = Lab.load(state)
    plan = plan.resolved(lab.broker_ids)
    pairs = plan.delayed(list(lab.pairs()))
    already = [
        f"follower {row['follower']} from leader {row['leader']}" for row in links(state) if row["nominal_ms"]
    ]
    if already:
        message = (
            f"already delayed: {', '.join(already)}. Run `plumbline lab delay --clear --state {state}` first"
        )
        raise LabError(message)
    _elect_preferred_leaders(lab, say)
    producing = _load(lab, plan, say) if plan.records_per_s else nullcontext()
    with producing:
        quiet, injected = _inject(state, plan, pairs, say)
    time.sleep(LOG_LAG_S)
    facts = _facts(lab, plan, pairs, quiet, injected)
    return truth.write(lab.state / "truth", plan.scenario, facts, at_ns=injected.since_ns)


def _elect_preferred_leaders(lab: Lab, say: Say) -> None:
    """
    Move the leaders back to the preferred replicas if a restart moved them.

    A broker that leads no partition serves no fetches, so a delay on its links would have no effect.

    Raises:
        LabError: the preferred replicas do not become leaders.

    """
    if topics.is_in_sync(lab):
        return
    say(f"electing the preferred leaders, then waiting {SETTLE_S:g} s")
    topics.elect_preferred_leaders(lab)
    time.sleep(SETTLE_S)
    if not topics.is_in_sync(lab):
        message = (
            "replicas are out of sync, or another than the preferred replica leads: "
            f"see `plumbline lab status --state {lab.state}`"
        )
        raise LabError(message)


@contextmanager
def _load(lab: Lab, plan: ScenarioPlan, say: Say) -> Iterator[None]:
    running = load.begin(lab, load.Load(records_per_s=plan.records_per_s))
    try:
        running.wait_until_producing()
        say(f"load of {plan.records_per_s:g} records/s, then waiting {SETTLE_S:g} s")
        time.sleep(SETTLE_S)
        yield
        if not running.is_alive:
            message = f"the load ended before the scenario. Its output: {running.output}"
            raise LabError(message)
    finally:
        running.stop()


def _inject(
    state: Path, plan: ScenarioPlan, pairs: list[Pair], say: Say
) -> tuple[truth.NanosRange, truth.NanosRange]:
    say(f"no delay for {plan.quiet_s:g} s")
    began_ns = time.time_ns()
    time.sleep(plan.quiet_s)
    try:
        injected_ns = set_delay(state, dict.fromkeys(pairs, plan.delay_ms))
        names = ", ".join(f"follower {f} from leader {leader}" for f, leader in pairs) or "nothing"
        say(f"{plan.scenario}: {plan.delay_ms:g} ms on {names} for {plan.for_s:g} s")
        time.sleep(plan.for_s)
    finally:
        ended_ns = set_delay(state, dict.fromkeys(pairs, 0.0))
    return (
        truth.NanosRange(since_ns=began_ns, until_ns=injected_ns),
        truth.NanosRange(since_ns=injected_ns, until_ns=ended_ns),
    )


def _facts(
    lab: Lab, plan: ScenarioPlan, pairs: list[Pair], quiet: truth.NanosRange, injected: truth.NanosRange
) -> dict[str, Any]:
    folder = lab.state / "proxy"
    return {
        "scenario": plan.scenario,
        "shape": plan.shape(),
        "broker_id": plan.broker,
        "follower_id": plan.follower,
        "leader_id": plan.leader,
        "delay_ms": plan.delay_ms if pairs else 0.0,
        "delayed_pairs": [{"follower_id": f, "leader_id": leader} for f, leader in pairs],
        "quiet_since": truth.iso(quiet.since_ns),
        "injected_at": truth.iso(injected.since_ns),
        "ended_at": truth.iso(injected.until_ns),
        "records_per_s": plan.records_per_s,
        "brokers": lab.broker_ids,
        "cluster": lab.cluster,
        "seed": plan.seed,
        "applied_quiet": truth.applied_delays(folder, quiet),
        "applied_injected": truth.applied_delays(folder, injected),
    }
