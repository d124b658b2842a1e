"""When each fault of a round begins, its kind and how long it lasts: the same for the same seed."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random


class FaultKind(StrEnum):
    """The kinds of faults that a nemesis overlaps."""

    KILL = "kill -9"
    STOP = "SIGSTOP"
    FULL_DISK = "full disk"
    BROKER = "broker lost"
    CLOCK = "clock step"
    TORN = "torn file"
    POWER = "power cut"
    SLOW_DISK = "slow disk"


LASTS_S: dict[FaultKind, tuple[float, float]] = {
    FaultKind.KILL: (0.0, 0.0),
    FaultKind.STOP: (1.0, 15.0),
    FaultKind.FULL_DISK: (2.0, 12.0),
    FaultKind.BROKER: (2.0, 20.0),
    FaultKind.CLOCK: (5.0, 30.0),
    FaultKind.TORN: (0.0, 0.0),
    FaultKind.POWER: (0.0, 0.0),
    FaultKind.SLOW_DISK: (5.0, 20.0),
}
"""The shortest and the longest duration; 0: the job is dead until it has started again."""

MEAN_GAP_S, TOGETHER_SHARE = 12.0, 0.3
"""A fault follows the one before within a second (this share), or after an exponential gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    """One fault; `seed` draws what it hits."""

    at_s: float
    kind: FaultKind
    for_s: float
    seed: int


def schedule(seed: str, for_s: float) -> list[PlannedFault]:
    """Return the faults of a round in order; each kind comes once before any comes again."""
    dice, deck, faults = Random(seed), list[FaultKind](), list[PlannedFault]()
    at_s = dice.uniform(1.0, MEAN_GAP_S)
    while at_s < for_s:
        deck = deck or dice.sample(list(FaultKind), len(FaultKind))
        kind = deck.pop()
        lasts_s = round(dice.uniform(*LASTS_S[kind]), 1)
        faults.append(PlannedFault(at_s=round(at_s, 1), kind=kind, for_s=lasts_s, seed=dice.getrandbits(32)))
        at_s += (
            dice.uniform(0.0, 1.0) if dice.random() < TOGETHER_SHARE else dice.expovariate(1.0 / MEAN_GAP_S)
        )
    return faults
