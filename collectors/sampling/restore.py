"""Restore the recorded log levels; levels of unreachable brokers stay in the record."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from collectors.sampling import record
from collectors.sampling.brokers import AS_PARENT, ChangeResult, Failures, LevelChange
from collectors.sampling.record import DEBUG, LoggerLevel

Say = Callable[[str], None]


class LevelChanger(Protocol):
    """An object that can change log levels."""

    def change(self, changes: list[LevelChange], /) -> tuple[list[ChangeResult], Failures]:
        """Change the loggers that still have the level `before`; return the results and the failures."""


def restore(folder: Path, brokers: LevelChanger, say: Say) -> Failures:
    """
    Restore each recorded level whose logger is still at DEBUG; return the brokers that did not answer.

    A logger with another level is not changed: an operator changed it, or the broker restarted and read its
    log4j configuration.

    Raises:
        collectors.sampling.errors.SampleError: no broker answers; the record is not changed.

    """
    recorded = record.read(folder)
    if recorded is None:
        return {}
    results, failures = brokers.change([_restoring(level) for level in recorded.levels])
    answered = {(each.broker, each.logger): each for each in results}
    left = [level for level in recorded.levels if (level.broker, level.logger) not in answered]
    record.write(folder, recorded.with_levels(left))
    for each in answered.values():
        how = "is restored to" if each.is_done else "was changed by another program or a restart: left at"
        say(f"broker {each.broker}: {each.logger} {how} {each.level}")
    return failures


def _restoring(before: LoggerLevel) -> LevelChange:
    return LevelChange(
        before.broker, before.logger, DEBUG, AS_PARENT if before.is_inherited else before.level
    )
