"""Rounds of a sample: levels recorded, loggers at DEBUG for a while, levels put back."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from collectors.sampling import record
from collectors.sampling.brokers import UNKNOWN, Change, Failures, Level, Outcome
from collectors.sampling.errors import SampleError
from collectors.sampling.record import DEBUG, Before, Record
from collectors.sampling.restore import Say, restore

LOOK_S = 0.5
MORE = (DEBUG, "TRACE", "ALL")


class Loggers(Protocol):
    """Whoever can read and change loggers."""

    def levels(self, brokers: str, loggers: Sequence[str], /) -> tuple[list[Level], Failures]:
        """Read levels."""

    def change(self, changes: Sequence[Change], /) -> tuple[list[Outcome], Failures]:
        """Change what still has the level it is said to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is switched on, for how long and how often."""

    brokers: str  # all, or 1,3
    loggers: tuple[str, ...]
    for_s: float
    every_s: float | None  # None: once
    times: int | None  # None: until stopped


class Sample:
    """One command's rounds; the record of levels is on disk whenever a logger may be at DEBUG."""

    def __init__(  # noqa: PLR0913 (the parts of a sample, each by name)
        self,
        plan: Plan,
        *,
        folder: Path,
        about: Record,
        loggers: Loggers,
        is_guarded: Callable[[], bool],
        stop: threading.Event,
    ) -> None:
        """Take the parts; nothing is changed yet."""
        self._plan, self._folder, self._about = plan, folder, about
        self._loggers, self._is_guarded, self._stop = loggers, is_guarded, stop

    def run(self, show: Callable[[str], None], say: Say) -> Failures:
        """
        Run the rounds until they are done or `stop`; give the brokers whose levels could not be put back.

        Raises:
            SampleError: no broker answers, a logger is unknown, or the watchdog has died; what was changed is
                put back first.

        """
        began, nth, failures = time.monotonic(), 0, Failures()
        times = self._plan.times if self._plan.every_s else 1
        while not self._stop.is_set() and (times is None or nth < times):
            if self._wait(began + nth * (self._plan.every_s or 0.0), lambda s: show(f"next in {s:.0f} s")):
                break
            nth += 1
            try:
                failures = self._round(nth, show, say)
            except SampleError as error:
                if nth == 1 or not self._is_guarded():
                    raise
                say(f"round {nth}: {error}; tried again in the next")
        return failures

    def _round(self, nth: int, show: Callable[[str], None], say: Say) -> Failures:
        for broker, why in restore(self._folder, self._loggers, say).items():
            say(f"broker {broker} is away since the last round, and left out of this one: {why}")
        try:
            switched, since = self._switched_on(say), datetime.now(UTC)
            if switched:
                which = ", ".join(map(str, switched))
                until = time.monotonic() + self._plan.for_s
                self._wait(until, lambda s: show(f"round {nth}: brokers {which} at DEBUG, {s:.0f} s left"))
        finally:
            show(f"round {nth}: putting levels back")
            until_at = datetime.now(UTC)
            failures = restore(self._folder, self._loggers, say)
        span = {"since": since.isoformat(), "until": until_at.isoformat()}
        record.noted(self._folder, {**span, "brokers": switched, "loggers": self._plan.loggers})
        return failures

    def _switched_on(self, say: Say) -> list[int]:
        levels, failures = self._loggers.levels(self._plan.brokers, self._plan.loggers)
        for broker, why in failures.items():
            say(f"broker {broker} is left out: {why}")
        if not levels:
            message = "no broker told its levels; nothing was changed"
            raise SampleError(message)
        unknown = next((each for each in levels if each.level == UNKNOWN), None)
        if unknown:
            message = f"broker {unknown.broker} has no logger {unknown.logger}; nothing was changed"
            raise SampleError(message)
        wanted = self._wanted(levels, say)
        if not wanted:
            return []
        left = record.read(self._folder)
        before = [Before(each.broker, each.logger, each.level, each.level == each.parent) for each in wanted]
        record.written(self._folder, self._about.with_levels([*(left.levels if left else ()), *before]))
        outcomes, failures = self._loggers.change(
            [Change(each.broker, each.logger, each.level, DEBUG) for each in before]
        )
        for broker, why in failures.items():
            say(f"broker {broker} may be at DEBUG or not: {why}")
        return sorted({each.broker for each in outcomes if each.is_done})

    def _wanted(self, levels: Sequence[Level], say: Say) -> list[Level]:
        """Leave out what is at DEBUG anyway, and what an earlier round could not put back."""
        left = record.read(self._folder)
        held = {(each.broker, each.logger) for each in left.levels} if left else set()
        for each in levels:
            if each.level in MORE and (each.broker, each.logger) not in held:
                say(f"broker {each.broker}: {each.logger} is at {each.level} already, and stays there")
        return [each for each in levels if each.level not in MORE and (each.broker, each.logger) not in held]

    def _wait(self, until: float, show: Callable[[float], None]) -> bool:
        """
        Wait until an instant or the stop; tell whether it is the stop.

        Raises:
            SampleError: the watchdog has died.

        """
        while (left_s := until - time.monotonic()) > 0:
            show(left_s)
            if self._stop.wait(min(LOOK_S, left_s)):
                return True
            if not self._is_guarded():
                message = "the watchdog has died, and without it nothing is switched on: start again"
                raise SampleError(message)
        return self._stop.is_set()
