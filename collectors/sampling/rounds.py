"""Run the rounds of a sample: record the levels, set the loggers to DEBUG, restore the levels."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from collectors.sampling import record
from collectors.sampling.brokers import UNKNOWN, Failures, Level, LevelChange
from collectors.sampling.errors import SampleError
from collectors.sampling.record import DEBUG, LevelRecord, LoggerLevel
from collectors.sampling.restore import MORE, LoggerAdmin, Say, restore

LOOK_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """The brokers and loggers to set to DEBUG, for how long and how often."""

    brokers: str  # "all", or ids such as "1,3"
    loggers: tuple[str, ...]
    for_s: float
    every_s: float | None  # None: once
    times: int | None  # None: until stopped


class SamplingRun:
    """The rounds of one command. The level record is on disk whenever a logger may be at DEBUG."""

    def __init__(  # noqa: PLR0913 (the parts of a sample, each by name)
        self,
        plan: SamplingPlan,
        *,
        folder: Path,
        target: LevelRecord,
        loggers: LoggerAdmin,
        is_guarded: Callable[[], bool],
        stop: threading.Event,
    ) -> None:
        """Prepare the run; nothing is changed yet. `is_guarded` returns whether the watchdog is alive."""
        self._plan, self._folder, self._target = plan, folder, target
        self._loggers, self._is_guarded, self._stop = loggers, is_guarded, stop

    def run(self, show: Callable[[str], None], say: Say) -> Failures:
        """
        Run the rounds until the last one or until `stop`; return the brokers that could not be restored.

        Raises:
            SampleError: no broker answers, a logger is unknown, or the watchdog has died. Changed levels are
                restored first.

        """
        began, number, failures = time.monotonic(), 0, Failures()
        times = self._plan.times if self._plan.every_s else 1
        while not self._stop.is_set() and (times is None or number < times):
            if self._wait(
                began + number * (self._plan.every_s or 0.0), lambda s: show(f"next round in {s:.0f} s")
            ):
                break
            number += 1
            try:
                failures = self._round(number, show, say)
            except SampleError as error:
                if number == 1 or not self._is_guarded():
                    raise
                say(f"round {number}: {error}; retrying in the next round")
        return failures

    def _round(self, number: int, show: Callable[[str], None], say: Say) -> Failures:
        for broker, why in restore(self._folder, self._loggers, say).items():
            say(f"broker {broker} could not be restored and is skipped in this round: {why}")
        try:
            switched, since = self._switch_on(say), datetime.now(UTC)
            if switched:
                which = ", ".join(map(str, switched))
                until = time.monotonic() + self._plan.for_s
                self._wait(until, lambda s: show(f"round {number}: brokers {which} at DEBUG, {s:.0f} s left"))
        finally:
            with suppress(OSError):  # a lost terminal must not keep the levels from being restored
                show(f"round {number}: restoring levels")
            until_at = datetime.now(UTC)
            failures = restore(self._folder, self._loggers, say)
        span = {"since": since.isoformat(), "until": until_at.isoformat()}
        record.append_history(self._folder, {**span, "brokers": switched, "loggers": self._plan.loggers})
        return failures

    def _switch_on(self, say: Say) -> list[int]:
        levels, failures = self._loggers.levels(self._plan.brokers, self._plan.loggers)
        for broker, why in failures.items():
            say(f"broker {broker} is skipped: {why}")
        if not levels:
            message = "no broker returned its levels; nothing was changed"
            raise SampleError(message)
        unknown = next((each for each in levels if each.level == UNKNOWN), None)
        if unknown:
            message = f"broker {unknown.broker} has no logger {unknown.logger}; nothing was changed"
            raise SampleError(message)
        wanted = self._wanted(levels, say)
        if not wanted:
            return []
        left = record.read(self._folder)
        before = [
            LoggerLevel(each.broker, each.logger, each.level, each.level == each.parent, unsure_until=0.0)
            for each in wanted
        ]
        others = left.levels if left else ()
        record.write(self._folder, self._target.with_levels([*others, *before]))
        results, failures = self._loggers.change(
            [LevelChange(each.broker, each.logger, each.level, DEBUG) for each in before]
        )
        answered = {(each.broker, each.logger) for each in results}
        sure = [
            replace(each, unsure_until=None) if (each.broker, each.logger) in answered else each
            for each in before
        ]
        record.write(self._folder, self._target.with_levels([*others, *sure]))
        for broker, why in failures.items():
            say(f"broker {broker} may or may not be at DEBUG: {why}")
        return sorted({each.broker for each in results if each.is_done})

    def _wanted(self, levels: Sequence[Level], say: Say) -> list[Level]:
        """Return the loggers to change: not those already at DEBUG, or not restored by an earlier round."""
        left = record.read(self._folder)
        unrestored = {(each.broker, each.logger) for each in left.levels} if left else set()
        for each in levels:
            if each.level in MORE and (each.broker, each.logger) not in unrestored:
                say(f"broker {each.broker}: {each.logger} is already at {each.level} and is not changed")
        return [
            each for each in levels if each.level not in MORE and (each.broker, each.logger) not in unrestored
        ]

    def _wait(self, until: float, show: Callable[[float], None]) -> bool:
        """
        Wait until a time or `stop`; return whether `stop` is set.

        Raises:
            SampleError: the watchdog has died.

        """
        while (left_s := until - time.monotonic()) > 0:
            show(left_s)
            if self._stop.wait(min(LOOK_S, left_s)):
                return True
            if not self._is_guarded():
                message = "the watchdog has died, and no logger is set to DEBUG without it: start again"
                raise SampleError(message)
        return self._stop.is_set()
