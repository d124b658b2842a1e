"""Restore the recorded log levels; levels of unreachable brokers stay in the record."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from collectors.sampling import record
from collectors.sampling.brokers import AS_PARENT, ChangeResult, Failures, Level, LevelChange
from collectors.sampling.record import DEBUG, LoggerLevel

Say = Callable[[str], None]


class LevelChanger(Protocol):
    """An object that can change log levels."""

    def change(self, changes: Sequence[LevelChange], /) -> tuple[list[ChangeResult], Failures]:
        """Change the loggers that still have the level `before`; return the results and the failures."""


class LoggerAdmin(LevelChanger, Protocol):
    """An object that can read and change log levels."""

    def levels(self, brokers: str, loggers: Sequence[str], /) -> tuple[list[Level], Failures]:
        """Return the levels of loggers, and the failures."""


MORE = (DEBUG, "TRACE", "ALL")
"""Levels at which a logger logs at least what DEBUG does."""

REQUEST_LOGGER = "kafka.request.logger"
ROOT = "root"
"""The logger without a parent. Kafka refuses to remove its level."""

STOCK_LEVELS = {REQUEST_LOGGER: "WARN", ROOT: "INFO"}
"""Levels in Kafka's own log4j2.yaml of loggers that do not inherit theirs."""

UNSURE_S = 60.0
"""
How long a level is checked after the first answer of its broker, if the change to DEBUG was not answered.
Until that answer, the request may wait in the socket of a broker that is stopped, for any time.
"""

UNSURE = "the change to DEBUG was not answered and may still take effect"


def restore(folder: Path, brokers: LevelChanger, say: Say) -> Failures:
    """
    Restore each recorded level whose logger is still at DEBUG; return the brokers that need another call.

    These did not answer now, or did not answer the change to DEBUG. A logger with another level is not
    changed: an operator changed it, or the broker restarted and read its log4j configuration.

    Raises:
        collectors.sampling.errors.SampleError: no broker answers; the record is not changed.

    """
    recorded = record.read(folder)
    if recorded is None:
        return {}
    results, failures = brokers.change([_restoring(level) for level in recorded.levels])
    answered = {(each.broker, each.logger): each for each in results}
    left = [_left(level, answered.get((level.broker, level.logger))) for level in recorded.levels]
    kept = [level for level in left if level is not None]
    record.write(folder, recorded.with_levels(kept))
    unsure = {
        (level.broker, level.logger): UNSURE for level in kept if (level.broker, level.logger) in answered
    }
    for place, each in answered.items():
        how = "is restored to" if each.is_done else "was changed by another program or a restart: left at"
        if place in unsure:
            how = "is checked again, because its change to DEBUG was not answered; it is at"
        say(f"broker {each.broker}: {each.logger} {how} {each.level}")
    return {broker: UNSURE for broker, _ in unsure} | failures


def restore_unrecorded(admin: LoggerAdmin, brokers: str, loggers: Sequence[str], say: Say) -> Failures:
    """
    Take loggers off DEBUG without a record, because its folder was lost; return the brokers that failed.

    The former level is unknown: a logger gets the level of Kafka's own settings, or inherits its parent's.

    Raises:
        collectors.sampling.errors.SampleError: no broker answers.

    """
    levels, failures = admin.levels(brokers, loggers)
    found = [each for each in levels if each.level in MORE]
    changes = [LevelChange(each.broker, each.logger, each.level, _usual(each)) for each in found]
    results, unchanged = admin.change(changes) if changes else ([], {})
    for result in results:
        how = "was at DEBUG without a record and is set to" if result.is_done else "is at"
        say(f"broker {result.broker}: {result.logger} {how} {result.level}")
    for broker in sorted({each.broker for each in levels} - {each.broker for each in found}):
        say(f"broker {broker}: no logger is at DEBUG")
    return failures | unchanged


def _usual(found: Level) -> str:
    inherited = "INFO" if found.parent in MORE else AS_PARENT
    return STOCK_LEVELS.get(found.logger, inherited)


def _left(level: LoggerLevel, result: ChangeResult | None) -> LoggerLevel | None:
    """Return the level to keep in the record; None if it is restored."""
    if result is None:
        return level
    if result.is_done or level.unsure_until is None:
        return None
    until = level.unsure_until or time.time() + UNSURE_S
    return replace(level, unsure_until=until) if time.time() < until else None


def _restoring(before: LoggerLevel) -> LevelChange:
    is_removed = before.is_inherited and before.logger != ROOT
    return LevelChange(before.broker, before.logger, DEBUG, AS_PARENT if is_removed else before.level)
