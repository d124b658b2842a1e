"""Levels put back as the record has them; what cannot be reached stays in the record."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from collectors.sampling import record
from collectors.sampling.brokers import AS_PARENT, Change, Failures, Outcome
from collectors.sampling.record import DEBUG, Before

Say = Callable[[str], None]


class Changing(Protocol):
    """Whoever can change loggers."""

    def change(self, changes: list[Change], /) -> tuple[list[Outcome], Failures]:
        """Change what still has the level it is said to have."""


def restore(folder: Path, brokers: Changing, say: Say) -> Failures:
    """
    Put back every level of the record that is still DEBUG; give the brokers that did not answer, and why.

    What is not DEBUG any more was set by somebody else since, or the broker has started again and read its
    own file: it is left alone.

    Raises:
        collectors.sampling.errors.SampleError: the cluster does not answer at all; the record is as it was.

    """
    kept = record.read(folder)
    if kept is None:
        return {}
    outcomes, failures = brokers.change([_back(before) for before in kept.levels])
    told = {(each.broker, each.logger): each for each in outcomes}
    record.written(folder, kept.with_levels([b for b in kept.levels if (b.broker, b.logger) not in told]))
    for each in told.values():
        how = "is" if each.is_done else "was changed meanwhile, or the broker has started again: left at"
        say(f"broker {each.broker}: {each.logger} {how} {each.level}")
    return failures


def _back(before: Before) -> Change:
    return Change(before.broker, before.logger, DEBUG, AS_PARENT if before.is_inherited else before.level)
