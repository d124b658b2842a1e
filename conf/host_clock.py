"""End a job when the clock of its host is set back: what it waits for would come that much later."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from conf.exit_codes import ExitCode
from conf.progress import Progress

LEAST_STEP_S = 60.0
"""A smaller step only makes a wait this much longer."""

LOOK_EVERY_S = 2.0


@contextmanager
def ended_when_set_back(name: str) -> Iterator[None]:
    """
    End the process with exit code 1 when the clock is set back by more than a minute during the block.

    Spark's triggers and librdkafka wait for an instant of the system clock: when it goes back by a day, the
    job may do nothing for a day. A wait inside librdkafka cannot be interrupted, so the process ends at
    once, as after a kill; the next start continues from the last commit.
    """
    is_over = threading.Event()
    watch = threading.Thread(target=_watch, args=(name, is_over), name="clock", daemon=True)
    watch.start()
    try:
        yield
    finally:
        is_over.set()
        watch.join()


def _watch(name: str, is_over: threading.Event) -> None:
    ahead = _ahead_of_monotonic()
    while not is_over.wait(LOOK_EVERY_S):
        before, ahead = ahead, _ahead_of_monotonic()
        if (back_s := before - ahead) > LEAST_STEP_S:
            try:
                Progress().say(
                    f"{name} stopped: the clock of this host was set back by {back_s:,.0f} s, and Kafka's "
                    "client or Spark would wait that long; start it again, it continues from the last commit"
                )
            finally:  # also if standard error is closed
                os._exit(ExitCode.FAILED)


def _ahead_of_monotonic() -> float:
    return time.time() - time.monotonic()
